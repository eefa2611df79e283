//! The processes of a build, each a short script: what it does after its last operation.
//!
//! ```text
//! make -> sh -> gcc -> cc1, as       the first line of an object's recipe, and eight more:
//!         sh -> fixdep, rm
//! make -> sh -> check-local-export -> nm | awk
//! make -> sh -> nm | grep
//! make -> sh                         six of them, which find nothing to do
//!
//! make -> sh -> ar                   per directory
//! ```
//!
//! That is the recipe of Linux 6.1 with `allyesconfig`, as `perf` recorded it, but for a subshell.

use super::files::Errand;
use super::plan::ObjectId;
use super::{KernelBuild, work_us};
use sim_core::{Op, ProgramCx, SleepState, TaskId};

/// The assembler's share of an object's compile time is 1/20: unverified.
const AS_SHARE: u64 = 20;

/// What a line of an object's recipe does, in a shell of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Compile,
    CheckExports,
    Versions,
    Nothing,
}

/// The recipe of an object. `make` runs line after line.
const RECIPE: [Line; 9] = [
    Line::Compile,
    Line::Nothing,
    Line::CheckExports,
    Line::Nothing,
    Line::Nothing,
    Line::Nothing,
    Line::Versions,
    Line::Nothing,
    Line::Nothing,
];

/// What a process does in the build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Builds one directory.
    Make(u32),
    /// A shell for a line of an object's recipe
    Line {
        object: ObjectId,
        line: usize,
    },
    /// … or for the archive of a directory.
    Archive(u32),
    Gcc(ObjectId),
    Cc1(ObjectId),
    As(ObjectId),
    Fixdep,
    Rm,
    /// scripts/check-local-export
    CheckExports,
    /// Writes into the pipe of this process.
    Nm(TaskId),
    Awk,
    Grep,
    Ar(u32),
}

impl Role {
    /// What is to be done for the same target after this.
    pub(super) fn next_line(self) -> Option<Role> {
        match self {
            Role::Line { object, line } if line + 1 < RECIPE.len() => {
                Some(Role::Line { object, line: line + 1 })
            }
            _ => None,
        }
    }
}

/// How far a process has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProcessStep {
    /// In `execve`.
    Exec(u32),
    /// In the script of its role.
    Script(u32),
    /// At its work on files of a FUSE file system, after which it exits.
    Files,
    Exit(u32),
}

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    parent: TaskId,
    pub role: Role,
    at: ProcessStep,
    /// The child in whose `vfork` it sleeps, until that has an address space of its own.
    vfork: TaskId,
    /// Children that it still has to wait for.
    children: u32,
    /// … and of these, those that have exited.
    zombies: u32,
    /// It sleeps until its pipe has something to read.
    on_pipe: bool,
    /// All that there is to read is in its pipe.
    input: bool,
    /// The task that reads the pipe that its next child writes to.
    reader: TaskId,
    /// What it still has to ask the daemon of a FUSE file system.
    pub errand: Option<Box<Errand>>,
    pub comm: u16,
    pub mm: u32,
}

impl Process {
    pub(super) fn new(parent: TaskId, role: Role, comm: u16, mm: u32) -> Self {
        Self {
            parent,
            role,
            at: ProcessStep::Exec(0),
            vfork: TaskId::NONE,
            children: 0,
            zombies: 0,
            on_pipe: false,
            input: false,
            reader: TaskId::NONE,
            errand: None,
            comm,
            mm,
        }
    }

    pub(super) fn vacant() -> Self {
        Self::new(TaskId::NONE, Role::Fixdep, 0, 0)
    }

    pub(super) fn in_vfork(&self) -> bool {
        self.vfork != TaskId::NONE
    }

    /// `wait()` for one child.
    pub(super) fn reap_one(&mut self) {
        self.zombies -= 1;
        self.children -= 1;
    }
}

impl KernelBuild {
    /// What the process does next. Every life begins with `execve` and ends with an exit.
    pub(super) fn step(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let p = &self.procs[task];
        if p.in_vfork() {
            return Op::Wait;
        }
        match p.at {
            ProcessStep::Exec(at) => self.exec(cx, task, at),
            ProcessStep::Script(at) => self.script(cx, task, p.role, at),
            ProcessStep::Files => self.on_files(cx, task),
            ProcessStep::Exit(_) => self.exit(cx, task),
        }
    }

    fn script(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role, at: u32) -> Op {
        match role {
            Role::Make(dir) => self.make(cx, task, dir, at),
            Role::Line { object, line } => match RECIPE[line] {
                Line::Compile => {
                    self.commands(cx, task, at, &[Role::Gcc(object), Role::Fixdep, Role::Rm])
                }
                Line::CheckExports => self.commands(cx, task, at, &[Role::CheckExports]),
                Line::Versions => self.pipeline(cx, task, at, Role::Grep),
                Line::Nothing => self.run_and_exit(task, self.ns(work_us::SHELL)),
            },
            Role::Archive(dir) => self.commands(cx, task, at, &[Role::Ar(dir)]),
            Role::Gcc(object) => self.gcc(cx, task, at, object),
            Role::Cc1(object) => {
                let ns = self.compile_ns(object) / AS_SHARE * (AS_SHARE - 1);
                self.work_on_files(cx, task, ns)
            }
            Role::As(object) => self.work_on_files(cx, task, self.compile_ns(object) / AS_SHARE),
            Role::Fixdep => self.work_on_files(cx, task, self.ns(work_us::FIXDEP)),
            Role::Rm => self.run_and_exit(task, self.ns(work_us::RM)),
            Role::CheckExports => self.pipeline(cx, task, at, Role::Awk),
            Role::Nm(reader) => self.nm(cx, task, at, reader),
            Role::Awk => self.read_pipe(task, work_us::AWK),
            Role::Grep => self.read_pipe(task, work_us::GREP),
            Role::Ar(dir) => {
                let objects = u64::from(self.plan.directories[dir as usize].n_objects);
                self.run_and_exit(task, self.ns(work_us::AR + work_us::AR_PER_OBJECT * objects))
            }
        }
    }

    /// Goes on to the next step of its execve, script or exit.
    pub(super) fn advance(&mut self, task: TaskId) {
        match &mut self.procs[task].at {
            ProcessStep::Exec(at) | ProcessStep::Script(at) | ProcessStep::Exit(at) => *at += 1,
            ProcessStep::Files => {}
        }
    }

    pub(super) fn run(&mut self, task: TaskId, us: u64) -> Op {
        self.advance(task);
        Op::Run(self.ns(us))
    }

    /// The work of a program that reads and writes files, and its exit.
    fn work_on_files(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, ns: u64) -> Op {
        let p = &mut self.procs[task];
        let Some(served) = &self.served else {
            return self.run_and_exit(task, ns);
        };
        p.errand = Some(Box::new(served.errand(p.role, ns)));
        p.at = ProcessStep::Files;
        self.on_files(cx, task)
    }

    pub(super) fn run_and_exit(&mut self, task: TaskId, ns: u64) -> Op {
        self.procs[task].at = ProcessStep::Exit(0);
        Op::Run(ns)
    }

    pub(super) fn exit_now(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.procs[task].at = ProcessStep::Exit(0);
        self.exit(cx, task)
    }

    /// `execve`. A parent in `vfork` goes on as soon as its memory is its own again.
    fn exec(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, at: u32) -> Op {
        self.advance(task);
        match at {
            0 => Op::Exec,
            1 => Op::Kernel(self.ns(work_us::EXEC_OPEN)),
            2 => {
                self.new_program(cx, task);
                let parent = self.procs[task].parent;
                match self.procs.get_mut(parent.idx()) {
                    Some(p) if p.vfork == task => {
                        p.vfork = TaskId::NONE;
                        cx.set_sleep_state(parent, SleepState::Interruptible);
                        Op::Wake { task: parent, sync: false }
                    }
                    _ => self.step(cx, task),
                }
            }
            _ => {
                self.procs[task].at = ProcessStep::Script(0);
                Op::Kernel(self.ns(work_us::EXEC_LOAD))
            }
        }
    }

    /// Exit frees memory, tells the parent, and is gone. The parent's wake-up has WF_SYNC, but
    /// `select_task_rq_fair()` (v6.4) ignores that of a waker that is exiting (PF_EXITING).
    fn exit(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let p = &self.procs[task];
        let (at, parent) = (p.at, p.parent);
        self.advance(task);
        match at {
            ProcessStep::Exit(0) => {
                cx.set_exiting(task);
                Op::Kernel(self.ns(work_us::EXIT))
            }
            ProcessStep::Exit(1) if parent != TaskId::NONE => {
                self.tell_parent(task, parent);
                // A parent in vfork sleeps uninterruptibly: SIGCHLD does not wake it.
                match self.procs[parent].in_vfork() {
                    true => Op::Exit,
                    false => Op::Wake { task: parent, sync: true },
                }
            }
            _ => {
                self.finished |= parent == TaskId::NONE;
                Op::Exit
            }
        }
    }

    fn tell_parent(&mut self, task: TaskId, parent: TaskId) {
        let ended = self.procs[task].role;
        self.procs[parent].zombies += 1;
        if let Role::Make(dir) = self.procs[parent].role {
            self.makes[dir as usize].ended.push_back(ended);
        }
    }

    fn fork(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role) -> (TaskId, Op) {
        let child = self.spawn(cx, task, role);
        self.procs[task].children += 1;
        (child, Op::Fork(child))
    }

    /// `vfork` or `posix_spawn`: make, gcc and dash start a command like that.
    pub(super) fn vfork(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role) -> Op {
        let (child, op) = self.fork(cx, task, role);
        self.procs[task].vfork = child;
        cx.set_sleep_state(task, SleepState::Uninterruptible);
        op
    }

    fn vfork_next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role) -> Op {
        self.advance(task);
        self.vfork(cx, task, role)
    }

    /// Waits until no child is left, then goes on.
    fn wait_all(&mut self, task: TaskId) -> Op {
        let p = &mut self.procs[task];
        p.children -= std::mem::take(&mut p.zombies);
        if p.children > 0 {
            return Op::Wait;
        }
        self.run(task, work_us::SHELL_STEP)
    }

    /// A shell that runs these, one after the other.
    fn commands(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, at: u32, commands: &[Role]) -> Op {
        if at == 0 {
            return self.run(task, work_us::SHELL);
        }
        match commands.get((at as usize - 1) / 2) {
            Some(command) if at % 2 == 1 => self.vfork_next(cx, task, *command),
            Some(_) => self.wait_all(task),
            None => self.exit_now(cx, task),
        }
    }

    /// A shell that runs `nm | reader`, with two forks. A real one forks nm first; here nm has to
    /// know its reader.
    fn pipeline(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, at: u32, reader: Role) -> Op {
        match at {
            0 => self.run(task, work_us::SHELL),
            1 => {
                self.advance(task);
                let (child, op) = self.fork(cx, task, reader);
                self.procs[task].reader = child;
                op
            }
            2 => {
                self.advance(task);
                let reader = self.procs[task].reader;
                self.fork(cx, task, Role::Nm(reader)).1
            }
            3 => self.wait_all(task),
            _ => self.exit_now(cx, task),
        }
    }

    /// Lists an object's symbols. They fit into the pipe, so nm never waits for its reader.
    fn nm(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, at: u32, reader: TaskId) -> Op {
        if at == 0 {
            return self.run(task, work_us::NM);
        }
        let reads = &mut self.procs[reader];
        reads.input = true;
        if std::mem::take(&mut reads.on_pipe) {
            self.procs[task].at = ProcessStep::Exit(0);
            return Op::Wake { task: reader, sync: true };
        }
        self.exit_now(cx, task)
    }

    /// Reads what comes out of its pipe, and works on it.
    fn read_pipe(&mut self, task: TaskId, us: u64) -> Op {
        let p = &mut self.procs[task];
        if !p.input {
            p.on_pipe = true;
            return Op::Wait;
        }
        self.run_and_exit(task, self.ns(us))
    }

    fn gcc(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, at: u32, object: ObjectId) -> Op {
        match at {
            0 => self.run(task, work_us::GCC),
            1 => self.vfork_next(cx, task, Role::Cc1(object)),
            2 | 4 => self.wait_all(task),
            3 => self.vfork_next(cx, task, Role::As(object)),
            _ => self.exit_now(cx, task),
        }
    }
}
