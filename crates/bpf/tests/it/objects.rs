//! Objects of our own, compiled by clang: what their programs return is known.

use crate::lab::{
    Lab, TASK, bytes, call, end, folder, kernel, load, new_kernel, object, once, variable,
};
use bpf::map::MapKind;
use bpf::{End, FaultKind, LoadError, Object, Options, Run, Unresolved, Vm};
use std::process::Command;

#[test]
fn programs_return_what_they_should() {
    let table: &[(&str, &str, u64)] = &[
        ("globals", "read_rodata", 4341),
        ("globals", "write_globals", 6024),
        ("globals", "call_functions", 61),
        ("globals", "compare_text", 1),
        ("maps", "use_array", 1008),
        ("maps", "use_hash", 101),
        ("maps", "use_lru", 0b1101),
        ("maps", "use_percpu", 703),
        ("maps", "use_lines", 122_432),
        ("maps", "use_storage", 12),
        ("maps", "use_outer", 90),
        ("maps", "iterate", 2_122_233),
        ("maps", "iterate_array", 64),
        ("calls", "loop", 4_510_105),
        ("calls", "nested", 4210),
        ("calls", "numbers", 3456),
        ("calls", "text", 35),
        ("calls", "suspended", 2103),
        ("calls", "weak", 1),
        ("trees", "sorted", 143_133_508_285),
        ("trees", "walk", 6421),
        ("trees", "listed", 3421),
        ("trees", "kept", 6),
        ("trees", "churn", 4),
        ("v4", "division", (-301_i64) as u64),
        ("v4", "signs", (-30_303_i64) as u64),
        ("v4", "bytes", 0x0403_0201 + 0x0403_0201_0000_0000),
        ("v4", "atomics", 5794),
    ];
    for (name, program, expected) in table {
        assert_eq!(once(name, program, &[TASK, 5]), *expected, "{name}: {program}");
    }
}

#[test]
fn a_loader_sets_constants_and_reads_variables() {
    let mut object = object("globals");
    assert_eq!(object.license, "Dual MIT/GPL");
    object.set_int("slice_us", 1000).unwrap();
    object.set_int("is_wide", 1).unwrap();
    object.set("table", &[0; 32]).unwrap();
    assert!(object.set_int("no_such", 1).is_err() && object.set("table", &[0; 8]).is_err());
    let (mut vm, mut lab) = (load(&object, &kernel()), Lab::new());
    assert_eq!(call(&mut vm, &mut lab, "read_rodata", &[]), 1_000_000);
    assert_eq!(call(&mut vm, &mut lab, "read_context", &[4, 2]), 402);
    assert_eq!(call(&mut vm, &mut lab, "write_globals", &[]), 6024);
    assert_eq!(call(&mut vm, &mut lab, "write_globals", &[]), 7045);
    assert_eq!(variable(&vm, "in_own_section"), 700);
    assert_eq!(variable(&vm, "zeroed"), 4);
    let program = vm.image().program("write_globals").unwrap();
    let count = vm.count(program);
    assert!(count.calls == 2 && count.instructions > 20, "{count:?}");
}

#[test]
fn parts_of_variables_are_set_by_their_names() {
    let mut object = object("globals");
    object.set_int("table[3]", 5000).unwrap();
    object.set_int("pair.second", -8_i64 as u64).unwrap();
    object.set_int("table[0]", 2).unwrap();
    assert_eq!(object.variable("pair").unwrap(), [7, 0, 0, 0, 0xf8, 0xff, 0, 0]);
    assert_eq!(object.variable("table[3]").unwrap(), 5000_u64.to_le_bytes());
    let part = object.part("pair.second").unwrap();
    assert_eq!((part.variable.as_str(), part.offset, part.size), ("pair", 4, 2));
    for path in ["table[4]", "table[", "table[x]", "table[0", "pair.third", "pair[0]", "pair.", ""]
    {
        assert!(object.part(path).is_err(), "{path}");
    }
    assert!(object.part("table.x").is_err() && object.part("table[4000000000]").is_err());
    object.resize("per_cpu_counts", 3).unwrap();
    object.set_int("per_cpu_counts[2]", 9).unwrap();
    let (mut vm, mut lab) = (load(&object, &kernel()), Lab::new());
    assert_eq!(call(&mut vm, &mut lab, "read_rodata", &[]), 20 + 2 + 20 + 300 + 5000);
    assert_eq!(call(&mut vm, &mut lab, "count", &[2]), 9);
}

#[test]
fn an_array_may_get_an_element_per_cpu() {
    let mut object = object("globals");
    assert!(object.resize("table", 3).is_err(), "others are behind it");
    assert!(object.resize("counter", 3).is_err() && object.resize("nothing", 3).is_err());
    assert!(object.resize("per_cpu_counts", u32::MAX).is_err());
    let counts = |object: &Object| {
        let (mut vm, mut lab) = (load(object, &kernel()), Lab::new());
        [0, 0, 2, 2].map(|cpu| match end(&mut vm, &mut lab, "count", &[cpu]) {
            End::Done(count) => Some(count),
            _ => None,
        })
    };
    assert_eq!(counts(&object), [Some(3), Some(4), None, None]);
    object.resize("per_cpu_counts", 3).unwrap();
    assert_eq!(counts(&object), [Some(3), Some(4), Some(0), Some(1)]);
}

fn task() -> Lab {
    let mut lab = Lab::new();
    lab.put(40, &7_u32.to_le_bytes());
    lab.put(48 + 8, &5_u64.to_le_bytes());
    lab.put(80 + 8, &3_u32.to_le_bytes());
    lab.put(112, &(0b1_1001 << 7 | 0x7f_u32).to_le_bytes());
    lab.put(120, &0x1_0000_0009_u64.to_le_bytes());
    lab.put(160, &100_u32.to_le_bytes());
    lab
}

#[test]
fn fields_are_where_the_kernel_has_them() {
    let (mut vm, mut lab) = (load(&object("core"), &kernel()), task());
    assert_eq!(call(&mut vm, &mut lab, "offsets", &[TASK]), 7_005_103);
    assert_eq!(call(&mut vm, &mut lab, "store", &[TASK]), 77);
    assert_eq!(lab.task[48 + 16], 77);
    assert_eq!(call(&mut vm, &mut lab, "sizes", &[TASK]), 816_009);
    assert_eq!(call(&mut vm, &mut lab, "bits", &[TASK]), 0b1_1001);
    assert_eq!(call(&mut vm, &mut lab, "existence", &[TASK]), 601_001);
    assert_eq!(call(&mut vm, &mut lab, "type_info", &[TASK]), 2001);
}

#[test]
fn loads_change_their_size_only_where_that_is_right() {
    let mut core = object("core");
    core.want("narrow");
    core.want("narrow_grown");
    let (mut vm, mut lab) = (load(&core, &kernel()), task());
    lab.put(40, &0x1_0203_u32.to_le_bytes());
    lab.put(88, &0x4_0005_u32.to_le_bytes());
    assert_eq!(call(&mut vm, &mut lab, "narrow", &[TASK]), 3005);
    assert_eq!(call(&mut vm, &mut lab, "narrow_grown", &[TASK]), 9);
    core.want("signed_grown");
    let refused = Vm::load(&core, &kernel(), Options::default());
    let what = "offset of field task.grown_signed";
    assert!(refused.is_err_and(|e| e.to_string().contains(what)));
}

#[test]
fn a_struct_may_be_named_by_a_typedef() {
    let mut core = object("core");
    core.want("by_typedef");
    let refused = Vm::load(&core, &kernel(), Options::default());
    assert!(refused.is_err_and(|e| e.to_string().contains("offset of field plain_t.value")));
    let int = bpf::FieldType::Int { size: 4, is_signed: false };
    let mut with = kernel();
    with.structs.insert("plain_t".to_string(), bpf::Struct::new(16).with("value", 12, int));
    let mut lab = Lab::new();
    lab.put(4, &8_u32.to_le_bytes());
    lab.put(12, &9_u32.to_le_bytes());
    assert_eq!(call(&mut load(&core, &with), &mut lab, "by_typedef", &[TASK]), 9);
    let mut own = kernel();
    own.add_types(core.btf());
    assert_eq!(call(&mut load(&core, &own), &mut lab, "by_typedef", &[TASK]), 8);
}

#[test]
fn what_the_kernel_lacks_is_named_unless_it_is_guarded() {
    let mut core = object("core");
    assert!(Vm::load(&core, &kernel(), Options::default()).is_ok(), "it is optional");
    let unresolved = Options { unresolved: Unresolved::Fault, ..Options::default() };
    let vm = Vm::load(&core, &kernel(), unresolved).unwrap();
    let listed: Vec<&str> = vm.image().unresolved().iter().map(String::as_str).collect();
    assert!(listed.contains(&"the kernel has no offset of field task.gone"), "{listed:?}");

    core.want("unguarded");
    match Vm::load(&core, &kernel(), Options::default()) {
        Err(LoadError::Unresolved(all)) => {
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!(all[0].0.function, "unguarded");
            assert_eq!(all[0].1, "the kernel has no offset of field task.gone");
            let line = all[0].0.line.as_ref().expect("lines are known");
            assert!(line.text.contains("p->gone"), "{line:?}");
        }
        other => panic!("{:?}", other.err()),
    }
    core.leave_out("unguarded");
    assert!(Vm::load(&core, &kernel(), Options::default()).is_ok());
}

#[test]
fn a_weak_function_is_called_where_it_exists() {
    let mut vm = load(&object("calls"), &new_kernel());
    assert_eq!(call(&mut vm, &mut Lab::new(), "weak", &[]), 35);
    let mut kernel = kernel();
    kernel.functions.remove("lab_double");
    let refused = Vm::load(&object("calls"), &kernel, Options::default());
    assert_eq!(refused.err(), Some(LoadError::Extern("lab_double".to_string())));
}

#[test]
fn a_function_of_this_crate_may_be_newer_than_the_kernel() {
    let mut kernel = kernel();
    kernel.absent.push("bpf_iter_num_new".to_string());
    let refused = Vm::load(&object("calls"), &kernel, Options::default());
    assert_eq!(refused.err(), Some(LoadError::Extern("bpf_iter_num_new".to_string())));
}

#[test]
fn options_and_variables_of_the_kernel() {
    let mut lab = Lab::new();
    lab.put(0, &8_u32.to_le_bytes());
    let mut vm = load(&object("calls"), &kernel());
    assert_eq!(call(&mut vm, &mut lab, "options", &[]), 0x6_0c00 * 10 + 8_000_000);
}

#[test]
fn text_is_printed_and_memory_is_probed() {
    let (mut vm, mut lab) = (load(&object("calls"), &kernel()), Lab::new());
    call(&mut vm, &mut lab, "text", &[]);
    assert_eq!(lab.lines, ["cpu 1 at 1000"]);
    lab.put(0, &6_u64.to_le_bytes());
    assert_eq!(call(&mut vm, &mut lab, "probe", &[TASK]), 641);
}

/// Knows its fields whole, and nothing in between.
struct Fields;

impl bpf::Host for Fields {
    fn load(&mut self, address: u64, size: u32) -> Option<u64> {
        (address == TASK && size == 8).then_some(6)
    }
    fn call(&mut self, _: u32, _: [u64; 5], _: &mut bpf::Memory) -> bpf::Answer {
        unreachable!("nothing is called")
    }
}

#[test]
fn a_field_is_copied_whole() {
    let mut vm = load(&object("calls"), &kernel());
    let program = vm.image().program("probe").unwrap();
    let mut run = Run::new(1000);
    vm.begin(&mut run, program, &[TASK]);
    assert_eq!(vm.run(&mut run, &mut Fields), End::Done(641));
}

#[test]
fn may_goto_ends_a_loop() {
    let mut vm = load(&object("calls"), &kernel());
    let program = vm.image().program("endless").unwrap();
    let mut run = Run::new(u64::MAX);
    vm.begin(&mut run, program, &[]);
    assert_eq!(vm.run(&mut run, &mut Lab::new()), End::Done(8 << 20));
}

#[test]
fn memory_is_bounded_and_used_again() {
    let object = object("trees");
    let options = Options { n_cpus: 4, bytes_max: 4096, ..Options::default() };
    let mut vm = Vm::load(&object, &kernel(), options).unwrap();
    for _ in 0..100 {
        assert_eq!(call(&mut vm, &mut Lab::new(), "sorted", &[]), 143_133_508_285);
        assert_eq!(call(&mut vm, &mut Lab::new(), "churn", &[]), 4);
    }
    let none = Options { bytes_max: 10, ..options };
    assert!(matches!(Vm::load(&object, &kernel(), none), Err(LoadError::OutOfMemory(_))));
}

#[test]
fn arenas() {
    let (mut vm, mut lab) = (load(&object("arena"), &kernel()), Lab::new());
    // Page 1 has the variables, 15 others are left of 16.
    assert_eq!(call(&mut vm, &mut lab, "build", &[]), 8194 * 100 + 42);
    assert_eq!(call(&mut vm, &mut lab, "refill", &[]), 50 + 4);
}

#[test]
fn rings() {
    let (mut vm, mut lab) = (load(&object("rings"), &kernel()), Lab::new());
    let events = vm.memory.map("events").unwrap();
    assert_eq!(call(&mut vm, &mut lab, "produce", &[]), 0);
    assert_eq!(vm.memory.ring_take(events).unwrap(), [1, 0, 0, 0, 10, 0, 0, 0]);
    assert_eq!(vm.memory.ring_take(events).unwrap(), [3, 0, 0, 0, 30, 0, 0, 0]);
    assert_eq!(vm.memory.ring_take(events), None);
    // 16 bytes per record of 4096, the last of which stays free; in whatever place the ring is.
    for _ in 0..3 {
        assert_eq!(call(&mut vm, &mut lab, "fill", &[]), 255);
        assert_eq!(std::iter::from_fn(|| vm.memory.ring_take(events)).count(), 255);
        assert_eq!(call(&mut vm, &mut lab, "produce", &[]), 0);
        assert_eq!(std::iter::from_fn(|| vm.memory.ring_take(events)).count(), 2);
    }
    let orders = vm.memory.map("orders").unwrap();
    assert!(vm.memory.ring_put(orders, &[1, 0, 0, 0, 2, 0, 0, 0]));
    assert!(vm.memory.ring_put(orders, &[3, 0, 0, 0, 4, 0, 0, 0]));
    assert_eq!(call(&mut vm, &mut lab, "consume", &[]), 120_342);
    assert_eq!(call(&mut vm, &mut lab, "consume", &[]), 0);
}

/// Lets the only armed timer fire.
fn fire(vm: &mut Vm, lab: &mut Lab) {
    let (timer, at) = lab.timers.pop_first().expect("a timer is armed");
    lab.now_ns = at;
    let mut run = Run::new(1000);
    assert!(vm.begin_timer(&mut run, timer));
    assert_eq!(vm.run(&mut run, lab), End::Done(0));
}

#[test]
fn timers() {
    let (mut vm, mut lab) = (load(&object("timers"), &kernel()), Lab::new());
    assert_eq!(call(&mut vm, &mut lab, "start", &[]), 0);
    for (fired, at) in [(1, 1500), (2, 2500), (3, 4500)] {
        fire(&mut vm, &mut lab);
        assert_eq!((variable(&vm, "last"), lab.now_ns), (200 + fired, at));
    }
    assert!(lab.timers.is_empty());
    assert_eq!(call(&mut vm, &mut lab, "start_hash", &[]), 0);
    fire(&mut vm, &mut lab);
    assert_eq!(variable(&vm, "last"), 0x12_3456_7890);
    assert_eq!(call(&mut vm, &mut lab, "cancel", &[]), 0);
}

#[test]
fn a_timer_goes_with_its_value() {
    let (mut vm, mut lab) = (load(&object("timers"), &kernel()), Lab::new());
    assert_eq!(call(&mut vm, &mut lab, "start_hash", &[]), 0);
    let timer = *lab.timers.first_key_value().unwrap().0;
    assert_eq!(call(&mut vm, &mut lab, "delete_hash", &[]), 0);
    assert!(lab.timers.is_empty() && !vm.begin_timer(&mut Run::new(10), timer));
    assert_eq!(call(&mut vm, &mut lab, "start_hash", &[]), 0);
    assert_eq!(call(&mut vm, &mut lab, "replace_hash", &[]), 0);
    assert!(lab.timers.is_empty() && !vm.begin_timer(&mut Run::new(10), timer));
}

#[test]
fn a_set_of_operations() {
    let object = object("ops");
    let [ops] = &object.struct_ops[..] else { panic!("{:?}", object.struct_ops) };
    assert_eq!((ops.name.as_str(), ops.type_name.as_str()), ("ops", "lab_ops"));
    assert_eq!(ops.member("choose").unwrap().program.as_deref(), Some("choose"));
    assert_eq!(ops.member("unused").unwrap().program, None);
    assert_eq!(ops.member("flags").unwrap().number(), 0x11);
    assert_eq!(ops.member("timeout_ms").unwrap().number(), 5000);
    assert_eq!(ops.member("name").unwrap().text(), "lab");
    let (mut vm, mut lab) = (load(&object, &kernel()), Lab::new());
    assert_eq!(vm.image().program("never"), None, "nobody asks for it");
    assert_eq!(call(&mut vm, &mut lab, "choose", &[TASK, 9, 0]), 9);
    assert_eq!(call(&mut vm, &mut lab, "choose", &[TASK, 2, 0]), 3);
    assert_eq!(call(&mut vm, &mut lab, "enqueue", &[TASK, 8]), 0);
    assert_eq!(lab.inserted, [[TASK, 1, 20_000_000, 0], [TASK, 2, 20_000_000, 8]]);
    assert_eq!(variable(&vm, "n_enqueued"), 1);
}

#[test]
fn a_suspended_program_gets_results_on_its_stack() {
    let (mut vm, mut lab) = (load(&object("calls"), &kernel()), Lab::new());
    let program = vm.image().program("asks").unwrap();
    let mut run = Run::new(1000);
    vm.begin(&mut run, program, &[]);
    assert_eq!(vm.run(&mut run, &mut lab), End::Suspended);
    assert!(run.is_suspended());
    let answer = run.bytes_mut(lab.asked, 8).unwrap();
    assert_eq!(answer, 1_u64.to_le_bytes());
    answer.copy_from_slice(&42_u64.to_le_bytes());
    assert!(run.bytes_mut(lab.asked, 1 << 20).is_none() && run.bytes_mut(TASK, 1).is_none());
    run.resume(3);
    assert_eq!(vm.run(&mut run, &mut lab), End::Done(342));
}

#[test]
fn masks_of_cpus() {
    let mut lab = Lab::new();
    for cpu in [3, 64, 129_usize] {
        lab.task[cpu / 8] |= 1 << (cpu % 8);
    }
    let options = Options { n_cpus: 130, ..Options::default() };
    let mut vm = Vm::load(&object("cpumasks"), &kernel(), options).unwrap();
    assert_eq!(call(&mut vm, &mut lab, "masks", &[TASK]), 130_003);
}

#[test]
fn faults_name_their_line() {
    let mut vm = load(&object("faults"), &kernel());
    let mut fault = |program: &str| match end(&mut vm, &mut Lab::new(), program, &[]) {
        End::Fault(fault) => *fault,
        other => panic!("{program}: {other:?}"),
    };
    let null = fault("store_null");
    assert_eq!(null.kind, FaultKind::BadStore { address: 8, size: 8 });
    assert_eq!(null.place.function, "spoil");
    let line = null.place.line.as_ref().unwrap();
    assert!(line.text.contains("the bad store") && line.file.ends_with("faults.c"), "{line:?}");
    assert!(null.to_string().contains("faults.c:14"), "{null}");
    assert!(matches!(fault("store_constant").kind, FaultKind::BadStore { .. }));
    assert_eq!(fault("forever").kind, FaultKind::Budget(1_000_000));
    assert_eq!(call(&mut vm, &mut Lab::new(), "load_null", &[]), 8);
    let bad: Vec<(usize, u64)> = vm.memory.bad_loads().iter().map(|(pc, n)| (*pc, *n)).collect();
    assert_eq!(bad.iter().map(|(_, n)| n).sum::<u64>(), 3);
    let line = vm.image().place(bad[0].0).line.unwrap();
    assert!(line.text.contains("t->count"), "{line:?}");
}

/// Programs read keys as long as the map says: a damaged length must not take all memory.
#[test]
fn keys_and_values_are_of_a_size_that_the_kernel_takes() {
    let sound = bytes("timers");
    let mut n_refused = 0;
    for at in (0..sound.len() - 4).step_by(4) {
        let mut damaged = sound.clone();
        damaged[at..at + 4].copy_from_slice(&0xffff_fc08_u32.to_le_bytes());
        match Object::read(&damaged) {
            Ok(object) => {
                let mut hashes = object.maps.iter().filter(|map| map.kind == MapKind::Hash);
                assert!(hashes.all(|map| map.key_size < 4 << 20), "word at {at}");
            }
            Err(LoadError::Map { what, .. }) => n_refused += usize::from(what.contains("4 MiB")),
            Err(_) => {}
        }
    }
    assert!(n_refused >= 2, "{n_refused}");
}

#[test]
fn maps_are_as_they_were_defined() {
    let mut object = object("maps");
    let storage = object.maps.iter().find(|map| map.name == "storage").unwrap();
    assert_eq!((storage.flags, storage.value_size), (1, 8));
    let array = object.maps.iter_mut().find(|map| map.name == "array").unwrap();
    assert_eq!((array.key_size, array.value_size, array.max_entries), (4, 16, 4));
    assert_eq!(array.special.iter().map(|f| f.offset).collect::<Vec<_>>(), [8]);
    array.max_entries = 9;
    let mut vm = load(&object, &kernel());
    assert_eq!(call(&mut vm, &mut Lab::new(), "iterate_array", &[]), 369);
    let hash = vm.memory.map("hash").unwrap();
    assert_eq!(vm.memory.update(hash, &5_u64.to_le_bytes(), &[1, 2, 3, 4], 0), 0);
    let at = vm.memory.lookup(hash, &5_u64.to_le_bytes(), 0).unwrap();
    assert_eq!(vm.memory.bytes(at, 4).unwrap(), [1, 2, 3, 4]);
    assert_eq!(vm.memory.keys(hash), [5_u64.to_le_bytes()]);
    let outer = vm.memory.map("outer_hash").unwrap();
    assert_eq!(vm.memory.update(outer, &8_u32.to_le_bytes(), b"inner_a", 0), 0);
    assert_eq!(call(&mut vm, &mut Lab::new(), "use_outer", &[]), 91);
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(Object::read(b"no"), Err(LoadError::Elf(_))));
    let mut native = bytes("ops");
    native[18] = 62;
    assert_eq!(Object::read(&native).err(), Some(LoadError::NotBpf));
}

/// The objects beside the sources are what clang makes of these.
#[test]
fn objects_are_those_of_their_sources() {
    let version = Command::new("clang-19").arg("--version").output();
    let is_there = version.is_ok_and(|v| String::from_utf8_lossy(&v.stdout).contains("19.1.7"));
    assert!(is_there || std::env::var_os("SCHEDLAB_NEEDS_CLANG").is_none(), "no clang-19 19.1.7");
    if !is_there {
        eprintln!("clang-19 19.1.7 is not there: NOBODY LOOKS WHETHER THE OBJECTS ARE THE SAME");
        return;
    }
    let to = std::env::temp_dir().join(format!("bpf-objects-{}", std::process::id()));
    std::fs::create_dir_all(&to).unwrap();
    assert!(Command::new(folder().join("build")).arg(&to).status().unwrap().success());
    for entry in std::fs::read_dir(&to).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().trim_end_matches(".bpf.o");
        assert!(std::fs::read(&path).unwrap() == bytes(name), "{name}: run tests/objects/build");
    }
    std::fs::remove_dir_all(&to).unwrap();
}

/// Loads one of the programs of `guards` and runs it.
fn guarded(program: &str, set: &[(&str, u64)], kernel: &bpf::Kernel) -> Result<u64, LoadError> {
    let mut object = object("guards");
    for (name, value) in set {
        object.set_int(name, *value).unwrap();
    }
    object.want(program);
    let mut vm = Vm::load(&object, kernel, Options::default())?;
    Ok(call(&mut vm, &mut Lab::new(), program, &[TASK]))
}

#[test]
fn guards_are_seen_through() {
    let (old, new) = (kernel(), new_kernel());
    for (program, value) in
        [("by_constant", 2), ("by_comparison", 3), ("by_argument", 11), ("by_both", 4)]
    {
        assert_eq!(guarded(program, &[], &old), Ok(value), "{program}");
    }
    let opened: &[(&str, &[(&str, u64)])] = &[
        ("by_constant", &[("use_new", 1)]),
        ("by_comparison", &[("level", 4)]),
        ("by_comparison", &[("level", 1)]),
        ("by_argument", &[("use_new", 1)]),
        ("by_variable", &[]),
    ];
    for (program, set) in opened {
        match guarded(program, set, &old) {
            Err(LoadError::Unresolved(all)) => {
                assert_eq!(all[0].1, "the kernel has no function lab_new", "{program}");
            }
            other => panic!("{program}: {other:?}"),
        }
        assert!(guarded(program, set, &new).is_ok(), "{program}");
    }
}

#[test]
fn a_map_of_an_unknown_type_may_be_there_but_not_used() {
    assert_eq!(guarded("by_map", &[], &kernel()), Ok(6));
    match guarded("by_map", &[("use_new", 1)], &kernel()) {
        Err(LoadError::Unresolved(all)) => {
            assert_eq!(all[0].1, "map unknown_map is of an unknown type (4)");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_version_of_a_function_is_told_by_its_shape() {
    let mut kernel = kernel();
    assert_eq!(guarded("by_version", &[], &kernel), Ok(40), "without a shape, all names are it");
    let double = kernel.functions.get_mut("lab_double").unwrap();
    double.shape = Some("int(int)".to_string());
    assert_eq!(guarded("by_version", &[], &kernel), Ok(20));
    kernel.functions.remove("lab_double");
    assert_eq!(guarded("by_version", &[], &kernel), Ok(0));
}

#[test]
fn types_may_come_from_btf() {
    let core = object("core");
    let mut own = kernel();
    own.structs.clear();
    own.add_types(core.btf());
    let mut lab = Lab::new();
    lab.put(0, &6_u32.to_le_bytes());
    let mut vm = load(&core, &own);
    // pid, scx (8), cpus (24), bits (40), grown (44), grown_signed (48), gone (52), comm (56), a
    // union (72). The 5 below is the size of `missing` and a sign.
    assert_eq!(own.structs["task"].size, 80);
    lab.put(16, &4_u64.to_le_bytes());
    lab.put(32, &2_u32.to_le_bytes());
    lab.put(72, &9_u32.to_le_bytes());
    assert_eq!(call(&mut vm, &mut lab, "offsets", &[TASK]), 6_004_011);
    lab.put(40, &(0b1_0110 << 3 | 7_u32).to_le_bytes());
    assert_eq!(call(&mut vm, &mut lab, "bits", &[TASK]), 0b1_0110);
    assert_eq!(call(&mut vm, &mut lab, "type_info", &[TASK]), 805);
}
