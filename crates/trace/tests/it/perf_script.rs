//! The text of `perf script`.

use crate::support::{Sums, Traced, machine, small_build, small_machine, trace, trace_ext};
use expect_test::expect;
use sim_core::{Op, Program, ProgramCx, SleepState, TaskAttr, TaskId};

/// A shell that starts a command, waits for it, and leaves.
#[derive(Default)]
struct Shell {
    at: [u32; 2],
}

impl Program for Shell {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("sh");
        cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let comm = cx.comm("sh");
        self.at[task.idx()] += 1;
        match (task.0, self.at[task.idx()]) {
            (0, 1) => Op::Run(30_000),
            (0, 2) => Op::Fork(cx.new_task(TaskAttr { comm, nice: 5, ..TaskAttr::default() })),
            (0, 3) => {
                cx.set_sleep_state(task, SleepState::Uninterruptible);
                Op::Wait
            }
            (1, 1) => Op::Exec,
            (1, 2) => {
                let comm = cx.comm("a long-winded command");
                cx.set_comm(task, comm);
                Op::Run(4_500_000)
            }
            (1, 3) => Op::Sleep(100_000),
            (1, 4) => Op::Wake { task: TaskId(0), sync: true },
            _ => Op::Exit,
        }
    }
}

#[test]
fn a_shell_and_its_child() {
    let traced = trace(small_machine(), Shell::default(), u64::MAX);
    // The bar keeps the margin.
    expect![[r#"
        |         swapper     0 [000]     1.000000000:   sched:sched_wakeup_new: comm=sh pid=1000 prio=120 target_cpu=000
        |         swapper     0 [000]     1.000001265:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sh next_pid=1000 next_prio=120
        |              sh  1000 [000]     1.000034887: sched:sched_process_fork: comm=sh pid=1000 child_comm=sh child_pid=1001
        |              sh  1000 [000]     1.000035659:   sched:sched_wakeup_new: comm=sh pid=1001 prio=125 target_cpu=001
        |              sh  1000 [000]     1.000035914: sched:sched_stat_runtime: comm=sh pid=1000 runtime=34649 [ns]
        |              sh  1000 [000]     1.000037051: sched:sched_migrate_task: comm=sh pid=1001 prio=125 orig_cpu=1 dest_cpu=0
        |              sh  1000 [000]     1.000037173:       sched:sched_switch: prev_comm=sh prev_pid=1000 prev_prio=120 prev_state=D ==> next_comm=sh next_pid=1001 next_prio=125
        | a long-winded c  1001 [000]     1.004000000: sched:sched_stat_runtime: comm=a long-winded c pid=1001 runtime=3962827 [ns]
        | a long-winded c  1001 [000]     1.004540560: sched:sched_stat_runtime: comm=a long-winded c pid=1001 runtime=540560 [ns]
        | a long-winded c  1001 [000]     1.004540645:       sched:sched_switch: prev_comm=a long-winded c prev_pid=1001 prev_prio=125 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
        |         swapper     0 [000]     1.004691530:       sched:sched_waking: comm=a long-winded c pid=1001 prio=125 target_cpu=000
        |         swapper     0 [000]     1.004691817:       sched:sched_wakeup: comm=a long-winded c pid=1001 prio=125 target_cpu=000
        |         swapper     0 [000]     1.004692432:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a long-winded c next_pid=1001 next_prio=125
        | a long-winded c  1001 [000]     1.004693104:       sched:sched_waking: comm=sh pid=1000 prio=120 target_cpu=000
        | a long-winded c  1001 [000]     1.004693145: sched:sched_migrate_task: comm=sh pid=1000 prio=120 orig_cpu=0 dest_cpu=1
        | a long-winded c  1001 [000]     1.004693450: sched:sched_stat_runtime: comm=a long-winded c pid=1001 runtime=1018 [ns]
        | a long-winded c  1001 [000]     1.004693510:       sched:sched_switch: prev_comm=a long-winded c prev_pid=1001 prev_prio=125 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
        |         swapper     0 [001]     1.004694657:       sched:sched_wakeup: comm=sh pid=1000 prio=120 target_cpu=001
        |         swapper     0 [001]     1.004694822:       sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sh next_pid=1000 next_prio=120
        |              sh  1000 [001]     1.004695699: sched:sched_stat_runtime: comm=sh pid=1000 runtime=877 [ns]
        |              sh  1000 [001]     1.004695759:       sched:sched_switch: prev_comm=sh prev_pid=1000 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
    "#]].assert_eq(&traced.text().lines().map(|l| format!("|{l}\n")).collect::<String>());
}

fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let rest = line.split_once(key).unwrap_or_else(|| panic!("no {key} in {line}")).1;
    rest.split(' ').next().unwrap()
}

fn sums(traced: &Traced) -> Sums {
    let mut sums = Sums::default();
    for line in traced.text().lines() {
        let (head, rest) = line.split_once(']').unwrap();
        let cpu: u32 = head.rsplit('[').next().unwrap().parse().unwrap();
        let (time, rest) = rest.trim_start().split_once(": ").unwrap();
        let now: u64 = time.replace('.', "").parse().unwrap();
        let number = |key| field(line, key).parse::<u64>().unwrap();
        sums.passes(now);
        match rest.trim_start().split(": ").next().unwrap() {
            "sched:sched_switch" => {
                sums.switch(cpu, now, number(" prev_pid=") as u32, number(" next_pid=") as u32);
            }
            "sched:sched_wakeup" => sums.wakeups += 1,
            "sched:sched_migrate_task" => sums.migrations += 1,
            "sched:sched_stat_runtime" => sums.charged += number(" runtime="),
            _ => {}
        }
    }
    sums
}

#[test]
fn the_sums_of_the_text_are_those_of_the_run() {
    let traced = trace(machine(), small_build(), u64::MAX);
    sums(&traced).must_be_those_of(&traced);
    // What lies between is newidle balance and the like, on the way from a sleeper to idle.
    let missing = traced.totals.run_time_ns - traced.totals.charged_ns;
    assert!(missing > 0 && missing < traced.totals.run_time_ns / 50, "{missing} ns");
}

#[test]
fn the_sums_of_the_text_are_those_of_a_run_under_sched_ext() {
    for traced in trace_ext() {
        sums(&traced).must_be_those_of(&traced);
    }
}
