//! What CFS keeps beside `state`: the order of each queue, and whose rules apply.

use super::queue::CfsQueue;
use crate::fair::state::{KernelRules, QueueKind, Rules};

/// CFS as a queueing discipline; with `GROUPS`, tasks may be in task groups (`queue::groups`).
#[derive(Clone, Debug)]
pub struct Cfs<const GROUPS: bool = false> {
    pub(crate) rules: Rules,
    /// What these rules say.
    pub(crate) kernel: &'static KernelRules,
}

/// The rules of v6.4.
impl<const GROUPS: bool> Default for Cfs<GROUPS> {
    fn default() -> Self {
        let rules = Rules::V6_4;
        Self { rules, kernel: rules.kernel() }
    }
}

impl<const GROUPS: bool> QueueKind for Cfs<GROUPS> {
    type Entity = ();
    type Queue = CfsQueue;
    const GROUPS: bool = GROUPS;

    #[inline]
    fn rules(&self) -> Rules {
        self.rules
    }

    #[inline]
    fn kernel(&self) -> &'static KernelRules {
        self.kernel
    }
}
