//! What the engine does with frames: it lays them on a CPU's stack, lets their steps pass and takes
//! them off.

use crate::category::Category;
use crate::cpu::{Base, Cpu};
use crate::frame::{Flow, Frame, Pc};
use crate::{NEVER, Ns, Observer, Policy, Program, Simulation, World};
use topology::CpuId;

impl Cpu {
    #[inline]
    pub(crate) fn top(&mut self) -> &mut Frame {
        debug_assert!(self.depth > 0);
        &mut self.top
    }
}

impl World {
    /// Lays a frame on the CPU's stack; what lies below is cut.
    ///
    /// Inlined so that the frame is written where it belongs: a frame made elsewhere, byte by byte,
    /// and copied in larger pieces makes the processor wait for its own writes.
    #[inline(always)]
    pub(crate) fn push_frame(&mut self, cpu: CpuId, frame: Frame) {
        let c = self.cover(cpu, frame.category);
        c.top = frame;
    }

    /// Accounts what the CPU is in the middle of, and puts it aside.
    fn cover(&mut self, cpu: CpuId, category: Category) -> &mut Cpu {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        if c.depth == 0 && c.base == Base::Work {
            self.advance(cpu, now);
        } else if c.category != category {
            c.settle(now);
        }
        let c = &mut self.cpus[cpu];
        // A covered frame keeps what is left of its step in place of the step's end.
        if c.depth > 0 {
            c.top.end = c.top.end.saturating_sub(now);
            c.below[c.depth as usize - 1] = c.top;
        }
        c.depth += 1;
        c.category = category;
        c
    }

    /// The path goes on at `pc`, at this instant.
    #[inline]
    pub(crate) fn goto(&mut self, cpu: CpuId, pc: Pc) -> Flow {
        self.cpus[cpu].top().pc = pc;
        Flow::Again
    }

    /// Lets `ns`, and what side effects have cost, pass before the path goes on at `pc`.
    #[inline]
    pub(crate) fn spend(&mut self, cpu: CpuId, ns: Ns, pc: Pc) -> Flow {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        let total = super::work::stretch(ns + c.carry, c.speed);
        c.carry = 0;
        let top = c.top();
        top.pc = pc;
        top.end = now + total;
        if total == 0 { Flow::Again } else { Flow::Wait }
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// Takes the top frame off; costs of its last side effects are spent first.
    pub(crate) fn pop_frame(&mut self, cpu: CpuId) -> Flow {
        let c = &mut self.w.cpus[cpu];
        // The costs of the path's last side effects (IPIs, lock lines) still have to pass.
        if c.carry > 0 {
            return self.w.spend(cpu, 0, Pc::Pop);
        }
        let now = self.w.now;
        c.depth -= 1;
        if c.depth > 0 {
            c.top = c.below[c.depth as usize - 1];
            if c.category != c.top.category {
                c.settle(now);
                c.category = c.top.category;
            }
            // The step that was cut ends later by the time of the frame above it.
            let left = c.top.end;
            if left > 0 && left != NEVER {
                c.top.end = now + left;
                return Flow::Wait;
            }
            return Flow::Again;
        }
        // A segment of work accounts for itself, from here on (`World::advance`).
        let category = c.base_category();
        if c.category != category || c.base == Base::Work {
            c.settle(now);
            c.category = category;
        }
        // A tick that came while interrupts were off is taken now.
        self.catch_up(cpu);
        Flow::Again
    }
}
