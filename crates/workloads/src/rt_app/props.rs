//! What the scheduler is told of a thread: policy, nice level, slice and CPUs, by phase.

use super::thread::Micro;
use super::{Attrs, RtApp, TaskSpec};
use sim_core::{MaskId, Op, ProgramCx, SchedAttr, TaskId};

/// Properties of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Props {
    pub sched: SchedAttr,
    pub allowed: MaskId,
}

impl Props {
    /// What a thread inherits from the main thread.
    pub const INHERITED: Props = Props {
        sched: SchedAttr { policy: sim_core::SchedPolicy::Normal, nice: 0, slice_ns: 0 },
        allowed: MaskId::ALL,
    };

    /// These properties with the changes of `attrs`.
    fn with(self, cx: &mut ProgramCx<'_>, attrs: &Attrs) -> Props {
        let SchedAttr { policy, nice, slice_ns } = self.sched;
        Props {
            sched: SchedAttr {
                policy: attrs.policy.unwrap_or(policy),
                nice: attrs.nice.unwrap_or(nice),
                slice_ns: attrs.slice_ns.unwrap_or(slice_ns),
            },
            allowed: attrs.cpus.as_ref().map_or(self.allowed, |cpus| cx.mask(cpus.clone())),
        }
    }
}

/// The properties of a thread in each of its phases.
pub(super) fn of_task(cx: &mut ProgramCx<'_>, task: &TaskSpec) -> Vec<Props> {
    let own = Props::INHERITED.with(cx, &task.attrs);
    task.phases.iter().map(|phase| own.with(cx, &phase.attrs)).collect()
}

impl RtApp {
    /// A new thread takes its policy and nice level before it meets the others. The CPUs that it is
    /// kept to come with its first phase only, after its delay: until then it is placed like any
    /// other (rt-app 1.0, `thread_body()`).
    pub(super) fn set_sched(&mut self, me: TaskId, kind: usize) {
        let wanted = self.props[kind][0].sched;
        let thread = self.thread(me);
        if std::mem::replace(&mut thread.props.sched, wanted) != wanted {
            thread.first([Micro::Do(Op::SetScheduler { task: me, attr: wanted })]);
        }
    }

    /// A phase begins: sets the properties that differ in it. False if none does.
    pub(super) fn change_props(&mut self, me: TaskId, kind: usize, phase: usize) -> bool {
        let wanted = self.props[kind][phase];
        let thread = self.thread(me);
        let has = std::mem::replace(&mut thread.props, wanted);
        if has.allowed != wanted.allowed {
            let op = Op::SetAffinity { task: me, allowed: wanted.allowed };
            thread.first([Micro::Do(op)]);
        }
        if has.sched != wanted.sched {
            thread.first([Micro::Do(Op::SetScheduler { task: me, attr: wanted.sched })]);
        }
        has != wanted
    }
}
