//! Calls before the start: `start.c` hears of the machine in no other way.

use super::{end, machines, object};
use policies::ext::Rules;
use policies::ext::bpf::{Arg, Object, Refused, Scheduler, Settings, Start};
use topology::{CpuId, Machine};
use workloads::micro::Short;

fn tell(args: &[(&str, Arg)]) -> Start {
    let args = args.iter().map(|(name, arg)| (name.to_string(), *arg)).collect();
    Start { call: "tell".to_string(), args }
}

fn places() -> Start {
    let args =
        [("cpu", Arg::Cpu), ("sibling", Arg::Sibling), ("llc", Arg::Llc), ("node", Arg::Node)];
    tell(&args)
}

fn mode() -> Start {
    let args = [("number", 5), ("part[1].on", 1), ("part[1].level", -3)];
    let args = args.map(|(name, n)| (name.to_string(), Arg::Number(n))).to_vec();
    Start { call: "set_mode".to_string(), args }
}

/// The object with the sums that it is to be told on this machine, written out by CPU.
fn told(machine: &Machine) -> Object {
    let (mut siblings, mut llcs) = (0, 0);
    for cpu in 0..machine.n_cpus() as u64 {
        let own = &machine.cpus[CpuId(cpu as u32)];
        let mut others = machine.cores[own.core as usize].iter().map(|c| u64::from(c.0));
        let sibling = others.find(|other| *other != cpu);
        siblings += sibling.map_or(0, |other| other + 1) * (cpu + 1);
        llcs += u64::from(own.llc) * (cpu + 1) + u64::from(own.node);
    }
    assert!(siblings > 0);
    let mut object = object("start");
    object.set_int("siblings", siblings).unwrap();
    object.set_int("llcs", llcs).unwrap();
    object
}

fn load(object: &Object, machine: &Machine, start: &[Start]) -> Result<Scheduler, Refused> {
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules: Rules::V6_12, n_cpus, ps_per_insn: 0, flags: 0 };
    Scheduler::load(object, settings, start)
}

fn run(machine: &Machine, start: &[Start]) -> String {
    let scheduler = load(&told(machine), machine, start).unwrap();
    end(&scheduler, machine, Short::new(4, 300_000, 100_000, 20, 1))
}

#[test]
fn the_scheduler_is_told_of_each_cpu_before_it_starts() {
    for machine in machines() {
        assert_eq!(run(&machine, &[places(), mode()]), "Done");
        assert_eq!(run(&machine, &[mode(), places()]), "Done");
    }
}

#[test]
fn what_it_is_not_told_it_misses() {
    let machine = &machines()[1];
    let why = |start: &[Start]| run(machine, start);
    assert!(why(&[]).contains("scx_bpf_error: told 0 of the siblings"), "{}", why(&[]));
    assert!(why(&[places()]).contains("Init failed with error -1"), "{}", why(&[places()]));
    let twice = why(&[places(), places()]);
    assert!(twice.contains("tell failed with error -22"), "{twice}");
    let wrong = Start { args: Vec::new(), ..mode() };
    assert!(why(&[wrong]).contains("set_mode failed with error -7"));
}

#[test]
fn what_cannot_be_called_is_refused() {
    let machine = &machines()[0];
    let why = |start: Start| match load(&told(machine), machine, &[start]) {
        Err(refused) => refused.to_string(),
        Ok(_) => "nothing".to_string(),
    };
    let call = |name: &str| Start { call: name.to_string(), args: Vec::new() };
    assert_eq!(why(call("start_init")), "it has no program `start_init` in a section `syscall`");
    assert_eq!(why(call("tall")), "it has no program `tall` in a section `syscall`");
    assert_eq!(why(tell(&[("cpus", Arg::Cpu)])), "no variable `cpus` of `tell`");
    assert_eq!(why(tell(&[("cpu.x", Arg::Cpu)])), "no variable `cpu.x` of `tell`");
}
