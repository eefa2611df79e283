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

use super::plan::ObjectId;
use super::{KernelBuild, us};
use sim_core::{Op, ProgramCx, TaskId};
use std::collections::VecDeque;

/// The assembler's share of an object's compile time is 1/20 (spec 14.3).
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

/// A child of a make: the build of one of its targets, or a line of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    Directory(u32),
    Object { object: ObjectId, line: usize },
    Archive(u32),
}

impl Job {
    /// What is to be done for the same target after this.
    fn next(self) -> Option<Job> {
        match self {
            Job::Object { object, line } if line + 1 < RECIPE.len() => {
                Some(Job::Object { object, line: line + 1 })
            }
            _ => None,
        }
    }
}

/// The state of a directory's make.
#[derive(Clone, Default, Debug)]
pub(super) struct Make {
    /// Targets begun: first the subdirectories, then the objects, then the archive.
    started: u32,
    /// Targets under way.
    running: u32,
    /// Tokens taken from the pipe (one target needs none).
    tokens: u32,
    /// It is among those that wait for a token.
    pub waits_for_token: bool,
    /// What the child that it forks next is to do.
    next: Option<Job>,
    /// What children that have exited, and were not waited for yet, have done.
    ended: VecDeque<Job>,
}

/// What a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Builds one directory.
    Make(u32),
    /// A line of an object's recipe, or the archive of a directory.
    Shell(Job),
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

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub parent: TaskId,
    pub role: Role,
    /// Where in its script it is.
    pub at: u32,
    /// Children that it still has to wait for.
    pub children: u32,
    /// … and of these, those that have exited.
    pub zombies: u32,
    /// It sleeps until its pipe has something to read.
    pub on_pipe: bool,
    /// All that there is to read is in its pipe.
    pub input: bool,
    /// Who reads the pipe that its next child writes to.
    pub reader: TaskId,
    pub comm: u16,
    pub mm: u32,
}

impl Process {
    pub(super) fn new(parent: TaskId, role: Role, comm: u16, mm: u32) -> Self {
        Self {
            parent,
            role,
            at: 0,
            children: 0,
            zombies: 0,
            on_pipe: false,
            input: false,
            reader: TaskId::NONE,
            comm,
            mm,
        }
    }

    pub(super) fn vacant() -> Self {
        Self::new(TaskId::NONE, Role::Fixdep, 0, 0)
    }
}

/// The last steps of every process, counted from its own end.
const EXITING: u32 = 1000;

impl KernelBuild {
    /// What the process does next. Every script begins with `execve` and ends with its exit.
    pub(super) fn step(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let at = self.procs[task.idx()].at;
        if at >= EXITING {
            return self.exit(cx, task);
        }
        if at == 0 {
            self.advance(task);
            return Op::Exec;
        }
        if at == 1 {
            self.exec(cx, task);
            self.advance(task);
            return Op::Kernel(self.ns(us::EXEC));
        }
        match self.procs[task.idx()].role {
            Role::Make(dir) => self.make(cx, task, dir),
            Role::Shell(job) => self.shell(cx, task, job),
            Role::Gcc(object) => self.gcc(cx, task, object),
            Role::Cc1(object) => {
                let ns = self.compile_ns(object) / AS_SHARE * (AS_SHARE - 1);
                self.run_and_exit(task, ns)
            }
            Role::As(object) => self.run_and_exit(task, self.compile_ns(object) / AS_SHARE),
            Role::Fixdep => self.run_and_exit(task, self.ns(us::FIXDEP)),
            Role::Rm => self.run_and_exit(task, self.ns(us::RM)),
            Role::CheckExports => self.pipeline(cx, task, Role::Awk),
            Role::Nm(reader) => self.nm(cx, task, reader),
            Role::Awk => self.read_pipe(task, us::AWK),
            Role::Grep => self.read_pipe(task, us::GREP),
            Role::Ar(dir) => {
                let objects = u64::from(self.plan.directories[dir as usize].n_objects);
                self.run_and_exit(task, self.ns(us::AR + us::AR_PER_OBJECT * objects))
            }
        }
    }

    fn advance(&mut self, task: TaskId) {
        self.procs[task.idx()].at += 1;
    }

    fn run(&mut self, task: TaskId, us: u64) -> Op {
        self.advance(task);
        Op::Run(self.ns(us))
    }

    fn run_and_exit(&mut self, task: TaskId, ns: u64) -> Op {
        self.procs[task.idx()].at = EXITING;
        Op::Run(ns)
    }

    fn exit_now(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.procs[task.idx()].at = EXITING;
        self.exit(cx, task)
    }

    /// Exit frees memory, tells the parent, and is gone. The parent's wake-up is SYNC in name only:
    /// the waker is exiting by then (spec 5.5).
    fn exit(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let p = &mut self.procs[task.idx()];
        p.at += 1;
        let parent = p.parent;
        match p.at - EXITING {
            1 => {
                cx.set_exiting(task);
                Op::Kernel(self.ns(us::EXIT))
            }
            2 if parent != TaskId::NONE => {
                self.tell_parent(task, parent);
                Op::Wake { task: parent, sync: true }
            }
            _ => {
                self.finished |= parent == TaskId::NONE;
                Op::Exit
            }
        }
    }

    fn tell_parent(&mut self, task: TaskId, parent: TaskId) {
        let job = match self.procs[task.idx()].role {
            Role::Make(dir) => Some(Job::Directory(dir)),
            Role::Shell(job) => Some(job),
            _ => None,
        };
        if let (Role::Make(dir), Some(job)) = (self.procs[parent.idx()].role, job) {
            self.makes[dir as usize].ended.push_back(job);
        }
        self.procs[parent.idx()].zombies += 1;
    }

    fn fork(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role) -> (TaskId, Op) {
        let child = self.spawn(cx, task, role);
        self.procs[task.idx()].children += 1;
        (child, Op::Fork(child))
    }

    fn fork_next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, role: Role) -> Op {
        self.advance(task);
        self.fork(cx, task, role).1
    }

    /// Waits until no child is left, then goes on.
    fn wait_all(&mut self, task: TaskId) -> Op {
        let p = &mut self.procs[task.idx()];
        p.children -= std::mem::take(&mut p.zombies);
        if p.children > 0 {
            return Op::Wait;
        }
        self.run(task, us::SHELL_STEP)
    }

    fn shell(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, job: Job) -> Op {
        match job {
            Job::Object { object, line } => match RECIPE[line] {
                Line::Compile => {
                    self.commands(cx, task, &[Role::Gcc(object), Role::Fixdep, Role::Rm])
                }
                Line::CheckExports => self.commands(cx, task, &[Role::CheckExports]),
                Line::Versions => self.pipeline(cx, task, Role::Grep),
                Line::Nothing => self.run_and_exit(task, self.ns(us::SHELL)),
            },
            Job::Archive(dir) => self.commands(cx, task, &[Role::Ar(dir)]),
            Job::Directory(_) => self.exit_now(cx, task),
        }
    }

    /// A shell that runs these, one after the other.
    fn commands(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, commands: &[Role]) -> Op {
        let at = self.procs[task.idx()].at;
        if at == 2 {
            return self.run(task, us::SHELL);
        }
        match commands.get((at as usize - 3) / 2) {
            Some(command) if at % 2 == 1 => self.fork_next(cx, task, *command),
            Some(_) => self.wait_all(task),
            None => self.exit_now(cx, task),
        }
    }

    /// A shell that runs `nm | reader`. (A real one forks nm first.)
    fn pipeline(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, reader: Role) -> Op {
        match self.procs[task.idx()].at {
            2 => self.run(task, us::SHELL),
            3 => {
                self.advance(task);
                let (child, op) = self.fork(cx, task, reader);
                self.procs[task.idx()].reader = child;
                op
            }
            4 => {
                let reader = self.procs[task.idx()].reader;
                self.fork_next(cx, task, Role::Nm(reader))
            }
            5 => self.wait_all(task),
            _ => self.exit_now(cx, task),
        }
    }

    /// Lists an object's symbols; what it writes fits into the pipe.
    fn nm(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, reader: TaskId) -> Op {
        match self.procs[task.idx()].at {
            2 => self.run(task, us::NM),
            3 => {
                self.advance(task);
                let reads = &mut self.procs[reader.idx()];
                reads.input = true;
                match std::mem::take(&mut reads.on_pipe) {
                    true => Op::Wake { task: reader, sync: true },
                    false => self.exit_now(cx, task),
                }
            }
            _ => self.exit_now(cx, task),
        }
    }

    /// Reads what comes out of its pipe, and works on it.
    fn read_pipe(&mut self, task: TaskId, us: u64) -> Op {
        let p = &mut self.procs[task.idx()];
        if !p.input {
            p.on_pipe = true;
            return Op::Wait;
        }
        self.run_and_exit(task, self.ns(us))
    }

    fn gcc(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, object: ObjectId) -> Op {
        match self.procs[task.idx()].at {
            2 => self.run(task, us::GCC),
            3 => self.fork_next(cx, task, Role::Cc1(object)),
            4 | 6 => self.wait_all(task),
            5 => self.fork_next(cx, task, Role::As(object)),
            _ => self.exit_now(cx, task),
        }
    }

    // --- make and the job server ---

    fn make(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32) -> Op {
        match self.procs[task.idx()].at {
            2 => {
                self.advance(task);
                let prepare = if dir == 0 { (self.config.prepare_s * 1e6) as u64 } else { 0 };
                Op::Run(self.ns(us::MAKE_PARSE + prepare))
            }
            3 => self.make_jobs(cx, task, dir),
            4 => {
                self.procs[task.idx()].at = 3;
                self.start_job(cx, task, dir)
            }
            5 if dir == 0 => {
                self.advance(task);
                Op::Run(self.ns((self.config.link_s * 1e6) as u64))
            }
            _ => self.exit_now(cx, task),
        }
    }

    /// The main loop of a make: reap, go on with a target, begin what tokens allow, wait.
    fn make_jobs(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32) -> Op {
        while let Some(job) = self.reap(task, dir) {
            if let Some(next) = job.next() {
                return self.prepare_job(task, dir, next, us::MAKE_PER_LINE);
            }
            if let Some(wake) = self.target_ended(task, dir, job) {
                return wake;
            }
        }
        let d = &self.plan.directories[dir as usize];
        let Make { started, running, .. } = self.makes[dir as usize];
        let targets = d.subdirs.len() as u32 + d.n_objects;
        // The archive needs all objects and subdirectories.
        let ready = started < targets || started == targets && running == 0;
        if ready && self.take_token(task, dir) {
            let job = self.begin_target(dir);
            return self.prepare_job(task, dir, job, us::MAKE_PER_TARGET);
        }
        // It was woken for a token that it does not need: the next one shall have it.
        if self.tokens > 0
            && let Some(wake) = self.wake_token_waiter()
        {
            return wake;
        }
        if started > targets && running == 0 {
            self.procs[task.idx()].at = 5;
            return self.make(cx, task, dir);
        }
        Op::Wait
    }

    /// `wait()` for one child of a make.
    fn reap(&mut self, task: TaskId, dir: u32) -> Option<Job> {
        let job = self.makes[dir as usize].ended.pop_front()?;
        let p = &mut self.procs[task.idx()];
        p.zombies -= 1;
        p.children -= 1;
        Some(job)
    }

    /// Make's own share of a job's work; then the job is started.
    fn prepare_job(&mut self, task: TaskId, dir: u32, job: Job, us: u64) -> Op {
        self.makes[dir as usize].next = Some(job);
        self.procs[task.idx()].at = 4;
        Op::Run(self.ns(us))
    }

    fn start_job(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32) -> Op {
        let role = match self.makes[dir as usize].next.take() {
            Some(Job::Directory(subdir)) => Role::Make(subdir),
            Some(job) => Role::Shell(job),
            None => return self.exit_now(cx, task),
        };
        self.fork(cx, task, role).1
    }

    fn begin_target(&mut self, dir: u32) -> Job {
        let make = &mut self.makes[dir as usize];
        let d = &self.plan.directories[dir as usize];
        let n = make.started;
        make.started += 1;
        let n_subdirs = d.subdirs.len() as u32;
        if n < n_subdirs {
            Job::Directory(d.subdirs[n as usize])
        } else if n < n_subdirs + d.n_objects {
            Job::Object { object: d.first_object + n - n_subdirs, line: 0 }
        } else {
            Job::Archive(dir)
        }
    }

    /// The first target of a make is built on the make's own slot, further ones need a token.
    fn take_token(&mut self, task: TaskId, dir: u32) -> bool {
        self.want_no_token(task, dir);
        let make = &mut self.makes[dir as usize];
        if make.running > make.tokens {
            // The own slot is in use.
            if self.tokens == 0 {
                make.waits_for_token = true;
                self.token_waiters.push_back(task);
                return false;
            }
            self.tokens -= 1;
            make.tokens += 1;
        }
        make.running += 1;
        true
    }

    /// A target of this make is built: a token it took goes back, and wakes one who waits for it.
    fn target_ended(&mut self, task: TaskId, dir: u32, job: Job) -> Option<Op> {
        self.objects_done += u32::from(matches!(job, Job::Object { .. }));
        let make = &mut self.makes[dir as usize];
        make.running -= 1;
        if make.tokens == 0 {
            return None;
        }
        make.tokens -= 1;
        self.tokens += 1;
        self.want_no_token(task, dir);
        self.wake_token_waiter()
    }

    fn want_no_token(&mut self, task: TaskId, dir: u32) {
        if std::mem::take(&mut self.makes[dir as usize].waits_for_token) {
            self.token_waiters.retain(|w| *w != task);
        }
    }

    /// The wake-up is exclusive: each token in the pipe wakes another reader.
    fn wake_token_waiter(&mut self) -> Option<Op> {
        let waiter = self.token_waiters.pop_front()?;
        if let Role::Make(dir) = self.procs[waiter.idx()].role {
            self.makes[dir as usize].waits_for_token = false;
        }
        Some(Op::Wake { task: waiter, sync: true })
    }
}
