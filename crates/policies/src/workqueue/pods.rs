//! Pods: the parts that a scope cuts the machine into.

use super::Scope;
use topology::{CpuId, CpuSet, IdVec, Machine, PerCpu};

/// A partition of the CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pods {
    /// The CPUs of each pod; pods are numbered by their first CPU.
    pub cpus: Vec<CpuSet>,
    /// By CPU: its pod.
    pub of: PerCpu<u32>,
}

impl Pods {
    /// The pods of a scope.
    pub fn new(machine: &Machine, scope: Scope) -> Self {
        let n = machine.n_cpus();
        let key: Vec<(u32, u32)> = match scope {
            Scope::Cpu => (0..n as u32).map(|c| (c, 0)).collect(),
            Scope::Smt => machine.cpus.iter().map(|p| (p.core, 0)).collect(),
            // `cpus_share_cache()`, so that pods and scheduling domains agree.
            Scope::Cache => machine.domains.llc_id.iter().map(|id| (id.0, 0)).collect(),
            Scope::CacheShard(cores) => shards(machine, cores.max(1)),
            Scope::Numa => machine.cpus.iter().map(|p| (p.node, 0)).collect(),
            Scope::System => vec![(0, 0); n],
        };
        let mut known: Vec<(u32, u32)> = Vec::new();
        let mut pods = Self { cpus: Vec::new(), of: IdVec::new() };
        for (cpu, key) in key.iter().enumerate() {
            let pod = known.iter().position(|k| k == key).unwrap_or_else(|| {
                known.push(*key);
                pods.cpus.push(CpuSet::empty(n));
                known.len() - 1
            });
            pods.cpus[pod].insert(CpuId(cpu as u32));
            pods.of.push(pod as u32);
        }
        pods
    }

    /// The pod of a CPU.
    pub fn pod_of(&self, cpu: CpuId) -> &CpuSet {
        &self.cpus[self.of[cpu] as usize]
    }
}

/// (LLC, shard) of each CPU: as few shards as hold at most `size` cores each, of sizes that differ
/// by one at most, the larger ones first.
fn shards(machine: &Machine, size: u32) -> Vec<(u32, u32)> {
    let n = machine.n_cpus();
    let mut shard = vec![(0, 0); n];
    for llc in 0..machine.llcs.len() as u32 {
        let mut cores: Vec<u32> = Vec::new();
        for place in machine.cpus.iter().filter(|p| p.llc == llc) {
            if !cores.contains(&place.core) {
                cores.push(place.core);
            }
        }
        let n_cores = cores.len() as u32;
        let n_shards = n_cores.div_ceil(size).max(1);
        let (least, larger) = (n_cores / n_shards, n_cores % n_shards);
        let shard_of = |at: u32| match at / (least + 1) {
            early if early < larger => early,
            _ => larger + (at - larger * (least + 1)) / least,
        };
        for (cpu, place) in machine.cpus.iter().enumerate().filter(|(_, p)| p.llc == llc) {
            let at = cores.iter().position(|c| *c == place.core).unwrap_or(0) as u32;
            shard[cpu] = (llc, shard_of(at));
        }
    }
    shard
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::RegularSpec;

    fn ryzen_3900x() -> Machine {
        let spec = RegularSpec { llcs_per_socket: 4, cores_per_llc: 3, ..RegularSpec::default() };
        Machine::regular(spec)
    }

    fn sizes(scope: Scope) -> Vec<usize> {
        Pods::new(&ryzen_3900x(), scope).cpus.iter().map(CpuSet::len).collect()
    }

    #[test]
    fn each_scope_cuts_the_3900x_as_it_should() {
        assert_eq!(sizes(Scope::Cpu), [1; 24]);
        assert_eq!(sizes(Scope::Smt), [2; 12]);
        assert_eq!(sizes(Scope::Cache), [6; 4]);
        assert_eq!(sizes(Scope::CacheShard(2)), [4, 2, 4, 2, 4, 2, 4, 2]);
        assert_eq!(sizes(Scope::CacheShard(8)), [6; 4]);
        assert_eq!(sizes(Scope::Numa), [24]);
        assert_eq!(sizes(Scope::System), [24]);
    }

    #[test]
    fn a_pod_holds_siblings_together() {
        let pods = Pods::new(&ryzen_3900x(), Scope::Cache);
        let pod: Vec<u32> = pods.pod_of(CpuId(3)).iter().map(|c| c.0).collect();
        assert_eq!(pod, [3, 4, 5, 15, 16, 17]);
    }

    #[test]
    fn shards_of_a_large_cache_are_even() {
        let spec = RegularSpec { cores_per_llc: 26, ..RegularSpec::default() };
        let pods = Pods::new(&Machine::regular(spec), Scope::CacheShard(8));
        let sizes: Vec<_> = pods.cpus.iter().map(CpuSet::len).collect();
        assert_eq!(sizes, [14, 14, 12, 12]);
    }
}
