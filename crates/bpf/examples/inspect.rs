//! Says what objects have and want: `cargo run -p bpf --example inspect -- FILE…`
//!
//! A file is an object, or a scheduler's program that carries some. Then each object is loaded into
//! a kernel that has every type it was compiled with, and all functions and helpers that the
//! environment's `SUPPLY` lists: what is missing is what a host has to supply.

use bpf::{Kernel, Known, LoadError, Object, Options, Vm, inspect, objects_in};

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        for bytes in objects_in(&bytes) {
            println!("== {path}");
            match Object::read(bytes) {
                Ok(object) => show(&object),
                Err(e) => println!("cannot be read: {e}"),
            }
        }
    }
}

fn show(object: &Object) {
    let mut kernel = Kernel::default();
    kernel.add_types(object.btf());
    let mut known = Known::default();
    for (name, number) in std::env::var("SUPPLY").unwrap_or_default().split(' ').zip(0..) {
        match name.parse() {
            Ok(helper) => {
                kernel.helpers.insert(helper, number);
                known.helpers.insert(helper);
            }
            Err(_) => {
                kernel.functions.insert(name.to_string(), number.into());
                known.names.insert(name.to_string());
            }
        }
    }
    println!("{}", inspect(object, &known));
    loop {
        match Vm::load(object, &kernel, Options { n_cpus: 16, ..Options::default() }) {
            Ok(vm) => return println!("loaded; guarded: {:#?}", vm.image().unresolved()),
            Err(LoadError::Extern(name)) => {
                println!("missing: {name}");
                let is_function = object.externs().iter().any(|e| e.name == name && e.is_function);
                if is_function {
                    kernel.functions.insert(name, 0.into());
                } else {
                    kernel.variables.insert(name, bpf::memory::HOST);
                }
            }
            Err(e) => return println!("cannot be loaded: {e}"),
        }
    }
}
