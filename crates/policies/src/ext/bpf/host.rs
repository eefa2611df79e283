//! The kernel around a program: its objects, its clock, its timers.

use super::objects::{Field, Fields, Mask, PerCpuVariable, What};
use crate::ext::cx::Cx;
use crate::ext::types::{DsqId, Next};
use ::bpf::{Answer, Host, Memory};
use sim_core::{MaskId, NEVER, Ns, Pid, TaskId, TaskState, stir};
use std::collections::BTreeMap;
use topology::{CpuId, CpuSet};

/// `BPF_F_TIMER_ABS`
const TIMER_ABS: u64 = 1;
/// PF_IDLE
const PF_IDLE: u64 = 0x2;
/// PF_EXITING
const PF_EXITING: u64 = 0x4;
/// PF_KTHREAD
const PF_KTHREAD: u64 = 0x20_0000;
/// `SCX_CPU_PREEMPT_STOP`
const PREEMPT_STOP: u64 = 2;
/// `SCX_CPU_PREEMPT_UNKNOWN`, which is the fair class.
const PREEMPT_UNKNOWN: u64 = 3;
const TASK_RUNNING: u64 = 0;
/// All sleepers, whoever may wake them.
const TASK_INTERRUPTIBLE: u64 = 1;
const TASK_DEAD: u64 = 0x80;
const TASK_WAKING: u64 = 0x200;
const TASK_NEW: u64 = 0x800;
/// DEFAULT_PRIO
const DEFAULT_PRIO: i64 = 120;

/// What a program is called for, which decides what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    Other,
    /// `select_cpu` or `enqueue` of this task.
    Placing(TaskId),
    Dispatching,
    /// `cpu_release`
    Releasing,
    /// A timer's callback: no runqueue's lock is held.
    Timer,
}

/// What a move was given before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Given {
    Slice = 1,
    Vtime = 2,
}

/// What is kept besides the program's own memory.
pub(super) struct Books {
    pub doing: Doing,
    /// What the operation is about, if it holds the lock of that task's runqueue; 0: nothing.
    pub subject: u64,
    /// By their numbers in the program, ascending.
    pub queues: Vec<(u64, DsqId)>,
    /// By pid; `TaskId::NONE`: no such task.
    pub by_pid: Vec<TaskId>,
    /// By task: who has forked it.
    pub parents: Vec<Option<(TaskId, Pid)>>,
    /// Armed timers by address: when, and on which CPU.
    pub timers: BTreeMap<u64, (Ns, CpuId)>,
    /// What the suspended program wants: a queue consumed, or a task moved.
    pub asks: Option<Next>,
    /// The CPUs that a task is about to be allowed.
    pub allowed: Option<(TaskId, MaskId)>,
    /// A mask that a call was given.
    pub mask: CpuSet,
    /// All CPUs of the machine.
    pub all: CpuSet,
    /// Where the fields of the kernel's objects are.
    pub fields: Fields,
    /// The kernel keeps masks of idle CPUs.
    pub builtin_idle: bool,
    /// Who has taken the CPU that was released last.
    pub taken_by: TaskId,
    /// It keeps them per node.
    pub idle_per_node: bool,
    /// Of `bpf_get_prandom_u32`.
    pub random: u64,
}

impl Books {
    pub fn new(n_cpus: usize, builtin_idle: bool, idle_per_node: bool) -> Self {
        Self {
            doing: Doing::Other,
            subject: 0,
            queues: Vec::new(),
            by_pid: Vec::new(),
            parents: Vec::new(),
            timers: BTreeMap::new(),
            asks: None,
            allowed: None,
            mask: CpuSet::empty(n_cpus),
            all: CpuSet::full(n_cpus),
            fields: Fields::new(),
            builtin_idle,
            taken_by: TaskId::STOP,
            idle_per_node,
            random: 0,
        }
    }

    /// The timer that fires first, the one with the lowest address if there are several.
    pub fn first_timer(&self) -> Option<(u64, Ns, CpuId)> {
        let all = self.timers.iter().map(|(timer, (at, cpu))| (*timer, *at, *cpu));
        all.min_by_key(|(timer, at, _)| (*at, *timer))
    }

    /// The next random number: the same ones in every run (splitmix64).
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        stir(self.random) as u32
    }
}

/// The world of one call.
pub(super) struct Here<'a, 'w> {
    pub cx: &'a mut Cx<'w>,
    pub books: &'a mut Books,
}

impl Here<'_, '_> {
    /// The object at an address, if there is one: programs may make addresses up.
    pub fn at(&self, address: u64) -> Option<(What, u32)> {
        let (what, offset) = What::at(address)?;
        let is_there = match what {
            What::Task(p) => self.cx.world().tasks.get(p.idx()).is_some() && self.cx.is_known(p),
            What::Idle(cpu) | What::Rq(cpu) => cpu.idx() < self.cx.machine().n_cpus(),
            What::Mask(_) | What::PerCpu(_) => true,
            What::Args { cgroup, .. } | What::Cgroup(cgroup) => self.cx.is_cgroup(cgroup),
        };
        is_there.then_some((what, offset))
    }

    fn task_field(&mut self, p: TaskId, field: Field) -> Option<u64> {
        let t = self.cx.world().tasks.get(p.idx())?;
        Some(match field {
            Field::Pid => t.pid.0.into(),
            Field::Flags => {
                let kthread = if t.attr.kthread { PF_KTHREAD } else { 0 };
                kthread | if t.exiting { PF_EXITING } else { 0 }
            }
            Field::State => match t.state {
                TaskState::New => TASK_NEW,
                TaskState::Runnable => TASK_RUNNING,
                TaskState::Sleeping => TASK_INTERRUPTIBLE,
                TaskState::Waking => TASK_WAKING,
                TaskState::Dead => TASK_DEAD,
            },
            Field::RealParent => self.parent(p),
            Field::Comm(at) => self.comm(t.attr.comm, at),
            Field::CpusPtr => {
                let changing = self.books.allowed.filter(|(own, _)| *own == p);
                let allowed = changing.map_or(t.attr.allowed, |(_, new)| new);
                What::Mask(Mask::Allowed(allowed)).address()
            }
            Field::NrCpusAllowed => t.nr_cpus_allowed.into(),
            Field::StaticPrio => (DEFAULT_PRIO + i64::from(t.attr.nice)) as u64,
            Field::OnCpu => t.on_cpu.into(),
            Field::WakeCpu => t.wake_cpu.0.into(),
            Field::Itself => What::Task(p).address(),
            // A pointer that only says whether there is one.
            Field::Mm => u64::from(!t.attr.kthread),
            Field::Slice => self.cx.slice(p),
            Field::Vtime => self.cx.vtime(p),
            Field::RunTime => self.cx.ran_ns(p),
            Field::Weight => self.cx.weight(p).into(),
            Field::ScxFlags => t.on_rq.into(),
            Field::MigrationDisabled | Field::Disallow | Field::Zero => 0,
            _ => return None,
        })
    }

    fn idle_field(&self, cpu: CpuId, field: Field) -> Option<u64> {
        Some(match field {
            Field::Flags => PF_IDLE | PF_KTHREAD,
            Field::NrCpusAllowed => 1,
            Field::StaticPrio => DEFAULT_PRIO as u64,
            Field::OnCpu => (self.cx.world().cpus[cpu].curr == TaskId::IDLE).into(),
            Field::WakeCpu => cpu.0.into(),
            Field::CpusPtr => What::Mask(Mask::All).address(),
            Field::Itself | Field::RealParent => What::Idle(cpu).address(),
            Field::Curr | Field::Cpu | Field::NrRunning | Field::Fork | Field::Reason => {
                return None;
            }
            _ => 0,
        })
    }

    /// The task that has forked it, if that still is; else the ancestor of all, `swapper/0`.
    fn parent(&self, p: TaskId) -> u64 {
        let parent = self.books.parents.get(p.idx()).and_then(|parent| *parent);
        let is_there = |(parent, pid): &(TaskId, Pid)| {
            self.cx.is_known(*parent) && self.cx.world().tasks[*parent].pid == *pid
        };
        parent
            .filter(is_there)
            .map_or(What::Idle(CpuId(0)), |(parent, _)| What::Task(parent))
            .address()
    }

    /// Eight bytes of a command's name from one on.
    fn comm(&self, comm: u16, at: u32) -> u64 {
        let name = self.cx.world().comms.get(comm as usize).map_or("", String::as_str);
        // The last of 16 bytes is 0.
        let bytes = name.as_bytes().iter().take(15).skip(at as usize).take(8);
        bytes.zip(0..).fold(0, |sum, (byte, i)| sum | u64::from(*byte) << (8 * i))
    }

    fn mask_word(&self, mask: Mask, word: usize) -> u64 {
        let of = |set: &CpuSet| set.words().get(word).copied().unwrap_or(0);
        // A program may name a node that is none.
        let in_node = |node: u32| self.cx.machine().nodes.get(node as usize).map_or(0, of);
        match mask {
            Mask::All => of(&self.books.all),
            Mask::IdleCpus => of(self.cx.idle_cpus()),
            Mask::IdleCores => of(self.cx.idle_cores()),
            Mask::IdleCpusOf(node) => of(self.cx.idle_cpus()) & in_node(node),
            Mask::IdleCoresOf(node) => of(self.cx.idle_cores()) & in_node(node),
            Mask::Empty => 0,
            Mask::Allowed(id) => self.cx.world().masks.get(id.0 as usize).map_or(0, of),
        }
    }

    fn value(&mut self, address: u64, size: u32) -> Option<u64> {
        let (what, offset) = self.at(address)?;
        if let What::Mask(mask) = what {
            let word = self.mask_word(mask, offset as usize / 8);
            return Some(word >> (offset % 8 * 8));
        }
        if what == What::PerCpu(PerCpuVariable::CpufreqData) {
            return Some(0);
        }
        let field = self.books.fields.at(what, offset, size)?;
        match what {
            What::Task(p) => self.task_field(p, field),
            What::Idle(cpu) => self.idle_field(cpu, field),
            What::Rq(cpu) => match field {
                Field::Curr => Some(self.curr(cpu)),
                Field::Cpu => Some(cpu.0.into()),
                Field::NrRunning => Some(self.cx.world().cpus[cpu].nr_running.into()),
                Field::Clock => Some(self.cx.now()),
                // As fast as the CPU is, of the highest speed that the firmware tells of.
                Field::ClockPelt => {
                    let scale = u128::from(self.cx.machine().freq_scale);
                    Some((u128::from(self.cx.now()) * scale / 1024) as u64)
                }
                Field::Zero => Some(0),
                _ => None,
            },
            What::Args { fork, cgroup } => match field {
                Field::Fork => Some(fork.into()),
                Field::Reason => Some(match self.books.taken_by {
                    TaskId::STOP => PREEMPT_STOP,
                    _ => PREEMPT_UNKNOWN,
                }),
                Field::Taker => Some(match self.books.taken_by {
                    // The model's stopper is no task.
                    TaskId::STOP => 0,
                    p => What::Task(p).address(),
                }),
                Field::Cgroup => Some(super::cgroups::pointer(cgroup)),
                Field::Zero => Some(0),
                _ => self.cgroup_given(cgroup, field),
            },
            What::Cgroup(cgroup) => self.cgroup_field(cgroup, field),
            What::Mask(_) | What::PerCpu(_) => None,
        }
    }
}

impl Host for Here<'_, '_> {
    fn load(&mut self, address: u64, size: u32) -> Option<u64> {
        let value = self.value(address, size)?;
        Some(if size < 8 { value & ((1 << (8 * size)) - 1) } else { value })
    }

    fn store(&mut self, address: u64, size: u32, value: u64) -> bool {
        let (p, offset) = match self.at(address) {
            Some((What::Task(p), offset)) => (p, offset),
            // The idle task has these fields, too, and nobody reads them.
            Some((idle @ What::Idle(_), offset)) => {
                let field = self.books.fields.at(idle, offset, size);
                return matches!(field, Some(Field::Slice | Field::Vtime | Field::Disallow));
            }
            _ => return false,
        };
        match self.books.fields.at(What::Task(p), offset, size) {
            Some(Field::Slice) if size == 8 => self.cx.set_slice(p, value),
            Some(Field::Vtime) if size == 8 => self.cx.set_vtime(p, value),
            Some(Field::Disallow) => {}
            _ => return false,
        }
        true
    }

    fn call(&mut self, function: u32, args: [u64; 5], memory: &mut Memory) -> Answer {
        self.carry_out(function, args, memory)
    }

    fn now_ns(&mut self) -> u64 {
        self.cx.now()
    }

    fn cpu(&mut self) -> u32 {
        self.cx.this_cpu().0
    }

    fn last_distributed(&mut self) -> u32 {
        self.cx.last_distributed().0
    }

    fn note_distributed(&mut self, cpu: u32) {
        self.cx.note_distributed(CpuId(cpu));
    }

    fn random(&mut self) -> u32 {
        self.books.draw()
    }

    /// Every timer fires on the CPU that has started it last, as pinned ones do.
    fn start_timer(&mut self, timer: u64, delay_ns: u64, flags: u64) {
        let now = self.cx.now();
        let at =
            if flags & TIMER_ABS != 0 { delay_ns.max(now) } else { now.saturating_add(delay_ns) };
        // No sooner than an interrupt is over: a timer without delay would stop time.
        let at = at.max(now + self.cx.machine().costs.irq_ns.max(1));
        self.books.timers.insert(timer, (at, self.cx.this_cpu()));
        self.arm();
    }

    fn cancel_timer(&mut self, timer: u64) {
        self.books.timers.remove(&timer);
        self.arm();
    }
}

impl Here<'_, '_> {
    /// Has the first timer fire.
    pub fn arm(&mut self) {
        let (at, on) = self.books.first_timer().map_or((NEVER, CpuId(0)), |(_, at, on)| (at, on));
        self.cx.set_timer(at, on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lower halves of what splitmix64 gives from 0.
    #[test]
    fn random_numbers_are_those_of_splitmix64() {
        let mut books = Books::new(1, true, false);
        assert_eq!([0; 3].map(|_| books.draw()), [0x7b1d_cdaf, 0xa1b9_65f4, 0x8009_454f]);
    }

    #[test]
    fn the_earliest_timer_is_first_and_of_equals_the_lowest() {
        let mut books = Books::new(1, true, false);
        assert_eq!(books.first_timer(), None);
        for (timer, at) in [(9, 5), (7, 3), (4, 3), (1, 8)] {
            books.timers.insert(timer, (at, CpuId(timer as u32)));
        }
        assert_eq!(books.first_timer(), Some((4, 3, CpuId(4))));
    }
}
