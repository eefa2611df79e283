//! What people are told of an object, and objects inside of other files.

use crate::lab::{bytes, object};
use bpf::{Known, Object, inspect, objects_in};
use expect_test::{Expect, expect};

fn check(name: &str, known: &Known, expected: Expect) {
    expected.assert_eq(&inspect(&object(name), known));
}

#[test]
fn a_set_of_operations_is_shown() {
    let known = Known { names: ["lab_idle".to_string()].into(), ..Known::default() };
    check(
        "ops",
        &known,
        expect![[r#"
            license: Dual MIT/GPL

            programs:
              choose (struct_ops/choose)
              enqueue (struct_ops/enqueue)
              never (?struct_ops/never)

            operations ops of type lab_ops:
              choose = choose
              enqueue = enqueue
              flags = 0x11
              timeout_ms = 0x1388
              name = "lab"

            variables:
              .rodata ReadOnly, 8 bytes
              .bss Writable, 8 bytes

            functions of the kernel:
              lab_idle
            - lab_insert

            -: not known here; ?: a kernel may lack it
        "#]],
    );
}

#[test]
fn maps_and_relocations_are_shown() {
    check(
        "core",
        &Known::default(),
        expect![[r#"
            license: Dual MIT/GPL

            programs:
              offsets (syscall)
              store (syscall)
              sizes (syscall)
              bits (syscall)
              existence (syscall)
              type_info (syscall)
              by_typedef (?syscall)
              narrow (?syscall)
              narrow_grown (?syscall)
              signed_grown (?syscall)
              unguarded (?syscall)

            of the kernel's types:
              existence of enumerator kind::KIND_B
              existence of enumerator kind::KIND_NEW
              existence of field task.gone
              existence of field task.pid
              existence of field task___old.renamed
              existence of type missing
              existence of type task
              left shift of field task.state
              offset of field plain_t.value
              offset of field task.cpus[2]
              offset of field task.gone
              offset of field task.grown
              offset of field task.grown_signed
              offset of field task.in_union
              offset of field task.pid
              offset of field task.scx.slice
              offset of field task.scx.vtime
              offset of field task.state
              offset of field task___old.renamed
              right shift of field task.state
              signedness of field task.pid
              size of field task.comm
              size of field task.grown
              size of field task.state
              size of type missing
              size of type task
              value of enumerator kind::KIND_B
              value of enumerator kind::KIND_NEW
        "#]],
    );
    check(
        "timers",
        &Known::default(),
        expect![[r#"
            license: Dual MIT/GPL

            programs:
              start (syscall)
              start_hash (syscall)
              delete_hash (syscall)
              cancel (syscall)
              replace_hash (syscall)

            maps:
              slots Array, 4 -> 24 bytes, 4 entries
              by_id Hash, 8 -> 24 bytes, 4 entries

            variables:
              .bss Writable, 8 bytes

            helpers:
              bpf_map_lookup_elem (1)
              bpf_map_update_elem (2)
              bpf_map_delete_elem (3)
              bpf_timer_init (169)
              bpf_timer_set_callback (170)
              bpf_timer_start (171)
              bpf_timer_cancel (172)
        "#]],
    );
}

#[test]
fn weak_names_are_marked() {
    check(
        "guards",
        &Known::default(),
        expect![[r#"
            license: Dual MIT/GPL

            programs:
              by_constant (?syscall)
              by_comparison (?syscall)
              by_argument (?syscall)
              by_both (?syscall)
              by_version (?syscall)
              by_variable (?syscall)
              by_map (?syscall)

            maps:
              unknown_map Other(4), 4 -> 4 bytes, 4 entries

            variables:
              .rodata ReadOnly, 5 bytes
              .bss Writable, 4 bytes

            helpers:
              bpf_map_lookup_elem (1)

            functions of the kernel:
            - lab_new?
            - lab_double___v2?
            - lab_double___v1?

            of the kernel's types:
              existence of field gone.x
              offset of field gone.x

            -: not known here; ?: a kernel may lack it
        "#]],
    );
}

/// A program with two objects in a section `.bpf.objs`, as small as ELF allows.
fn program_with(objects: &[&[u8]]) -> Vec<u8> {
    let names = b"\0.bpf.objs\0.shstrtab\0";
    let mut section = vec![1, 2, 3];
    for object in objects {
        section.extend_from_slice(object);
        section.extend([0; 5]);
    }
    let (at, names_at) = (64, 64 + section.len());
    let headers_at = names_at + names.len();
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    file.extend([0; 16]);
    file.extend((headers_at as u64).to_le_bytes());
    // Flags; sizes and numbers of program headers and sections; the section of the names.
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    file.extend(&section);
    file.extend(names);
    let mut header = |name: u32, kind: u32, at: usize, len: usize| {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend([0; 16]);
        file.extend((at as u64).to_le_bytes());
        file.extend((len as u64).to_le_bytes());
        file.extend([0; 24]);
    };
    header(0, 0, 0, 0);
    header(1, 1, at, section.len());
    header(11, 3, names_at, names.len());
    file
}

#[test]
fn objects_are_found_in_programs() {
    let (ops, faults) = (bytes("ops"), bytes("faults"));
    assert_eq!(objects_in(&ops), [&ops[..]]);
    assert_eq!(objects_in(b"no"), [&[] as &[u8]; 0]);
    let program = program_with(&[&ops, b"\x7fELF but no more", &faults]);
    assert_eq!(objects_in(&program), [&ops[..], &faults[..]]);
    assert!(Object::read(objects_in(&program)[0]).is_ok());
    assert!(objects_in(&program_with(&[])).is_empty());
}
