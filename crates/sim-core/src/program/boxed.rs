//! A program behind a pointer is a program: the engine is then compiled once per policy, not once
//! per policy and kind of program.

use super::{Op, Program, ProgramCx};
use crate::{Calls, Ns, Stack, Step, TaskId};
use std::any::Any;
use topology::CpuId;

#[deny(clippy::missing_trait_methods, reason = "a forgotten method would take the default")]
impl Program for Box<dyn Program> {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        (**self).start(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        (**self).next(cx, task)
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        (**self).path(cx, task)
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        (**self).device(cx);
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        (**self).interrupt(cx)
    }

    fn tick(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        (**self).tick(cx, task);
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn progress(&self) -> f64 {
        (**self).progress()
    }

    fn is_under_way(&self) -> bool {
        (**self).is_under_way()
    }

    fn measurement_begins(&mut self) {
        (**self).measurement_begins();
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        (**self).results(elapsed_ns)
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        (**self).calls(task, op)
    }

    fn unwind(&self, cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        (**self).unwind(cpu, task, stack);
    }

    fn inspect(&self) -> Option<&dyn Any> {
        (**self).inspect()
    }

    fn waits_for(&self, task: TaskId) -> String {
        (**self).waits_for(task)
    }
}
