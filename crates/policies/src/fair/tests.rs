//! The whole class under the engine: random programs on small machines, with features on and off.

use super::Fair;
use super::features::{Features, Tunables};
use super::testing::RYZEN;
use sim_core::{Config, NoObserver, Ns, Simulation, TaskAttr, TaskId, World};
use std::sync::Arc;
use test_support::{Shape, Storm};

const END: Ns = 1_000_000_000;

/// What a run leaves behind: switches, wake-ups, migrations, runtime of all tasks.
fn run(shape: Shape, features: Features, n_tasks: u32, every_tick: bool) -> (u64, u64, u64, Ns) {
    let config = Config { simulate_every_tick: every_tick, ..Config::default() };
    let w = World::new(Arc::new(Shape { hz: 1000, ..shape }.machine()), config);
    let n_cpus = w.cpus.len() as u64;
    let fair = Fair::new(features, Tunables::for_cpus(w.cpus.len()));
    let storm = Storm::new(n_tasks, 1);
    let mut sim = Simulation::new(w, fair, storm, NoObserver);
    sim.run_until(END);
    let (f, w) = (&sim.policy, &sim.w);
    for (cpu, rq) in f.rqs.iter().enumerate() {
        let on = |p: &usize| {
            f.tasks[TaskId(*p as u32)].on_rq && w.tasks[TaskId(*p as u32)].cpu.idx() == cpu
        };
        let weight: u64 = (0..f.tasks.len())
            .filter(on)
            .map(|p| u64::from(f.tasks[TaskId(p as u32)].weight))
            .sum();
        assert_eq!(rq.load_weight, weight, "CPU {cpu}");
    }
    let ran: Ns = f.tasks.iter().map(|t| t.sum_exec_runtime).sum();
    assert!(ran <= n_cpus * END, "{ran}");
    let c = &w.counters;
    (c.switches, c.wakeups, c.migrations.iter().sum(), ran)
}

fn feature_sets() -> [Features; 4] {
    let all = Features::default();
    [
        all,
        Features { swqueue: true, sis_node: true, ..all },
        Features { sis_prop: true, next_buddy: true, ttwu_queue: false, ..all },
        Features { util_est: false, base_slice: false, wa_bias: false, ..all },
    ]
}

#[test]
fn a_storm_of_tasks_leaves_the_books_in_order() {
    let quad = Shape::new(4, 2, 2);
    let two_nodes = Shape { sockets: 2, llcs: 2, ..quad };
    let lone = Shape::new(1, 1, 1);
    for features in feature_sets() {
        for (shape, n_tasks) in [(RYZEN, 40), (quad, 40), (two_nodes, 100), (lone, 5)] {
            let (switches, wakeups, ..) = run(shape, features, n_tasks, false);
            assert!(switches > 100 && wakeups > 100, "{switches} {wakeups}");
        }
    }
}

#[test]
fn computed_ticks_equal_simulated_ones() {
    for features in feature_sets() {
        assert_eq!(run(RYZEN, features, 70, false), run(RYZEN, features, 70, true));
    }
}

#[test]
fn tasks_may_be_forked_in_another_order_than_they_were_made() {
    let mut rig = super::testing::Rig::new(RYZEN, 1000);
    let [first, second] = [(); 2].map(|()| rig.w.new_task(TaskAttr::default()));
    for p in [second, first] {
        sim_core::Policy::task_fork(&mut rig.f, &mut rig.w, p, None);
    }
    assert_eq!(rig.vruntime(first), rig.vruntime(second));
}
