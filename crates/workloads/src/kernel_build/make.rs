//! make and its job server.
//!
//! GNU make 4.3 that wants to begin a target but finds no token waits in `pselect()` for the pipe
//! and for its children. So a token that comes back wakes every make that waits, the last that
//! began to wait first; one of them gets it.

use super::process::Role;
use super::{KernelBuild, us};
use sim_core::{Op, ProgramCx, Step, TaskId};
use std::collections::VecDeque;

/// Where a make stands with the pipe of tokens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum TokenWait {
    #[default]
    No,
    /// It is among those that wait for a token.
    Waits,
    /// There was one, and it goes and looks.
    Looks,
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
    pub token: TokenWait,
    /// What the child that it forks next is to do.
    next: Option<Role>,
    /// What children that have exited, and were not waited for yet, have done.
    pub ended: VecDeque<Role>,
    /// Whom the token that it has given back still has to wake.
    wakes: Vec<TaskId>,
}

impl KernelBuild {
    pub(super) fn make(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, dir: u32, at: u32) -> Op {
        match at {
            0 => {
                let prepare = if dir == 0 { (self.config.prepare_s * 1e6) as u64 } else { 0 };
                self.run(task, us::MAKE_PARSE + prepare)
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
            TokenWait::Waits => self.token_waiters.retain(|w| *w != task),
            TokenWait::Looks => return Op::Run(self.ns(us::TOKEN)),
        }
        while let Some(ended) = self.reap(task, dir) {
            if let Some(next) = ended.next_line() {
                return self.prepare(dir, next, us::MAKE_PER_LINE);
            }
            if self.target_ended(dir, ended) {
                return Op::Path;
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
            self.advance(task);
            return self.step(cx, task);
        }
        Op::Wait
    }

    /// `wait()` for one child of a make.
    fn reap(&mut self, task: TaskId, dir: u32) -> Option<Role> {
        let ended = self.makes[dir as usize].ended.pop_front()?;
        self.procs[task.idx()].reap_one();
        Some(ended)
    }

    /// Make's own share of a child's work; then the child is started.
    fn prepare(&mut self, dir: u32, child: Role, us: u64) -> Op {
        self.makes[dir as usize].next = Some(child);
        Op::Run(self.ns(us))
    }

    /// Begins the next target, or waits for a token. Who was woken for one has looked in vain if
    /// another was faster.
    fn begin_if_token(&mut self, task: TaskId, dir: u32) -> Op {
        if self.take_token(task, dir) {
            let child = self.begin_target(dir);
            return self.prepare(dir, child, us::MAKE_PER_TARGET);
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
                make.token = TokenWait::Waits;
                self.token_waiters.push(task);
                return false;
            }
            self.tokens -= 1;
            make.tokens += 1;
        }
        make.running += 1;
        true
    }

    /// A target of this make is built: a token that it took goes back. Is there someone to wake?
    fn target_ended(&mut self, dir: u32, ended: Role) -> bool {
        self.objects_done += u32::from(matches!(ended, Role::Line { .. }));
        let make = &mut self.makes[dir as usize];
        make.running -= 1;
        if make.tokens == 0 {
            return false;
        }
        make.tokens -= 1;
        self.tokens += 1;
        for waiter in &self.token_waiters {
            if let Role::Make(dir) = self.procs[waiter.idx()].role {
                self.makes[dir as usize].token = TokenWait::Looks;
            }
        }
        let make = &mut self.makes[dir as usize];
        debug_assert!(make.wakes.is_empty());
        std::mem::swap(&mut make.wakes, &mut self.token_waiters);
        !make.wakes.is_empty()
    }

    /// The end of `write()` into the pipe.
    pub(super) fn wake_readers(&mut self, dir: u32) -> Step {
        match self.makes[dir as usize].wakes.pop() {
            Some(task) => Step::Wake { task, sync: true },
            None => Step::Done,
        }
    }
}
