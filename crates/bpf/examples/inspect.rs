//! Says what objects have and want: `cargo run -p bpf --example inspect -- FILE.bpf.o…`
//!
//! The kernel has every type that an object was compiled with, and of functions only those of this
//! crate: what is listed as missing is what a host has to supply.

use bpf::{Kernel, LoadError, Object, Options, Unresolved, Vm, native_names};

fn main() {
    for path in std::env::args().skip(1) {
        println!("== {path}");
        match std::fs::read(&path).map_err(|e| e.to_string()) {
            Ok(bytes) => match Object::read(&bytes) {
                Ok(object) => show(&object),
                Err(e) => println!("cannot be read: {e}"),
            },
            Err(e) => println!("{e}"),
        }
    }
}

fn show(object: &Object) {
    println!("license {}", object.license);
    println!("programs: {}", object.programs().count());
    for ops in &object.struct_ops {
        let used: Vec<&str> =
            ops.members.iter().filter(|m| m.program.is_some()).map(|m| m.name.as_str()).collect();
        println!("{} {}: {}", ops.type_name, ops.name, used.join(" "));
    }
    for map in &object.maps {
        let MapSizes { key, value, n } =
            MapSizes { key: map.key_size, value: map.value_size, n: map.max_entries };
        println!(
            "map {} {:?} {key} -> {value}, {n} entries, flags {:#x}",
            map.name, map.kind, map.flags
        );
    }
    for (name, kind, len) in object.sections() {
        println!("section {name} {kind:?} {len} bytes");
    }
    println!("helpers: {:?}", object.helpers());
    let is_own = |name: &str| native_names().any(|own| own == name);
    let (own, others): (Vec<_>, Vec<_>) = object.externs().iter().partition(|e| is_own(&e.name));
    println!("here: {}", own.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(" "));
    let show = |e: &&bpf::Extern| format!("{}{}", e.name, if e.is_weak { "?" } else { "" });
    println!("host: {}", others.iter().map(show).collect::<Vec<_>>().join(" "));
    load(object);
}

struct MapSizes {
    key: u32,
    value: u32,
    n: u32,
}

fn load(object: &Object) {
    let mut kernel = Kernel::default();
    kernel.add_types(object.btf());
    let mut number = 0;
    for name in std::env::var("SUPPLY").unwrap_or_default().split(' ') {
        match name.parse() {
            Ok(helper) => drop(kernel.helpers.insert(helper, 1000)),
            Err(_) => drop(kernel.functions.insert(name.to_string(), 1000.into())),
        }
    }
    loop {
        let options = Options { n_cpus: 16, ..Options::default() };
        match Vm::load(object, &kernel, options) {
            Ok(vm) => {
                println!("loaded with {number} names from the host");
                println!("guarded: {:?}", vm.image().unresolved());
                return;
            }
            Err(LoadError::Extern(name)) => {
                number += 1;
                let is_function = object.externs().iter().any(|e| e.name == name && e.is_function);
                if is_function {
                    kernel.functions.insert(name, number.into());
                } else {
                    kernel.variables.insert(name, bpf::memory::HOST);
                }
            }
            Err(LoadError::Unresolved(all)) => {
                println!("unresolved:");
                let mut seen: Vec<&String> = all.iter().map(|(_, what)| what).collect();
                seen.sort();
                seen.dedup();
                for what in seen {
                    let (place, _) =
                        all.iter().find(|(_, w)| w == what).expect("it is one of these");
                    println!("  {what} (first: {place})");
                }
                let fault = Options { unresolved: Unresolved::Fault, ..options };
                println!("otherwise: {:?}", Vm::load(object, &kernel, fault).map(|_| "loaded"));
                return;
            }
            Err(e) => return println!("cannot be loaded: {e}"),
        }
    }
}
