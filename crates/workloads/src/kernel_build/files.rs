//! The build's files on a FUSE file system: the requests of each program to the daemon.
//!
//! The compiler and fixdep open every header that an object needs, some hundred of them: an open,
//! a flush at its close, and a release that no program waits for. Names and pages are found in the
//! kernel's caches, but for what is new. What is read and written goes to the daemon, or, with
//! passthrough, to the file system below, where it costs what it does without FUSE.
//!
//! The numbers were counted on a build of Linux 6.1 through libfuse's passthrough_ll
//! (`scripts/measure-fuse --build`; docs/CALIBRATION.md). They are spread evenly over a program's
//! work. Left out: what is asked before the first object and after the last.

use super::KernelBuild;
use super::process::Role;
use crate::fuse::Kind;
use crate::fuse::Mode;
use crate::fuse::connection::{Connection, Turn};
use crate::fuse::costs::Costs;
use sim_core::{Ns, Op, ProgramCx, TaskId};

/// How the files of a build are served.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// How reads and writes are served.
    pub mode: Mode,
    /// Threads of the daemon at most.
    pub daemon_threads: u32,
    /// The daemon moves pages by `splice()`.
    pub splice: bool,
    /// The daemon answers GETXATTR.
    pub xattr: bool,
    /// The pages of a file stay in the page cache from one open to the next (FOPEN_KEEP_CACHE).
    pub keep_cache: bool,
}

/// Requests of a program for one object.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Asks {
    /// OPEN or CREATE, FLUSH, and RELEASE, for which the program does not wait.
    opens: u32,
    /// LOOKUP, GETATTR and their like.
    names: u32,
    reads: u32,
    /// WRITE, each after a GETXATTR.
    writes: u32,
}

const CC1: Asks = Asks { opens: 748, names: 10, reads: 10, writes: 5 };
/// … and of objtool, nm and shells, which are not told apart from it.
const AS: Asks = Asks { opens: 12, names: 15, reads: 14, writes: 101 };
/// … and of make.
const FIXDEP: Asks = Asks { opens: 587, names: 13, reads: 5, writes: 13 };
/// Data of a read, and of a write, KiB: unverified.
const READ_KIB: u64 = 16;
const WRITE_KIB: u64 = 4;

impl Asks {
    fn total(&self) -> u32 {
        self.opens + self.names + self.reads + self.writes
    }
}

/// One thing that a program does with files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Open,
    Flush,
    Release,
    Name,
    Read,
    GetXattr,
    Write,
}

impl Act {
    fn kind(self) -> Kind {
        match self {
            Act::Read => Kind::Read { window: 0 },
            Act::Write => Kind::Write,
            Act::Open | Act::Flush | Act::Release | Act::Name | Act::GetXattr => Kind::GetXattr,
        }
    }

    fn kib(self) -> u64 {
        match self {
            Act::Read => READ_KIB,
            Act::Write => WRITE_KIB,
            _ => 0,
        }
    }

    /// What belongs to it and follows it.
    fn then(self) -> Option<Act> {
        match self {
            Act::Open => Some(Act::Flush),
            Act::Flush => Some(Act::Release),
            Act::GetXattr => Some(Act::Write),
            Act::Release | Act::Name | Act::Read | Act::Write => None,
        }
    }
}

/// Where a program stands with its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FileStep {
    /// Computes up to the next one.
    Work,
    /// Makes a request.
    Begin(Act),
    /// Puts it into the queue.
    Queue(Act),
    /// Sleeps until it is answered.
    Answer(Act),
    /// Has taken the answer in.
    Done(Act),
}

/// What a program still has to do with files.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    at: FileStep,
    all: Asks,
    left: Asks,
    /// Work from one to the next, ns.
    run_ns: Ns,
    pub answered: bool,
}

impl Errand {
    /// The next request, so that all kinds are spread evenly: of the kind of which the largest part
    /// is left. `None` if all are done.
    fn next(&mut self, xattr: bool) -> Option<Act> {
        let Asks { opens, names, reads, writes } = self.all;
        let write = if xattr { Act::GetXattr } else { Act::Write };
        let left = &mut self.left;
        let kinds = [
            (&mut left.opens, opens, Act::Open),
            (&mut left.names, names, Act::Name),
            (&mut left.reads, reads, Act::Read),
            (&mut left.writes, writes, write),
        ];
        let share = |n: u32, of: u32| (u64::from(n) << 32) / u64::from(of.max(1));
        let (n, _, act) = kinds.into_iter().max_by_key(|(n, of, _)| share(**n, *of))?;
        *n = n.checked_sub(1)?;
        Some(act)
    }
}

#[derive(Clone, Copy, Debug)]
struct Request {
    program: TaskId,
    act: Act,
    /// The daemon has read it, and writes the reply.
    taken: bool,
    replied: bool,
}

/// The file system, its daemon and its requests.
pub(super) struct Served {
    files: Files,
    costs: Costs,
    connection: Connection,
    /// By number of the request.
    requests: Vec<Request>,
    free: Vec<u32>,
}

impl Served {
    pub fn new(files: Files) -> Self {
        Self {
            costs: Costs::at_clock(topology::REFERENCE_MHZ, files.splice),
            connection: Connection::new(files.daemon_threads),
            requests: Vec::new(),
            free: Vec::new(),
            files,
        }
    }

    pub fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.costs = Costs::at_clock(cx.machine().clock_mhz, self.files.splice);
        self.connection.start(cx);
    }

    pub fn is_daemon(&self, task: TaskId) -> bool {
        self.connection.is_daemon(task)
    }

    /// What a thread of the daemon does next; nothing for another task.
    pub fn turn(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Option<Turn> {
        self.is_daemon(task).then(|| self.connection.turn(cx, task))
    }

    /// What a program of this role has to ask in so much work, ns.
    pub fn errand(&self, role: Role, ns: Ns) -> Errand {
        let all = match role {
            Role::Cc1(_) => CC1,
            Role::As(_) => AS,
            Role::Fixdep => FIXDEP,
            _ => Asks::default(),
        };
        let all = match self.files.mode {
            Mode::Passthrough => Asks { reads: 0, writes: 0, ..all },
            Mode::Daemon if self.files.keep_cache => all,
            // Without FOPEN_KEEP_CACHE an open drops the file's pages, so each file is read again.
            Mode::Daemon => Asks { reads: all.reads.max(all.opens), ..all },
            Mode::Raw => Asks::default(),
        };
        let run_ns = ns / u64::from(all.total() + 1);
        Errand { at: FileStep::Work, all, left: all, run_ns, answered: false }
    }

    fn queue(&mut self, program: TaskId, act: Act) -> Option<TaskId> {
        let request = Request { program, act, taken: false, replied: false };
        let number = match self.free.pop() {
            Some(number) => {
                self.requests[number as usize] = request;
                number
            }
            None => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
        };
        self.connection.queue(number)
    }
}

impl KernelBuild {
    /// What a program on an errand does next.
    pub(super) fn on_files(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let Some(served) = &mut self.served else {
            return self.exit_now(cx, task);
        };
        let Some(errand) = &mut self.procs[task].errand else {
            return self.exit_now(cx, task);
        };
        match errand.at {
            FileStep::Work => {
                let Some(act) = errand.next(served.files.xattr) else {
                    let run_ns = errand.run_ns;
                    self.procs[task].errand = None;
                    return self.run_and_exit(task, run_ns);
                };
                errand.at = FileStep::Begin(act);
                Op::Run(errand.run_ns)
            }
            FileStep::Begin(act) => {
                errand.at = FileStep::Queue(act);
                Op::Kernel(served.costs.send(act.kind(), act.kib()))
            }
            FileStep::Queue(act) => {
                errand.at =
                    if act == Act::Release { FileStep::Done(act) } else { FileStep::Answer(act) };
                match served.queue(task, act) {
                    Some(task) => Op::Wake { task, sync: false },
                    None => Op::Kernel(0),
                }
            }
            FileStep::Answer(act) if std::mem::take(&mut errand.answered) => {
                errand.at = FileStep::Done(act);
                Op::Kernel(served.costs.take_answer(act.kind(), act.kib()))
            }
            FileStep::Answer(_) => Op::Wait,
            FileStep::Done(act) => {
                errand.at = act.then().map_or(FileStep::Work, FileStep::Begin);
                self.on_files(cx, task)
            }
        }
    }

    /// The next step of a thread of the daemon that serves a request.
    pub(super) fn serve(&mut self, daemon: TaskId, number: u32) -> Op {
        let Some(served) = &mut self.served else {
            return Op::Exit;
        };
        let request = &mut served.requests[number as usize];
        let Request { program, act, .. } = *request;
        if !std::mem::replace(&mut request.taken, true) {
            return Op::Kernel(served.costs.take(act.kind(), act.kib()));
        }
        if !std::mem::replace(&mut request.replied, true) {
            return Op::Kernel(served.costs.reply(act.kind(), act.kib()));
        }
        served.free.push(number);
        served.connection.replied(daemon);
        if act == Act::Release {
            return Op::Kernel(0);
        }
        if let Some(errand) = &mut self.procs[program].errand {
            errand.answered = true;
        }
        Op::Wake { task: program, sync: false }
    }
}
