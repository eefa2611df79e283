//! Kernels, features, tunables and flags by name.
#![expect(clippy::disallowed_methods, reason = "tests read the objects beside them")]

use policies::ext::bpf::{Object, constants, counted, flags, inspect, is_partial};
use policies::fair::Rules;
use policies::fair::features::{Features, TUNABLES, Tunables, index, kernels};

fn object(name: &str) -> Object {
    let path = format!("{}/tests/objects/{name}.bpf.o", env!("CARGO_MANIFEST_DIR"));
    Object::read(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn rules_have_the_name_of_their_kernel() {
    for (i, name) in Rules::NAMES.into_iter().enumerate() {
        assert_eq!(
            (Rules::by_name(name).map(|rules| rules as usize), index(Some(name))),
            (Some(i), i)
        );
    }
    assert_eq!((Rules::by_name("6.3"), index(Some("6.3")), index(None)), (None, 0, 0));
}

#[test]
fn kernels_are_told_in_words() {
    let of = |has: [u8; 6]| kernels(|k| has[k] == 1);
    assert_eq!(of([1; 6]), "");
    assert_eq!(of([0; 6]), "in no kernel");
    assert_eq!(of([0, 0, 0, 0, 0, 1]), "6.18 only");
    assert_eq!(of([0, 0, 0, 1, 1, 1]), "since 6.6");
    assert_eq!(of([1, 0, 0, 0, 0, 0]), "5.19 only");
    assert_eq!(of([1, 1, 1, 0, 0, 0]), "up to 6.4");
    assert_eq!(of([0, 1, 1, 1, 0, 0]), "6.1 to 6.6");
}

#[test]
fn a_feature_is_as_its_kernel_has_it() {
    let def = |name| Features::ALL.iter().find(|def| def.name == name).unwrap();
    let place_lag = def("PLACE_LAG");
    assert_eq!(["6.4", "6.6"].map(|kernel| place_lag.default(Some(kernel))), [None, Some(true)]);
    assert_eq!(place_lag.kernels(), "since 6.6");
    assert_eq!((place_lag.is_on(), def("NEXT_BUDDY").is_on()), (true, false));
    assert_eq!(
        (def("SIS_PROP").default(None), def("SIS_PROP").kernels().as_str()),
        (Some(true), "up to 6.6")
    );
}

/// `sched_update_scaling`: a written latency or granularity gives another number of slices, a
/// written base slice another one for a single CPU.
#[test]
fn what_follows_from_a_tunable_is_written_with_it() {
    let written = |rules, name, value| {
        let mut tunables = Tunables::for_rules(rules, 8);
        let def = TUNABLES.iter().find(|def| def.name == name).unwrap();
        (def.set)(&mut tunables, value);
        tunables
    };
    let latency = written(Rules::V6_4, "latency_ns", 10_000_001);
    assert_eq!((latency.latency_ns, latency.nr_latency), (10_000_001, 4));
    let granularity = written(Rules::V6_4, "min_granularity_ns", 1_000_000);
    assert_eq!((granularity.min_granularity_ns, granularity.nr_latency), (1_000_000, 24));
    let slice = written(Rules::V6_6, "base_slice_ns", 8_000_000);
    assert_eq!((slice.base_slice_ns, slice.normalized_base_slice_ns), (8_000_000, 2_000_000));
}

#[test]
fn flags_of_schedulers_are_those_of_the_kernels_interface() {
    let flags: Vec<_> = flags().collect();
    assert_eq!(flags.len(), 8);
    assert!(flags.contains(&("SCX_OPS_SWITCH_PARTIAL", 8)));
    assert!(flags.iter().all(|(_, bit)| bit.is_power_of_two()));
    assert!(constants().any(|row| row == ("SCX_OPS_NAME_LEN", 128)));
    let counted: Vec<_> = counted().collect();
    assert!(counted.contains(&"dispatch") && counted.last() == Some(&"timer"), "{counted:?}");
}

#[test]
fn an_object_or_its_loader_asks_for_a_part_of_the_tasks() {
    let (all, part) = (object("fifo"), object("partial"));
    assert_eq!([0, 1, 8, 9].map(|flags| is_partial(&all, flags)), [false, false, true, true]);
    assert_eq!([0, 1, 8].map(|flags| is_partial(&part, flags)), [true; 3]);
}

#[test]
fn a_report_on_an_object_says_which_kernels_run_it() {
    let runs = inspect(&object("fifo"));
    assert!(runs.contains("fifo_enqueue"), "{runs}");
    assert!(runs.ends_with("\nas a scheduler:\n  6.18: runs\n  6.12: runs\n"), "{runs}");
    let later = inspect(&object("nodes"));
    assert!(later.contains("  6.18: runs\n  6.12: refused: "), "{later}");
    assert!(inspect(&object("unknown")).contains("scx_bpf_not_there"));
}
