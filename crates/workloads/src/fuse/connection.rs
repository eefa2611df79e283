//! A FUSE connection and its daemon: requests that wait, threads that wait for them.
//!
//! ```text
//! program: queue --- wakes the thread that has waited longest ---> daemon: take, serve, reply
//!          sleep <-- wakes it, not SYNC ------------------------------------------------'
//! ```
//!
//! The kernel's part is `fuse_dev_do_read()` of Linux 5.8: threads wait exclusively, first in first
//! out, so they take turns. The daemon's part is libfuse's loop. It begins with one thread. When
//! the last free thread takes a request, it starts another one; when more than ten are free, one
//! exits. Left out: interrupts of requests, and the limit of requests in the background.

use sim_core::{Op, PerTask, ProgramCx, TaskAttr, TaskId};
use std::collections::VecDeque;

/// Free threads that libfuse keeps at most (`max_idle_threads`).
const IDLE_MAX: u32 = 10;
/// What a thread of the daemon touches again and again, KiB: unverified.
const WORKING_SET_KIB: u32 = 256;
/// The daemon's address space; programs of these workloads have lower numbers.
const MM: u32 = u32::MAX - 1;

/// Where a thread of the daemon stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DaemonStep {
    /// Looks for a request.
    Receive,
    /// Has started another thread, and serves what it has taken.
    Forked,
    /// Serves it.
    Serve,
    /// Has written its reply.
    Replied,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    at: DaemonStep,
    request: u32,
}

/// What a thread of the daemon does next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Turn {
    /// This, of its own loop.
    Op(Op),
    /// The next step of the request that it serves.
    Serve(u32),
}

/// A connection.
pub(crate) struct Connection {
    comm: u16,
    threads_max: u32,
    /// Requests that no thread has taken.
    pending: VecDeque<u32>,
    /// Threads that sleep, the one that has slept longest first.
    idle: VecDeque<TaskId>,
    /// By task; `None` for tasks that are not the daemon's.
    threads: PerTask<Option<Thread>>,
    n_threads: u32,
    /// Threads that serve nothing.
    n_free: u32,
}

impl Connection {
    /// A connection whose daemon has so many threads at most.
    pub fn new(threads_max: u32) -> Self {
        Self {
            comm: 0,
            threads_max,
            pending: VecDeque::new(),
            idle: VecDeque::new(),
            threads: PerTask::new(),
            n_threads: 0,
            n_free: 0,
        }
    }

    /// The daemon's first thread.
    pub fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.comm = cx.comm("passthrough_hp");
        let task = cx.start_task(self.attr());
        self.add(task);
    }

    fn attr(&self) -> TaskAttr {
        TaskAttr {
            comm: self.comm,
            mm: MM,
            working_set_kib: WORKING_SET_KIB,
            ..TaskAttr::default()
        }
    }

    fn add(&mut self, task: TaskId) {
        self.threads.cover(task, || None);
        self.threads[task] = Some(Thread { at: DaemonStep::Receive, request: 0 });
        self.n_threads += 1;
        self.n_free += 1;
    }

    /// True for a thread of the daemon.
    pub fn is_daemon(&self, task: TaskId) -> bool {
        self.threads.at(task).is_some_and(Option::is_some)
    }

    /// Threads of the daemon.
    pub fn n_threads(&self) -> u32 {
        self.n_threads
    }

    /// A program puts a request into the queue. Returns the thread to be woken, if one sleeps.
    pub fn queue(&mut self, request: u32) -> Option<TaskId> {
        self.pending.push_back(request);
        self.idle.pop_front()
    }

    /// What a thread does next.
    pub fn turn(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Turn {
        let Some(thread) = self.threads[task] else {
            return Turn::Op(Op::Exit);
        };
        match thread.at {
            DaemonStep::Receive => self.receive(cx, task),
            DaemonStep::Forked | DaemonStep::Serve => {
                self.set(task, DaemonStep::Serve, thread.request);
                Turn::Serve(thread.request)
            }
            DaemonStep::Replied => {
                self.n_free += 1;
                if self.n_free > IDLE_MAX && self.n_threads > 1 {
                    self.n_free -= 1;
                    self.n_threads -= 1;
                    self.threads[task] = None;
                    return Turn::Op(Op::Exit);
                }
                self.set(task, DaemonStep::Receive, 0);
                self.receive(cx, task)
            }
        }
    }

    /// The request of this thread is served. Its last step for it wakes the program.
    pub fn replied(&mut self, task: TaskId) {
        self.set(task, DaemonStep::Replied, 0);
    }

    fn set(&mut self, task: TaskId, at: DaemonStep, request: u32) {
        self.threads[task] = Some(Thread { at, request });
    }

    fn receive(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Turn {
        let Some(request) = self.pending.pop_front() else {
            // A thread that was not asleep may have taken the request that this one was woken for.
            // Its place in the queue is gone then: it waits at the end.
            if !self.idle.contains(&task) {
                self.idle.push_back(task);
            }
            return Turn::Op(Op::Wait);
        };
        self.n_free -= 1;
        if self.n_free == 0 && self.n_threads < self.threads_max {
            self.set(task, DaemonStep::Forked, request);
            let another = cx.new_task(self.attr());
            self.add(another);
            return Turn::Op(Op::Fork(another));
        }
        self.set(task, DaemonStep::Serve, request);
        Turn::Serve(request)
    }
}
