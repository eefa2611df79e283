//! The processes of a build, each a short script: what it does after its last operation.
//!
//! ```text
//! make -> sh -> gcc -> cc1 | as
//!         sh -> fixdep
//!         sh -> objtool            per object;   make -> sh -> ar   per directory
//! ```

use super::KernelBuild;
use super::plan::ObjectId;
use sim_core::{Op, ProgramCx, TaskId};

/// Times in us on the reference machine: general knowledge, unverified, never fitted.
mod us {
    pub const EXEC: u64 = 500;
    pub const EXIT: u64 = 200;
    pub const MAKE_PARSE: u64 = 20_000;
    pub const MAKE_PER_JOB: u64 = 1_000;
    pub const SHELL: u64 = 700;
    pub const GCC: u64 = 2_000;
    pub const AS_START: u64 = 1_000;
    pub const FIXDEP: u64 = 3_000;
    pub const OBJTOOL: u64 = 12_000;
    pub const AR: u64 = 3_000;
    pub const AR_PER_OBJECT: u64 = 100;
}

/// The assembler's share of an object's compile time is 1/20 (spec 14.3).
const AS_SHARE: u64 = 20;
/// The compiler parses for this share of its time (1/3), then it writes function by function.
const PARSE_SHARE: u64 = 3;
/// Pieces that fit into a pipe: 64 KiB.
const PIPE_PIECES: u32 = 16;

/// What a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Builds one directory.
    Make {
        dir: u32,
        /// Jobs started: first the subdirectories, then the objects, then the archive.
        started: u32,
        /// Jobs that run.
        running: u32,
        /// Tokens taken from the pipe (one job needs none).
        tokens: u32,
    },
    /// The recipe of an object, or of the archive of a directory.
    Shell {
        object: Option<ObjectId>,
        dir: u32,
    },
    Gcc {
        object: ObjectId,
    },
    Cc1 {
        object: ObjectId,
        assembler: TaskId,
    },
    As {
        object: ObjectId,
    },
    Fixdep,
    Objtool,
    Ar {
        dir: u32,
    },
}

impl Role {
    pub(super) fn make(dir: u32) -> Self {
        Role::Make { dir, started: 0, running: 0, tokens: 0 }
    }
}

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub parent: TaskId,
    pub role: Role,
    /// Where in its script it is.
    pub at: u32,
    /// Children that have exited and were not waited for yet.
    pub zombies: u32,
    /// Children that it still has.
    pub children: u32,
    /// Pieces in its input pipe.
    pub input: u32,
    /// It sleeps until its pipe has something to read, or room to write.
    pub on_pipe: bool,
    /// Pieces that it has still to write.
    pub to_write: u32,
    /// Pieces that it has read and not yet worked on.
    pub taken: u32,
    /// No more is written into its input pipe.
    pub end_of_input: bool,
    /// Who reads the pipe that its next child writes to.
    pub reader: TaskId,
    /// Who writes into its input pipe.
    pub writer: TaskId,
    pub comm: u16,
    pub mm: u32,
}

impl Process {
    pub(super) fn new(parent: TaskId, role: Role, comm: u16, mm: u32) -> Self {
        Self {
            parent,
            role,
            at: 0,
            zombies: 0,
            children: 0,
            input: 0,
            on_pipe: false,
            to_write: 0,
            taken: 0,
            end_of_input: false,
            reader: TaskId::NONE,
            writer: TaskId::NONE,
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
            Role::Make { .. } => self.make(cx, task),
            Role::Shell { object, dir } => self.shell(cx, task, object, dir),
            Role::Gcc { object } => self.gcc(cx, task, object),
            Role::Cc1 { object, assembler } => self.cc1(task, object, assembler),
            Role::As { object } => self.assemble(cx, task, object),
            Role::Fixdep => self.run_and_exit(task, self.ns(us::FIXDEP)),
            Role::Objtool => self.run_and_exit(task, self.ns(us::OBJTOOL)),
            Role::Ar { dir } => {
                let objects = u64::from(self.plan.directories[dir as usize].n_objects);
                self.run_and_exit(task, self.ns(us::AR + us::AR_PER_OBJECT * objects))
            }
        }
    }

    fn advance(&mut self, task: TaskId) {
        self.procs[task.idx()].at += 1;
    }

    fn run_and_exit(&mut self, task: TaskId, ns: u64) -> Op {
        self.procs[task.idx()].at = EXITING;
        Op::Run(ns)
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
                self.procs[parent.idx()].zombies += 1;
                Op::Wake { task: parent, sync: true }
            }
            _ => {
                self.finished |= parent == TaskId::NONE;
                Op::Exit
            }
        }
    }

    /// `wait()` for one child: true if one was there.
    fn reap(&mut self, task: TaskId) -> bool {
        let p = &mut self.procs[task.idx()];
        let there = p.zombies > 0;
        if there {
            p.zombies -= 1;
            p.children -= 1;
        }
        there
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

    /// Waits until no child is left, then runs for `ns` and goes on.
    fn wait_all_then_run(&mut self, task: TaskId, ns: u64) -> Op {
        while self.reap(task) {}
        if self.procs[task.idx()].children > 0 {
            return Op::Wait;
        }
        self.advance(task);
        Op::Run(ns)
    }

    fn shell(
        &mut self,
        cx: &mut ProgramCx<'_>,
        task: TaskId,
        object: Option<ObjectId>,
        dir: u32,
    ) -> Op {
        let glue = self.ns(us::SHELL);
        match (self.procs[task.idx()].at, object) {
            (2, _) => {
                self.advance(task);
                Op::Run(glue)
            }
            (3, Some(object)) => self.fork_next(cx, task, Role::Gcc { object }),
            (3, None) => self.fork_next(cx, task, Role::Ar { dir }),
            (5, Some(_)) => self.fork_next(cx, task, Role::Fixdep),
            (7, Some(_)) => self.fork_next(cx, task, Role::Objtool),
            (4 | 6 | 8, Some(_)) => self.wait_all_then_run(task, glue / 4),
            (4, None) => self.wait_all_then_run(task, glue / 4),
            _ => {
                self.objects_done += u32::from(object.is_some());
                self.procs[task.idx()].at = EXITING;
                self.exit(cx, task)
            }
        }
    }

    fn gcc(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, object: ObjectId) -> Op {
        match self.procs[task.idx()].at {
            2 => {
                self.advance(task);
                Op::Run(self.ns(us::GCC))
            }
            3 => {
                self.advance(task);
                let (child, op) = self.fork(cx, task, Role::As { object });
                self.procs[task.idx()].reader = child;
                op
            }
            4 => {
                let assembler = self.procs[task.idx()].reader;
                self.fork_next(cx, task, Role::Cc1 { object, assembler })
            }
            5 => self.wait_all_then_run(task, self.ns(us::GCC) / 4),
            _ => {
                self.procs[task.idx()].at = EXITING;
                self.exit(cx, task)
            }
        }
    }

    fn pieces(&self, object: ObjectId) -> u32 {
        self.plan.pieces[object as usize]
    }

    /// The compiler parses, then generates code and writes it, a piece at a time. It sleeps while
    /// the pipe is full.
    fn cc1(&mut self, task: TaskId, object: ObjectId, assembler: TaskId) -> Op {
        let total = self.compile_ns(object) / AS_SHARE * (AS_SHARE - 1);
        let parse = total / PARSE_SHARE;
        let pieces = self.pieces(object);
        match self.procs[task.idx()].at {
            2 => {
                let p = &mut self.procs[task.idx()];
                (p.at, p.to_write) = (3, pieces);
                self.procs[assembler.idx()].writer = task;
                Op::Run(parse)
            }
            3 => {
                self.procs[task.idx()].at = 4;
                Op::Run((total - parse) / u64::from(pieces))
            }
            _ => self.write_piece(task, assembler),
        }
    }

    fn write_piece(&mut self, task: TaskId, assembler: TaskId) -> Op {
        if self.procs[assembler.idx()].input == PIPE_PIECES {
            self.procs[task.idx()].on_pipe = true;
            return Op::Wait;
        }
        let p = &mut self.procs[task.idx()];
        p.to_write -= 1;
        let last = p.to_write == 0;
        p.at = if last { EXITING } else { 3 };
        let reader = &mut self.procs[assembler.idx()];
        reader.input += 1;
        reader.end_of_input = last;
        if std::mem::take(&mut reader.on_pipe) {
            return Op::Wake { task: assembler, sync: true };
        }
        // Nobody waits: the write has no other effect.
        Op::Kernel(0)
    }

    /// The assembler reads all that there is and works on it.
    fn assemble(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, object: ObjectId) -> Op {
        let piece = self.compile_ns(object) / AS_SHARE / u64::from(self.pieces(object));
        let p = &mut self.procs[task.idx()];
        if p.at == 2 {
            p.at = 3;
            return Op::Run(self.ns(us::AS_START));
        }
        if p.taken > 0 {
            return Op::Run(piece * u64::from(std::mem::take(&mut p.taken)));
        }
        if p.input == 0 {
            if p.end_of_input {
                p.at = EXITING;
                return self.exit(cx, task);
            }
            p.on_pipe = true;
            return Op::Wait;
        }
        p.taken = std::mem::take(&mut p.input);
        let writer = p.writer;
        if std::mem::take(&mut self.procs[writer.idx()].on_pipe) {
            return Op::Wake { task: writer, sync: true };
        }
        self.assemble(cx, task, object)
    }

    // --- make and the job server ---

    fn make(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let at = self.procs[task.idx()].at;
        let Role::Make { dir, .. } = self.procs[task.idx()].role else {
            return Op::Exit;
        };
        match at {
            2 => {
                self.advance(task);
                let prepare = if dir == 0 { (self.config.prepare_s * 1e6) as u64 } else { 0 };
                Op::Run(self.ns(us::MAKE_PARSE + prepare))
            }
            3 => self.make_jobs(cx, task),
            4 => {
                // The job's own share of make's work is done: start it.
                self.procs[task.idx()].at = 3;
                self.start_job(cx, task)
            }
            5 if dir == 0 => {
                self.advance(task);
                Op::Run(self.ns((self.config.link_s * 1e6) as u64))
            }
            _ => {
                self.procs[task.idx()].at = EXITING;
                self.exit(cx, task)
            }
        }
    }

    /// The main loop of a make: reap, start what tokens allow, wait.
    fn make_jobs(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        while self.reap(task) {
            if let Some(wake) = self.job_ended(task) {
                return wake;
            }
        }
        let Role::Make { dir, started, running, .. } = self.procs[task.idx()].role else {
            return Op::Exit;
        };
        let d = &self.plan.directories[dir as usize];
        let recipes = d.subdirs.len() as u32 + d.n_objects;
        if started > recipes && running == 0 {
            self.procs[task.idx()].at = 5;
            return self.make(cx, task);
        }
        // The archive needs all objects and subdirectories.
        let ready = started < recipes || started == recipes && running == 0;
        if ready && self.take_token(task) {
            self.procs[task.idx()].at = 4;
            return Op::Run(self.ns(us::MAKE_PER_JOB));
        }
        // It was woken for a token that it does not need: the next one shall have it.
        if self.tokens > 0
            && let Some(wake) = self.wake_token_waiter()
        {
            return wake;
        }
        Op::Wait
    }

    /// The first job of a make runs on the make's own slot, further ones need a token.
    fn take_token(&mut self, task: TaskId) -> bool {
        self.token_waiters.retain(|w| *w != task);
        let Role::Make { running, tokens, .. } = &mut self.procs[task.idx()].role else {
            return false;
        };
        if *running > *tokens {
            // The own slot is in use.
            if self.tokens == 0 {
                self.token_waiters.push_back(task);
                return false;
            }
            self.tokens -= 1;
            *tokens += 1;
        }
        *running += 1;
        true
    }

    /// A job of this make has ended: a token it took goes back, and wakes one who waits for it.
    fn job_ended(&mut self, task: TaskId) -> Option<Op> {
        let Role::Make { running, tokens, .. } = &mut self.procs[task.idx()].role else {
            return None;
        };
        *running -= 1;
        if *tokens == 0 {
            return None;
        }
        *tokens -= 1;
        self.tokens += 1;
        self.token_waiters.retain(|w| *w != task);
        self.wake_token_waiter()
    }

    /// The wake-up is exclusive: each token in the pipe wakes another reader.
    fn wake_token_waiter(&mut self) -> Option<Op> {
        let waiter = self.token_waiters.pop_front()?;
        Some(Op::Wake { task: waiter, sync: true })
    }

    fn start_job(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let Role::Make { dir, started, .. } = &mut self.procs[task.idx()].role else {
            return Op::Exit;
        };
        let d = &self.plan.directories[*dir as usize];
        let n_subdirs = d.subdirs.len() as u32;
        let role = if *started < n_subdirs {
            Role::make(d.subdirs[*started as usize])
        } else if *started < n_subdirs + d.n_objects {
            let object = Some(d.first_object + *started - n_subdirs);
            Role::Shell { object, dir: *dir }
        } else {
            Role::Shell { object: None, dir: *dir }
        };
        *started += 1;
        self.fork(cx, task, role).1
    }
}
