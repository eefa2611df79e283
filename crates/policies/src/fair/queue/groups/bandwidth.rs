//! `cpu.max`: a group's queues take CPU time out of one pool, in slices, and what has none is
//! throttled until the next period (CONFIG_CFS_BANDWIDTH).
//!
//! A queue asks for a slice when it has used up the last one, which the charge of its current
//! entity finds: mostly a tick, so a queue may overdraw by that. It is throttled where its CPU
//! looks at it next (a pick, the switch away, or the enqueue of its first entity): its entity
//! leaves the queue above, its tasks do not count, and its averages stand still. The period timer
//! fills the pool and lets throttled queues go on, in the order in which they were throttled. A
//! queue that becomes empty returns what it has but for 1 ms; if others wait for it, the slack
//! timer hands it on.
//!
//! The timers' handlers take no time of a CPU, and all queues go on at that instant: since v6.3 the
//! kernel sends an interrupt to each of them. A new group's first period begins at a multiple of
//! its period; since v6.3 that is random. Throttling is that of a queue, as up to v6.17.

use crate::fair::queue::discipline::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::bandwidth::{Bandwidth, BandwidthStat};
use crate::fair::state::groups::QueueId;
use sim_core::{GroupId, LockId, NEVER, Ns, Policy, TaskId, World};
use topology::CpuId;

/// `sched_cfs_bandwidth_slice()`
const SLICE_NS: Ns = 5_000_000;
/// `min_cfs_rq_runtime`: what an empty queue keeps.
const KEEP_NS: i64 = 1_000_000;
/// `cfs_bandwidth_slack_period`
const SLACK_PERIOD_NS: Ns = 5_000_000;
/// `min_bandwidth_expiration`: what would come later than this before the next period is left out.
const MIN_EXPIRATION_NS: Ns = 2_000_000;
/// How long a handler that finds a runqueue locked waits before it looks again.
const RETRY_NS: Ns = 1_000;

/// What a queue counts that a throttle takes away from those above.
#[derive(Clone, Copy, Debug)]
pub(in crate::fair::queue) struct Count {
    pub n: u32,
    pub idle: u32,
    pub delayed: u32,
}

impl<S: Discipline> Fair<S> {
    /// `cfs_rq_throttled`
    #[inline]
    pub(in crate::fair::queue) fn is_throttled(&self, queue: QueueId) -> bool {
        S::GROUPS && queue.group != GroupId::ROOT && self.on_cpu(queue).runtime.throttled
    }

    /// `throttled_hierarchy`: the queue, or one above it, is throttled.
    #[inline]
    pub(crate) fn in_throttled(&self, queue: QueueId) -> bool {
        S::GROUPS && queue.group != GroupId::ROOT && self.on_cpu(queue).runtime.throttle_count > 0
    }

    /// The clock of the averages of a queue and of what is on it: it stands while the queue is
    /// throttled.
    #[inline]
    pub(in crate::fair::queue) fn cfs_rq_clock_pelt(&self, queue: QueueId, now: Ns) -> Ns {
        let clock = self.clock_pelt(now, queue.cpu);
        if !S::GROUPS || queue.group == GroupId::ROOT {
            return clock;
        }
        let runtime = &self.on_cpu(queue).runtime;
        let clock = if runtime.throttle_count > 0 { runtime.throttled_clock_pelt } else { clock };
        clock - runtime.throttled_clock_pelt_time
    }

    /// The pool of a queue's group, if it has a limit.
    #[inline]
    fn pool(&mut self, group: GroupId) -> Option<&mut Bandwidth> {
        if !S::GROUPS || !self.groups.has_bandwidth || group == GroupId::ROOT {
            return None;
        }
        self.groups.groups[usize::from(group.0) - 1].bandwidth.as_mut()
    }

    /// `account_cfs_rq_runtime`: the queue's current entity has run for so long.
    #[inline]
    pub(in crate::fair::queue) fn account_runtime(&mut self, w: &mut World, q: QueueId, delta: Ns) {
        if self.pool(q.group).is_none() {
            return;
        }
        let runtime = &mut self.on_cpu_mut(q).runtime;
        runtime.remaining -= delta as i64;
        if runtime.remaining > 0 || runtime.throttled {
            return;
        }
        // So that it can be throttled.
        if !self.assign(w, q, SLICE_NS) && self.curr_of(q).is_task() {
            w.resched_curr(q.cpu);
        }
    }

    /// `__assign_cfs_rq_runtime`: takes as much as makes up for what is overdrawn, and this. True
    /// if the queue has some.
    fn assign(&mut self, w: &mut World, queue: QueueId, target: Ns) -> bool {
        let wanted = (target as i64 - self.on_cpu(queue).runtime.remaining) as Ns;
        let now = w.now;
        let on = if w.this.idx() < w.cpus.len() { w.this } else { queue.cpu };
        let Some(pool) = self.pool(queue.group) else {
            return true;
        };
        let starts = !pool.period_active;
        if starts {
            // `start_cfs_bandwidth`
            pool.period_active = true;
            pool.timer_cpu = on;
            pool.forward(now);
        }
        let amount = wanted.min(pool.runtime);
        if amount > 0 {
            pool.runtime -= amount;
            pool.idle = false;
        }
        if starts {
            self.arm_bandwidth(w);
        }
        let runtime = &mut self.on_cpu_mut(queue).runtime;
        runtime.remaining += amount as i64;
        runtime.remaining > 0
    }

    /// `check_cfs_rq_runtime`: throttles the queue if it has nothing left. True if it is throttled.
    #[inline]
    pub(in crate::fair::queue) fn check_runtime(&mut self, w: &mut World, queue: QueueId) -> bool {
        if self.pool(queue.group).is_none() || self.on_cpu(queue).runtime.remaining > 0 {
            return false;
        }
        self.is_throttled(queue) || self.throttle(w, queue)
    }

    /// `check_enqueue_throttle`: an entity has joined, as the queue's first.
    #[inline]
    pub(in crate::fair::queue) fn check_enqueue_throttle(&mut self, w: &mut World, q: QueueId) {
        // What runs is looked at as it is charged and put back.
        if self.pool(q.group).is_none() || self.curr_of(q).is_task() || self.is_throttled(q) {
            return;
        }
        self.account_runtime(w, q, 0);
        if self.on_cpu(q).runtime.remaining <= 0 {
            self.throttle(w, q);
        }
    }

    /// `throttle_cfs_rq`: false if there is some time left for it after all.
    fn throttle(&mut self, w: &mut World, queue: QueueId) -> bool {
        if self.assign(w, queue, 1) {
            return false;
        }
        let cpu = queue.cpu;
        self.pool(queue.group).expect("it has a limit").throttled.push(cpu);
        let clock = w.rq_clock(cpu);
        self.stop_averages(clock, queue);
        let count = self.count_of_queue(queue);
        let mut below = queue;
        let mut leaves = true;
        // An entity that is off its queue is the first of a throttled one, or about to join.
        while let Some((queue, se)) = self.above(below)
            && self.entity(se).on_rq
        {
            if leaves {
                S::dequeue_group(self, w, queue, se);
            } else {
                self.update_averages_no_tg(w, queue, se);
                self.note_runnable(below);
            }
            self.discount(queue, count);
            leaves &= self.queue(queue).load_weight == 0;
            below = queue;
        }
        let runtime = &mut self.on_cpu_mut(queue).runtime;
        (runtime.throttled, runtime.throttled_at) = (true, clock);
        for p in self.list_of(cpu) {
            if self.entity_on(queue, p).is_some() && !w.tasks[p].throttled {
                w.set_throttled(p, true);
            }
        }
        self.publish(cpu);
        true
    }

    /// `unthrottle_cfs_rq`
    fn unthrottle(&mut self, w: &mut World, queue: QueueId) {
        let cpu = queue.cpu;
        w.update_rq_clock(cpu);
        let clock = w.rq_clock(cpu);
        let runtime = &mut self.on_cpu_mut(queue).runtime;
        runtime.throttled = false;
        let since = runtime.throttled_at;
        let pool = self.pool(queue.group).expect("it has a limit");
        pool.stat.throttled_ns += clock - since;
        pool.throttled.retain(|c| *c != cpu);
        self.start_averages(clock, queue);
        if self.queue(queue).load_weight == 0 {
            return;
        }
        let count = self.count_of_queue(queue);
        let mut below = queue;
        let mut joins = true;
        while let Some((queue, se)) = self.above(below) {
            joins &= !self.entity(se).on_rq || S::DELAYS && S::is_delayed(&self.entity(se).ext);
            if joins {
                S::enqueue_group(self, w, queue, se);
            } else {
                self.update_averages(w, queue, se);
                self.note_runnable(below);
            }
            self.count(queue, count);
            below = queue;
            if self.is_throttled(queue) {
                break;
            }
        }
        for p in self.list_of(cpu) {
            if w.tasks[p].throttled && !self.in_throttled(self.queue_of(cpu, p)) {
                w.set_throttled(p, false);
            }
        }
        self.overload |= w.cpus[cpu].nr_running > 1;
        self.publish(cpu);
        if w.cpus[cpu].curr == TaskId::IDLE && w.cpus[cpu].nr_running > 0 {
            w.resched_curr(cpu);
        }
    }

    /// `p`, which has joined its queue, does not count if that is throttled.
    #[inline]
    pub(in crate::fair::queue) fn mark_throttled(&self, w: &mut World, cpu: CpuId, p: TaskId) {
        if self.in_throttled(self.queue_of(cpu, p)) && !w.tasks[p].throttled {
            w.set_throttled(p, true);
        }
    }

    /// `p` has left its queue: to the mechanism it counts until it is deactivated.
    #[inline]
    pub(in crate::fair::queue) fn unmark_throttled(&self, w: &mut World, p: TaskId) {
        if S::GROUPS && w.tasks[p].throttled {
            w.set_throttled(p, false);
        }
    }

    fn count_of_queue(&self, queue: QueueId) -> Count {
        let rq = self.queue(queue);
        Count { n: rq.h_nr_running, idle: rq.idle_h_nr_running, delayed: rq.h_nr_delayed }
    }

    /// What has joined a queue below this one counts here.
    #[inline]
    pub(in crate::fair::queue) fn count(&mut self, queue: QueueId, c: Count) {
        let rq = self.queue_mut(queue);
        rq.h_nr_running += c.n;
        rq.idle_h_nr_running += c.idle;
        rq.h_nr_delayed += c.delayed;
    }

    #[inline]
    pub(in crate::fair::queue) fn discount(&mut self, queue: QueueId, c: Count) {
        let rq = self.queue_mut(queue);
        rq.h_nr_running -= c.n;
        rq.idle_h_nr_running -= c.idle;
        rq.h_nr_delayed -= c.delayed;
    }

    /// `tg_throttle_down`: the averages of a queue and of those below it stand still.
    fn stop_averages(&mut self, now: Ns, queue: QueueId) {
        let clock = self.clock_pelt(now, queue.cpu);
        for group in self.groups.queues(queue.cpu) {
            if !self.is_below(group, queue) {
                continue;
            }
            let on_cpu = self.on_cpu_mut(group);
            if on_cpu.runtime.throttle_count == 0 {
                on_cpu.runtime.throttled_clock_pelt = clock;
                on_cpu.on_leaf_list = false;
            }
            on_cpu.runtime.throttle_count += 1;
        }
    }

    /// `tg_unthrottle_up`. Children come before their parents.
    fn start_averages(&mut self, now: Ns, queue: QueueId) {
        let clock = self.clock_pelt(now, queue.cpu);
        for group in self.groups.queues(queue.cpu).rev() {
            if !self.is_below(group, queue) {
                continue;
            }
            let runtime = &mut self.on_cpu_mut(group).runtime;
            runtime.throttle_count -= 1;
            if runtime.throttle_count == 0 {
                runtime.throttled_clock_pelt_time += clock - runtime.throttled_clock_pelt;
                self.on_cpu_mut(group).on_leaf_list = !self.is_decayed(group);
            }
        }
        // `list_add_leaf_cfs_rq`: those above are looked at as long as it is.
        let mut at = queue;
        while at.group != GroupId::ROOT && self.on_cpu(queue).on_leaf_list {
            self.on_cpu_mut(at).on_leaf_list |= !self.in_throttled(at);
            at = self.groups.parent(at);
        }
    }

    /// Is `group` this queue, or in a group in it?
    fn is_below(&self, group: QueueId, queue: QueueId) -> bool {
        let mut at = group;
        while at != queue && at.group != GroupId::ROOT {
            at = self.groups.parent(at);
        }
        at == queue
    }

    /// `return_cfs_rq_runtime`: the last entity has left the queue.
    #[inline]
    pub(in crate::fair::queue) fn return_runtime(&mut self, w: &mut World, queue: QueueId) {
        if self.pool(queue.group).is_none() || S::nr_entities(self, queue) > 0 {
            return;
        }
        let now = w.now;
        let runtime = &mut self.on_cpu_mut(queue).runtime;
        let slack = runtime.remaining - KEEP_NS;
        if slack <= 0 {
            return;
        }
        runtime.remaining = KEEP_NS;
        let pool = self.pool(queue.group).expect("it has a limit");
        pool.runtime += slack as Ns;
        let others_wait = pool.runtime > SLICE_NS && !pool.throttled.is_empty();
        let soon = pool.refills_within(now, SLACK_PERIOD_NS + MIN_EXPIRATION_NS);
        if others_wait && !soon && pool.slack_at == NEVER {
            pool.slack_at = now + SLACK_PERIOD_NS;
            self.arm_bandwidth(w);
        }
    }

    /// The first timer of all groups has changed.
    fn arm_bandwidth(&mut self, w: &mut World) {
        let pools = self.groups.groups.iter().filter_map(|group| group.bandwidth.as_ref());
        self.groups.timer_at = pools.map(Bandwidth::timer_at).min().unwrap_or(NEVER);
        self.set_policy_timer(w);
    }

    /// The timers of groups that are due.
    pub(crate) fn bandwidth_timers(&mut self, w: &mut World) {
        for group in (1..=self.groups.groups.len() as u16).map(GroupId) {
            let now = w.now;
            let Some(pool) = self.pool(group) else {
                continue;
            };
            let retries = pool.retry_at <= now;
            if retries {
                pool.retry_at = NEVER;
            }
            let slack = pool.slack_at <= now;
            if slack {
                pool.slack_at = NEVER;
            }
            // `do_sched_cfs_slack_timer`: not if all will be filled in a moment.
            let hands_on =
                slack && !pool.refills_within(now, MIN_EXPIRATION_NS) && pool.runtime > SLICE_NS;
            let fills = pool.period_active && pool.expires <= now && begin_period(pool, now);
            if fills || hands_on || retries {
                self.distribute(w, group);
            }
        }
        self.arm_bandwidth(w);
    }

    /// `distribute_cfs_runtime`: throttled queues go on, as far as the pool lasts.
    fn distribute(&mut self, w: &mut World, group: GroupId) {
        let on = self.pool(group).expect("it has a limit").timer_cpu;
        w.in_timer(on, |w| {
            let mut i = 0;
            while let Some(pool) = self.pool(group)
                && pool.runtime > 0
                && let Some(&cpu) = pool.throttled.get(i)
            {
                if w.locks.owner(LockId::rq(cpu)).is_some() {
                    // In the kernel the handler waits for it.
                    pool.retry_at = w.now + RETRY_NS;
                    i += 1;
                    continue;
                }
                self.catch_up(w, cpu);
                i += usize::from(!self.give(w, QueueId { cpu, group }));
            }
        });
    }

    /// A throttled queue gets what it has overdrawn, and 1 ns; true if it goes on.
    fn give(&mut self, w: &mut World, queue: QueueId) -> bool {
        let overdrawn = -self.on_cpu(queue).runtime.remaining;
        let pool = self.pool(queue.group).expect("it has a limit");
        let amount = (overdrawn as Ns + 1).min(pool.runtime);
        pool.runtime -= amount;
        let runtime = &mut self.on_cpu_mut(queue).runtime;
        runtime.remaining += amount as i64;
        let goes_on = runtime.remaining > 0;
        if goes_on {
            self.unthrottle(w, queue);
        }
        goes_on
    }

    /// `cpu.stat` of all groups together, if one of them has a limit.
    pub fn bandwidth_stat(&self) -> Option<BandwidthStat> {
        let pools = self.groups.groups.iter().filter_map(|group| group.bandwidth.as_ref());
        pools.map(|pool| pool.stat).reduce(|a, b| BandwidthStat {
            nr_periods: a.nr_periods + b.nr_periods,
            nr_throttled: a.nr_throttled + b.nr_throttled,
            throttled_ns: a.throttled_ns + b.throttled_ns,
        })
    }
}

/// `do_sched_cfs_period_timer`: true if queues wait for what has been filled in.
fn begin_period(pool: &mut Bandwidth, now: Ns) -> bool {
    let n = pool.forward(now);
    let some_throttled = !pool.throttled.is_empty();
    pool.stat.nr_periods += n;
    pool.refill();
    if some_throttled {
        pool.stat.nr_throttled += n;
        pool.idle = false;
    } else if pool.idle {
        pool.period_active = false;
    } else {
        // Unless somebody takes some, the next one is the last.
        pool.idle = true;
    }
    some_throttled
}
