//! What scx_rusty's process tells its programs ten times a second: which LLCs have CPUs to spare.
//!
//! This is its tuner with the options that it has by default. Its load balancer, which moves tasks
//! between LLCs every two seconds, is not here: rusty runs as with `--no-load-balance`.

use super::{Again, Hands, UserHalf, UserHalfDef};
use sim_core::Ns;
use topology::{CpuId, CpuSet};

pub(super) const RUSTY: UserHalfDef = UserHalfDef {
    name: "scx-rusty",
    help: "scx_rusty's tuner; without its load balancer",
    programs: &[],
    make: || Box::new(Rusty::default()),
};

const PERIOD_NS: Ns = 100_000_000;
/// An LLC that is busier takes no tasks of others directly, of 100 % (`--direct-greedy-under`).
const DIRECT_UNDER_PCT: u64 = 90;
const SLICE_NS: Ns = 20_000_000;
/// The slice while all CPUs are busy.
const SLICE_FULL_NS: Ns = 1_000_000;

#[derive(Default)]
struct Rusty {
    since: Ns,
    /// By CPU: how long it had been idle then.
    idle: Vec<Ns>,
    generation: u64,
}

impl UserHalf for Rusty {
    fn start(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        self.look(hands);
        Ok(Some(PERIOD_NS))
    }

    fn step(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        let (before, since) = (std::mem::take(&mut self.idle), self.since);
        self.look(hands);
        let span = hands.now() - since;
        // Times begin anew where the measurement does.
        let idle = |cpu: CpuId| self.idle[cpu.idx()].saturating_sub(before[cpu.idx()]);
        let busy = |cpu: CpuId| span.saturating_sub(idle(cpu));
        let machine = hands.machine();
        let mut spare = CpuSet::empty(machine.n_cpus());
        let mut all = 0;
        for llc in &machine.llcs {
            let sum: Ns = llc.iter().map(busy).sum();
            all += sum;
            if sum * 100 < DIRECT_UNDER_PCT * span * llc.len() as u64 {
                spare.union_with(llc);
            }
        }
        let whole = CpuSet::full(machine.n_cpus());
        let is_full = u128::from(all) * 100_000 >= u128::from(span) * whole.len() as u128 * 99_999;
        self.generation += 1;
        hands.set_mask("tune_input.direct_greedy_cpumask", &spare)?;
        // Under 100 %, which is all (`--kick-greedy-under`).
        hands.set_mask("tune_input.kick_greedy_cpumask", &whole)?;
        hands.set("tune_input.slice_ns", if is_full { SLICE_FULL_NS } else { SLICE_NS })?;
        hands.set("tune_input.genn", self.generation)?;
        Ok(Some(PERIOD_NS))
    }
}

impl Rusty {
    fn look(&mut self, hands: &Hands<'_, '_>) {
        let cpus = (0..hands.machine().n_cpus() as u32).map(CpuId);
        (self.since, self.idle) = (hands.now(), cpus.map(|cpu| hands.idle_ns(cpu)).collect());
    }
}
