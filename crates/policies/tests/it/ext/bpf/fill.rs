//! Words of the machine in variables, and of the kernel's objects what `kin.c` looks at.

use super::{end, machines, object};
use policies::ext::Rules;
use policies::ext::bpf::{Fill, Object, Scheduler, Settings, Value, Word};
use test_support::small_build;
use topology::{CpuId, Machine};

fn word(path: &str, word: Word) -> Fill {
    Fill { path: path.to_string(), value: Value::Word(word) }
}

fn fills() -> Vec<Fill> {
    vec![
        word("n_llcs", Word::NLlcs),
        word("n_nodes", Word::NNodes),
        word("llc_of[cpu]", Word::Llc),
        word("sibling_of[cpu]", Word::Sibling),
        word("node_of_llc[llc]", Word::Node),
        word("cpus_of_llc[llc]", Word::Cpus),
        word("domains[llc].cpus", Word::Cpus),
        word("domains[llc].near", Word::NearLlcs),
        word("domains[llc].n_near", Word::NNearLlcs),
        Fill { path: "domains[llc].is_there".to_string(), value: Value::Number(1) },
    ]
}

/// The sums that come out on this machine, written out.
fn sums(machine: &Machine) -> Vec<i64> {
    let mut sums = vec![0; 4];
    for cpu in 0..machine.n_cpus() as u32 {
        let own = &machine.cpus[CpuId(cpu)];
        let core = &machine.cores[own.core as usize];
        let sibling = core.iter().find(|other| other.0 != cpu).map_or(-1, |c| i64::from(c.0));
        sums[0] += i64::from((own.llc + 1) * (cpu + 1)) + (sibling + 1) * i64::from(cpu + 2);
        sums[1] += i64::from(own.llc + 1);
    }
    for (llc, cpus) in machine.llcs.iter().enumerate() {
        let node = machine.cpus[cpus.first().unwrap()].node;
        sums[2] += i64::from(node) * (llc as i64 + 1);
        let all = (0..machine.llcs.len() as i64).filter(|other| {
            let first = machine.llcs[*other as usize].first().unwrap();
            machine.cpus[first].node == node
        });
        let all: Vec<i64> = all.collect();
        let (n, own) = (all.len() as i64, all.iter().position(|a| *a == llc as i64).unwrap());
        let mut near = Vec::new();
        for by in 1..n {
            for at in [own as i64 + by, own as i64 - by] {
                let other = all[at.rem_euclid(n) as usize];
                if other != llc as i64 && !near.contains(&other) {
                    near.push(other);
                }
            }
        }
        let places = near.iter().zip(1..).map(|(other, place)| other * place);
        sums[3] += places.sum::<i64>() * (llc as i64 + 1);
    }
    sums
}

fn filled(machine: &Machine, fills: &[Fill]) -> Object {
    let mut object = object("kin");
    let expected = Fill { path: "expected".to_string(), value: Value::List(sums(machine)) };
    for fill in fills.iter().chain([&expected]) {
        fill.apply(&mut object, machine).unwrap();
    }
    object.set_int("scale", machine.freq_scale.into()).unwrap();
    object
}

fn run(machine: &Machine, fills: &[Fill], rules: Rules) -> String {
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules, n_cpus, ps_per_insn: 0, flags: 0 };
    let scheduler = Scheduler::load(&filled(machine, fills), settings, &[]).unwrap();
    end(&scheduler, machine, small_build(0.3))
}

#[test]
fn what_a_loader_says_of_the_machine_is_said_in_words() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            assert_eq!(run(&machine, &fills(), rules), "Done");
        }
    }
}

#[test]
fn what_is_not_said_is_missed() {
    let machine = &machines()[1];
    for (at, number) in [(2, "fault 20: "), (5, "fault 16: "), (9, "fault 15: ")] {
        let mut fills = fills();
        fills.remove(at);
        let why = run(machine, &fills, Rules::V6_18);
        assert!(why.contains(number), "{at}: {why}");
    }
}

#[test]
fn what_a_word_does_not_fit_is_told() {
    let machine = &machines()[2];
    let why = |fill: Fill| match fill.apply(&mut object("kin"), machine) {
        Err(why) => why.to_string(),
        Ok(()) => "nothing".to_string(),
    };
    assert_eq!(why(word("n_llcs", Word::Sibling)), "`n_llcs` cannot be `sibling`");
    assert_eq!(why(word("n_llcs[llc]", Word::Llc)), "no variable `n_llcs[0]`");
    assert_eq!(why(word("node_of_llc[cpu]", Word::Llc)), "no variable `node_of_llc[64]`");
    assert_eq!(why(word("n_llcs", Word::NearLlcs)), "`n_llcs` cannot be `near_llcs`");
    assert!(why(word("n_llcs", Word::Cpus)).contains("is no mask of"));
    let number = |path: &str, n| Fill { path: path.to_string(), value: Value::Number(n) };
    assert_eq!(why(number("domains[llc].n_near", 256)), "`domains[0].n_near` cannot hold 256");
}
