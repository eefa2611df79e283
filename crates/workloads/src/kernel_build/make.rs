//! make and its job server.
//!
//! If GNU make 4.3 wants to begin a target but finds no token, it waits in `pselect()` for the pipe
//! and for its children. So a token that comes back wakes every make that waits: the last one to
//! begin waiting is woken first. One of them gets the token.

use super::process::Role;
use super::{KernelBuild, work_us};
use sim_core::{Op, ProgramCx, Step, TaskId};
use std::collections::VecDeque;

/// Where a make stands with the pipe of tokens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum TokenWait {
    #[default]
    No,
    /// It is among those that wait for a token.
    Waits,
    /// A token came back, and it goes and looks.
    Looks,
}

/// The state of a directory's make.
#[derive(Clone, Debug)]
pub(super) struct Make {
    /// Targets begun: first the subdirectories, then the objects, then the archive.
    started: u32,
    /// Targets that are being built.
    running: u32,
    /// Tokens taken from the pipe (one target needs none).
    tokens: u32,
    pub token: TokenWait,
    /// Its task, while it waits for a token.
    task: TaskId,
    /// What the child that it forks next is to do.
    next: Option<Role>,
    /// What children that have exited, and were not waited for yet, have done.
    pub ended: VecDeque<Role>,
    /// Makes (by directory) that are still to be woken for a token that this one has given back.
    wakes: Vec<u32>,
}

impl Make {
    pub(super) fn new() -> Self {
        Self {
            started: 0,
            running: 0,
            tokens: 0,
            token: TokenWait::No,
            task: TaskId::NONE,
            next: None,
            ended: VecDeque::new(),
            wakes: Vec::new(),
        }
    }
}

impl KernelBuild {
    pub(super) fn make(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32, at: u32) -> Op {
        match at {
            0 => {
                let prepare = if dir == 0 { (self.config.prepare_s * 1e6) as u64 } else { 0 };
                self.run(task, work_us::MAKE_PARSE + prepare)
            }
            1 => self.make_jobs(cx, task, dir),
            2 if dir == 0 => self.run(task, (self.config.link_s * 1e6) as u64),
            _ => self.exit_now(cx, task),
        }
    }

    /// The main loop of a make: reap, go on with a target, begin what tokens allow, wait.
    fn make_jobs(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32) -> Op {
        let make = &mut self.makes[dir as usize];
        if let Some(role) = make.next.take() {
            return self.vfork(cx, task, role);
        }
        match std::mem::take(&mut make.token) {
            TokenWait::No => {}
            TokenWait::Waits => self.token_waiters.retain(|w| *w != dir),
            TokenWait::Looks => return Op::Kernel(self.ns(work_us::TOKEN)),
        }
        while let Some(ended) = self.reap(task, dir) {
            if let Some(next) = ended.next_line() {
                return self.prepare(dir, next, work_us::MAKE_PER_LINE);
            }
            if let Some(op) = self.target_ended(dir, ended) {
                return op;
            }
        }
        let d = &self.plan.directories[dir as usize];
        let Make { started, running, .. } = self.makes[dir as usize];
        let targets = d.subdirs.len() as u32 + d.n_objects;
        // The archive needs all objects and subdirectories.
        let ready = started < targets || started == targets && running == 0;
        if ready {
            return self.begin_if_token(task, dir);
        }
        if started > targets && running == 0 {
            debug_assert!(dir > 0 || self.tokens == self.config.jobs.saturating_sub(1));
            self.advance(task);
            return self.step(cx, task);
        }
        Op::Wait
    }

    /// `wait()` for one child of a make.
    fn reap(&mut self, task: TaskId, dir: u32) -> Option<Role> {
        let ended = self.makes[dir as usize].ended.pop_front()?;
        self.procs[task].reap_one();
        Some(ended)
    }

    /// Make's own share of a child's work; then the child is started.
    fn prepare(&mut self, dir: u32, child: Role, us: u64) -> Op {
        self.makes[dir as usize].next = Some(child);
        Op::Run(self.ns(us))
    }

    /// Begins the next target, or waits for a token. A make that was woken for one has looked in
    /// vain if another one was faster.
    fn begin_if_token(&mut self, task: TaskId, dir: u32) -> Op {
        if self.take_token(task, dir) {
            let child = self.begin_target(dir);
            return self.prepare(dir, child, work_us::MAKE_PER_TARGET);
        }
        Op::Wait
    }

    fn begin_target(&mut self, dir: u32) -> Role {
        let make = &mut self.makes[dir as usize];
        let d = &self.plan.directories[dir as usize];
        let n = make.started;
        make.started += 1;
        let n_subdirs = d.subdirs.len() as u32;
        if n < n_subdirs {
            Role::Make(d.subdirs[n as usize])
        } else if n < n_subdirs + d.n_objects {
            Role::Line { object: d.first_object + n - n_subdirs, line: 0 }
        } else {
            Role::Archive(dir)
        }
    }

    /// The first target of a make is built on the make's own slot, further ones need a token.
    fn take_token(&mut self, task: TaskId, dir: u32) -> bool {
        let make = &mut self.makes[dir as usize];
        if make.running > make.tokens {
            // The own slot is in use.
            if self.tokens == 0 {
                (make.token, make.task) = (TokenWait::Waits, task);
                self.token_waiters.push(dir);
                return false;
            }
            self.tokens -= 1;
            make.tokens += 1;
        }
        make.running += 1;
        true
    }

    /// A target of this make is built. If it had taken a token, that goes back, and all makes that
    /// wait look for it.
    fn target_ended(&mut self, dir: u32, ended: Role) -> Option<Op> {
        self.objects_done += u32::from(matches!(ended, Role::Line { .. }));
        let make = &mut self.makes[dir as usize];
        make.running -= 1;
        if make.tokens == 0 {
            return None;
        }
        make.tokens -= 1;
        self.tokens += 1;
        // All of them are in `pselect()`: the pipe becomes readable for each.
        for waiter in &self.token_waiters {
            self.makes[*waiter as usize].token = TokenWait::Looks;
        }
        let make = &mut self.makes[dir as usize];
        debug_assert!(make.wakes.is_empty());
        std::mem::swap(&mut make.wakes, &mut self.token_waiters);
        (!make.wakes.is_empty()).then_some(Op::Path)
    }

    /// The end of `write()` into the pipe: wakes the next make that waits. A make that a child has
    /// woken meanwhile is not in the wait queue any more.
    pub(super) fn wake_readers(&mut self, dir: u32) -> Step {
        while let Some(waiter) = self.makes[dir as usize].wakes.pop() {
            let Make { token, task, .. } = self.makes[waiter as usize];
            if token == TokenWait::Looks {
                return Step::Wake { task, sync: true };
            }
        }
        Step::Done
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, KernelBuild};
    use super::*;

    /// Four makes with a target each; there is no token left.
    fn four_makes() -> KernelBuild {
        let mut build = KernelBuild::new(Config { directories: 4, jobs: 1, ..Config::default() });
        for dir in 0..4 {
            assert!(build.take_token(TaskId(dir), dir), "the first target needs none");
        }
        build
    }

    fn wakes(build: &mut KernelBuild, dir: u32) -> Vec<TaskId> {
        std::iter::from_fn(|| match build.wake_readers(dir) {
            Step::Wake { task, sync: true } => Some(task),
            step => (step != Step::Done).then(|| panic!("{step:?}")),
        })
        .collect()
    }

    #[test]
    fn a_token_wakes_all_who_wait_the_last_first() {
        let mut build = four_makes();
        build.tokens = 1;
        assert!(build.take_token(TaskId(0), 0));
        for dir in [2, 1, 3] {
            assert!(!build.take_token(TaskId(dir), dir));
        }
        let ended = Role::Archive(0);
        assert_eq!(build.target_ended(0, ended), Some(Op::Path));
        assert_eq!(wakes(&mut build, 0), [TaskId(3), TaskId(1), TaskId(2)]);
        assert_eq!(build.tokens, 1);
        // One of them gets it, the others wait again.
        assert!(build.take_token(TaskId(1), 1));
        assert!(!build.take_token(TaskId(3), 3));
        assert_eq!(build.token_waiters, [3]);
    }

    #[test]
    fn the_own_slot_gives_no_token_back() {
        let mut build = four_makes();
        assert!(!build.take_token(TaskId(1), 1));
        assert_eq!(build.target_ended(0, Role::Archive(0)), None);
        assert_eq!((build.tokens, build.token_waiters.as_slice()), (0, &[1][..]));
    }

    #[test]
    fn who_has_looked_meanwhile_is_not_woken() {
        let mut build = four_makes();
        build.tokens = 1;
        assert!(build.take_token(TaskId(0), 0));
        assert!(!build.take_token(TaskId(1), 1));
        assert!(!build.take_token(TaskId(2), 2));
        assert_eq!(build.target_ended(0, Role::Archive(0)), Some(Op::Path));
        build.makes[2].token = TokenWait::No;
        assert_eq!(wakes(&mut build, 0), [TaskId(1)]);
    }
}
