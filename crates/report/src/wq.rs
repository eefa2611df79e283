//! The workqueues of one run, in the shape of the kernel's wq_dump and wq_monitor scripts.

use anstyle::Style;
use scenario::Experiment;
use scenario::wq::{PoolRow, QueueRow, ScopePods, WqRun};

const BOLD: Style = Style::new().bold();

/// The workqueues of a run, and which run it was.
pub struct View<'a> {
    /// Short name of the scenario.
    pub experiment: &'a Experiment,
    /// Name of the variant.
    pub variant: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// The workqueues, and samples of their counters.
    pub run: &'a WqRun,
}

/// Pods of each scope, pools, the pool of each CPU, and the counters over time.
pub fn text(view: &View<'_>) -> String {
    let run = view.run;
    let machine = &view.experiment.machine;
    let mut text = format!(
        "{}\nmachine {}, variant {}, seed {}\n",
        view.experiment.title, machine.name, view.variant, view.seed
    );
    text += &title("Affinity Scopes");
    text += &format!(
        "wq_unbound_cpumask={}\n",
        mask(&(0..machine.n_cpus() as u32).collect::<Vec<_>>())
    );
    for scope in &run.scopes {
        text += &pods(scope);
    }
    text += &title("Worker Pools");
    text += &run.pools.iter().map(|p| pool(p, run)).collect::<String>();
    text += &title("Workqueue CPU -> pool");
    text += &by_cpu(run);
    text += &title("Counters");
    text += &counters(run);
    text
}

fn title(words: &str) -> String {
    format!("\n{BOLD}{words}{BOLD:#}\n{}\n", "=".repeat(words.len()))
}

/// A cpumask as the kernel prints it: words of 32 bits, the highest first.
fn mask(cpus: &[u32]) -> String {
    let n_words = cpus.iter().max().map_or(1, |max| max / 32 + 1);
    let word = |at: u32| {
        let its = cpus.iter().filter(|cpu| **cpu / 32 == at);
        its.fold(0u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let words: Vec<String> = (0..n_words).rev().map(|at| format!("{:08x}", word(at))).collect();
    words.join(",")
}

fn pods(scope: &ScopePods) -> String {
    let chosen = if scope.chosen { " (in use)" } else { "" };
    let list = |values: Vec<String>| {
        let numbered = values.iter().enumerate();
        numbered.map(|(i, value)| format!(" [{i}]={value}")).collect::<String>()
    };
    format!(
        "\n{}{chosen}\n  nr_pods  {}\n  pod_cpus{}\n  pod_node{}\n  cpu_pod {}\n",
        scope.name.to_uppercase(),
        scope.cpus.len(),
        list(scope.cpus.iter().map(|cpus| mask(cpus)).collect()),
        list(scope.nodes.iter().map(u32::to_string).collect()),
        list(scope.of.iter().map(u32::to_string).collect()),
    )
}

fn pool(p: &PoolRow, run: &WqRun) -> String {
    let digits = run.pools.iter().map(|p| p.id).max().unwrap_or(0).to_string().len().max(2);
    let place = match p.cpu {
        Some(cpu) => format!("cpu={cpu:>3}"),
        None => format!("cpus={}{}", mask(&p.cpus), if p.strict { " strict" } else { "" }),
    };
    format!(
        "pool[{:0digits$}] ref={:>3} nice={:>3} idle/workers={:>3}/{:>3} {place}\n",
        p.id, p.refs, p.nice, p.idle, p.workers
    )
}

/// CPUs in one line of the table of pools.
const CPUS_PER_LINE: usize = 24;

fn by_cpu(run: &WqRun) -> String {
    let n = run.by_cpu.first().map_or(0, |(_, _, pools)| pools.len());
    let mut text = String::new();
    for from in (0..n).step_by(CPUS_PER_LINE) {
        let to = (from + CPUS_PER_LINE).min(n);
        text += &format!("{:<24} {:<8}", "[workqueue", "type CPU");
        text += &(from..to).map(|cpu| format!(" {cpu:>3}")).collect::<String>();
        text += "]\n";
        for (name, unbound, pools) in &run.by_cpu {
            let kind = if *unbound { "unbound" } else { "percpu" };
            text += &format!("{name:<24} {kind:<8}");
            text += &pools[from..to].iter().map(|pool| format!(" {pool:>3}")).collect::<String>();
            text += "\n";
        }
    }
    text
}

fn counters(run: &WqRun) -> String {
    let mut text = String::new();
    for sample in &run.samples {
        text += &format!(
            "{:<24} {:>9} {:>5} {:>8} {:>7} {:>9} {:>8} {:>7} {:>7}\n",
            format!("{:.3} s", sample.at_ns as f64 * 1e-9),
            "total",
            "infl",
            "CPUtime",
            "CPUhog",
            "CPUlocal",
            "CMW/RPR",
            "mayday",
            "rescued"
        );
        text += &sample.queues.iter().map(row).collect::<String>();
        text += "\n";
    }
    text
}

fn row(q: &QueueRow) -> String {
    let dash = |shown: bool, n: u64| if shown { n.to_string() } else { "-".to_string() };
    format!(
        "{:<24} {:>9} {:>5} {:>8.1} {:>7} {:>9} {:>8} {:>7} {:>7}\n",
        q.name,
        q.total,
        q.in_flight,
        q.cpu_ns as f64 * 1e-9,
        dash(!q.unbound, q.cpu_hogs),
        dash(q.unbound, q.cpu_local),
        q.woken,
        dash(q.mem_reclaim, 0),
        dash(q.mem_reclaim, 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_does() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[3, 4, 5, 15, 16, 17]), "00038038");
        assert_eq!(mask(&(0..24).collect::<Vec<_>>()), "00ffffff");
        assert_eq!(mask(&[33, 0]), "00000002,00000001");
    }
}
