//! `make -jN built-in.a`: the kernel build of the published experiments.
//!
//! There is a tree of directories, each with its own `make`, and a job server with N tokens. An
//! object has a recipe of nine shells with compiler, assembler and helpers: they vfork, exec, write
//! into pipes and wait for each other. An archive is made when all objects of a directory are
//! there. Before and after all this is serial work. The tree's size and all times were measured on
//! a reference machine (see `us`). Another machine has one number, the work of the whole build at
//! its full speed (`work_s`), by which every time is scaled alike. It is what the baseline row
//! implies (docs/CALIBRATION.md).
//!
//! Left out: disk I/O, the page cache, memory bandwidth. Files cost nothing of their own, unless
//! they are on a FUSE file system (`files`).

mod files;
mod make;
mod plan;
mod process;
mod tree;
mod work_us;

use crate::fuse::Mode;
use crate::fuse::connection::Turn;
pub use files::Files;
use files::Served;
use make::{Make, TokenWait};
use plan::{ObjectId, Plan};
use process::{Process, Role};
use sim_core::{Op, PerTask, Program, ProgramCx, Step, TaskAttr, TaskId};

/// Parameters of a build.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// N of `make -jN`.
    pub jobs: u32,
    /// Object files in the whole tree.
    pub objects: u32,
    /// Directories with a make of their own, the top one included.
    pub directories: u32,
    /// CPU work of the whole build at full speed of this machine, s.
    pub work_s: f64,
    /// Spread of compile times: sigma of the log-normal.
    pub sigma: f64,
    /// Serial work before the first job, s on the reference machine.
    pub prepare_s: f64,
    /// Serial work at the end, s on the reference machine.
    pub link_s: f64,
    /// Seed of the run.
    pub seed: u64,
}

impl Default for Config {
    /// The kernel of the published experiments, on eight CPUs of the reference machine.
    /// Directories, objects and the spread of compile times are those of Linux 6.1.
    fn default() -> Self {
        Self {
            jobs: 8,
            objects: 22_200,
            directories: 1_785,
            work_s: 9_250.0,
            sigma: 0.62,
            prepare_s: 7.0,
            link_s: 1.2,
            seed: 1,
        }
    }
}

/// Command names of the processes, as numbers of the run.
#[derive(Clone, Copy, Default, Debug)]
struct Comms {
    make: u16,
    sh: u16,
    gcc: u16,
    cc1: u16,
    as_: u16,
    fixdep: u16,
    rm: u16,
    check_exports: u16,
    nm: u16,
    awk: u16,
    grep: u16,
    ar: u16,
}

/// The running build.
pub struct KernelBuild {
    config: Config,
    plan: Plan,
    /// By `TaskId`: ids are used again, so an entry is overwritten at each creation.
    procs: PerTask<Process>,
    /// By directory.
    makes: Vec<Make>,
    /// Tokens in the job server's pipe.
    tokens: u32,
    /// Directories whose makes wait for a token, in the order in which they began to.
    token_waiters: Vec<u32>,
    objects_done: u32,
    finished: bool,
    next_mm: u32,
    comms: Comms,
    /// The file system that the tree is on, if it is one in user space.
    served: Option<Served>,
}

impl KernelBuild {
    /// Plans a build.
    pub fn new(config: Config) -> Self {
        let plan = Plan::new(&config);
        Self {
            tokens: config.jobs.saturating_sub(1),
            makes: vec![Make::new(); plan.directories.len()],
            plan,
            config,
            procs: PerTask::new(),
            token_waiters: Vec::new(),
            objects_done: 0,
            finished: false,
            next_mm: 1,
            comms: Comms::default(),
            served: None,
        }
    }

    /// The same build in a tree on a FUSE file system; with `Mode::Raw` there is none.
    pub fn with_files(self, files: Files) -> Self {
        let mounted = files.mode != Mode::Raw;
        Self { served: mounted.then(|| Served::new(files)), ..self }
    }

    /// A time of the reference machine, us, on this one, ns.
    fn ns(&self, us_at_reference: u64) -> u64 {
        (us_at_reference as f64 * 1000.0 * self.plan.slowness) as u64
    }

    /// Makes a process; it starts in its parent's address space, as fork leaves it.
    fn spawn(&mut self, cx: &mut ProgramCx<'_>, parent: TaskId, role: Role) -> TaskId {
        let (comm, mm) = match self.procs.at(parent) {
            Some(p) => (p.comm, p.mm),
            None => (self.comms.make, 0),
        };
        let attr = TaskAttr { comm, mm, working_set_kib: 256, ..TaskAttr::default() };
        let id = cx.new_task(attr);
        self.record(id, Process::new(parent, role, comm, mm));
        id
    }

    fn record(&mut self, id: TaskId, process: Process) {
        self.procs.cover(id, Process::vacant);
        self.procs[id] = process;
    }

    /// A new program, address space and working set.
    fn new_program(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        let (comm, kib) = match self.procs[task].role {
            Role::Make(_) => (self.comms.make, 3072),
            Role::Line { .. } | Role::Archive(_) => (self.comms.sh, 384),
            Role::Gcc(_) => (self.comms.gcc, 1024),
            Role::Cc1(_) => (self.comms.cc1, 24 * 1024),
            Role::As(_) => (self.comms.as_, 4096),
            Role::Fixdep => (self.comms.fixdep, 512),
            Role::Rm => (self.comms.rm, 256),
            Role::CheckExports => (self.comms.check_exports, 512),
            Role::Nm(_) => (self.comms.nm, 2048),
            Role::Awk => (self.comms.awk, 512),
            Role::Grep => (self.comms.grep, 256),
            Role::Ar(_) => (self.comms.ar, 2048),
        };
        let mm = self.next_mm;
        self.next_mm += 1;
        cx.set_memory(task, mm, kib);
        cx.set_comm(task, comm);
        let p = &mut self.procs[task];
        (p.comm, p.mm) = (comm, mm);
    }

    fn compile_ns(&self, object: ObjectId) -> u64 {
        self.plan.compile_ns[object as usize]
    }
}

impl Program for KernelBuild {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.comms = Comms {
            make: cx.comm("make"),
            sh: cx.comm("sh"),
            gcc: cx.comm("gcc"),
            cc1: cx.comm("cc1"),
            as_: cx.comm("as"),
            fixdep: cx.comm("fixdep"),
            rm: cx.comm("rm"),
            check_exports: cx.comm("check-local-exp"),
            nm: cx.comm("nm"),
            awk: cx.comm("awk"),
            grep: cx.comm("grep"),
            ar: cx.comm("ar"),
        };
        let (comm, kib) = (self.comms.make, 3072);
        let top = cx.start_task(TaskAttr { comm, working_set_kib: kib, ..TaskAttr::default() });
        self.record(top, Process::new(TaskId::NONE, Role::Make(0), comm, 0));
        if let Some(served) = &mut self.served {
            served.start(cx);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        match self.served.as_mut().and_then(|served| served.turn(cx, task)) {
            None => self.step(cx, task),
            Some(Turn::Op(op)) => op,
            Some(Turn::Serve(request)) => self.serve(task, request),
        }
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        match self.procs[task].role {
            Role::Make(dir) => self.wake_readers(dir),
            _ => Step::Done,
        }
    }

    fn is_done(&self) -> bool {
        self.finished
    }

    fn progress(&self) -> f64 {
        f64::from(self.objects_done) / f64::from(self.config.objects.max(1))
    }

    fn waits_for(&self, task: TaskId) -> String {
        if self.served.as_ref().is_some_and(|served| served.is_daemon(task)) {
            return "a request".to_string();
        }
        let p = &self.procs[task];
        let what = match p.role {
            _ if p.errand.is_some() => "the daemon",
            _ if p.in_vfork() => "a child to exec",
            Role::Make(dir) if self.makes[dir as usize].token == TokenWait::Waits => {
                "a job server token"
            }
            Role::Awk | Role::Grep => "its input pipe",
            _ => "a child to exit",
        };
        what.to_string()
    }
}
