//! No bytes make the loader of BPF objects panic, and what is loaded runs within its budget.
#![no_main]

use bpf::{Answer, End, Host, Kernel, Memory, Object, Options, ProgramId, Run, Unresolved, Vm};

const BUDGET: u64 = 3_000;

/// Takes every call, and suspends every other one.
struct Anything {
    n_calls: u64,
}

impl Host for Anything {
    fn call(&mut self, _function: u32, args: [u64; 5], _memory: &mut Memory) -> Answer {
        self.n_calls += 1;
        if self.n_calls % 2 == 0 { Answer::Suspend } else { Answer::Value(args[0]) }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = Object::read(bytes) else {
        return;
    };
    let mut kernel = Kernel::default();
    kernel.add_types(object.btf());
    let names = ["lab_sleep", "lab_double", "lab_insert", "lab_idle", "lab_ask"];
    for (name, number) in names.iter().zip(0_u32..) {
        kernel.functions.insert(name.to_string(), number.into());
    }
    let options = Options { n_cpus: 3, bytes_max: 4 << 20, unresolved: Unresolved::Fault };
    let Ok(mut vm) = Vm::load(&object, &kernel, options) else {
        return;
    };
    let (mut host, mut run) = (Anything { n_calls: 0 }, Run::new(BUDGET));
    for program in 0..vm.image().programs().len() {
        vm.begin(&mut run, ProgramId(program), &[1 << 63, 5, 2]);
        while vm.run(&mut run, &mut host) == End::Suspended {
            run.resume(1);
        }
        assert!(run.executed() <= BUDGET);
    }
});
