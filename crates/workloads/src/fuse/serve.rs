//! What a thread of the daemon does for a request: the lower file's side of it.

use super::{Fuse, Kind};
use sim_core::{Ns, Op, ProgramCx, TaskId};

/// How far a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestStep {
    /// A thread reads it from the device.
    Take,
    /// It is read, and the lower file is looked at.
    Lower,
    /// Room is made for this window of the lower file, and it is asked for.
    Ask(u64),
    /// The lower file has taken what is written.
    Written,
    /// Looks whether it may go on after a pause.
    Paused,
    /// The reply is written, and the program that waits for it is woken.
    Reply,
}

impl Fuse {
    /// The next step of a thread that serves a request.
    pub(super) fn serve(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, request: u32) -> Op {
        let super::Request { job, kind, at } = self.requests[request as usize];
        match at {
            RequestStep::Take => {
                let ns = self.costs.take(kind, self.kib_of(kind));
                self.work(request, RequestStep::Lower, ns)
            }
            RequestStep::Lower => match kind {
                Kind::Read { window } => self.read_lower(cx, task, request, window),
                Kind::Write => self.work(request, RequestStep::Written, 0),
                Kind::GetXattr => self.reply(request, kind),
            },
            RequestStep::Ask(window) => {
                self.lower.read(cx, job, window, self.window_kib());
                self.requests[request as usize].at = RequestStep::Lower;
                self.serve(cx, task, request)
            }
            RequestStep::Written => {
                self.requests[request as usize].at = RequestStep::Paused;
                match self.lower.write(self.config.block_kib) {
                    Some(op) => op,
                    None => self.serve(cx, task, request),
                }
            }
            RequestStep::Paused => match self.lower.pause() {
                Some(op) => op,
                None => self.reply(request, kind),
            },
            RequestStep::Reply => self.answer(task, request),
        }
    }

    fn work(&mut self, request: u32, then: RequestStep, ns: Ns) -> Op {
        let served = &mut self.requests[request as usize];
        served.at = then;
        let jitter = &mut self.daemon_jitter;
        Op::Kernel(self.spread.draw(jitter, ns))
    }

    fn reply(&mut self, request: u32, kind: Kind) -> Op {
        let ns = self.costs.reply(kind, self.kib_of(kind));
        self.work(request, RequestStep::Reply, ns)
    }

    fn read_lower(
        &mut self,
        cx: &mut ProgramCx<'_>,
        task: TaskId,
        request: u32,
        window: u64,
    ) -> Op {
        let job = self.requests[request as usize].job as usize;
        if let Some(asked) = self.lower.files[job].ask(window) {
            let ns = self.costs.submit(self.window_kib());
            return self.work(request, RequestStep::Ask(asked), ns);
        }
        let there = self.lower.files[job].is_there(window, task);
        // The daemon's thread waits for the SSD in place of the program.
        cx.set_io_wait(task, !there);
        if !there {
            return Op::Wait;
        }
        self.lower.files[job].forget(window);
        self.reply(request, Kind::Read { window })
    }

    /// The end of the write of a reply.
    fn answer(&mut self, task: TaskId, request: u32) -> Op {
        let super::Request { job, kind, .. } = self.requests[request as usize];
        self.free.push(request);
        self.connection.replied(task);
        let woken = match kind {
            Kind::Read { window } => self.upper[job as usize].come(window),
            _ => {
                let job = &mut self.jobs[job as usize];
                job.answered = true;
                Some(job.task)
            }
        };
        match woken {
            Some(task) => Op::Wake { task, sync: false },
            None => Op::Kernel(0),
        }
    }
}
