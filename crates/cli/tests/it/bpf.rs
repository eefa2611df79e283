//! `schedlab bpf inspect`: objects, and what is none.

use crate::lab::Lab;
use snapbox::str;
use std::path::PathBuf;

fn object(name: &str) -> String {
    let objects = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../bpf/tests/objects");
    objects.join(name).to_str().expect("the path is a text").to_string()
}

fn scheduler(name: &str) -> String {
    object(&format!("../../../policies/tests/objects/{name}"))
}

/// Names that no kernel has are marked, and it is said which kernels take the scheduler.
#[test]
fn a_scheduler_is_shown() {
    let lab = Lab::new();
    lab.run(["bpf", "inspect", &scheduler("unknown.bpf.o")]).code(0).stderr_eq("").stdout_eq(str![
        [r#"
license: Dual MIT/GPL

programs:
  unknown_enqueue (struct_ops/unknown_enqueue)

operations unknown_ops of type sched_ext_ops:
  enqueue = unknown_enqueue
  name = "unknown"

functions of the kernel:
- scx_bpf_not_there?

of the kernel's types:
  offset of field task_struct___other.not_there

-: not known here; ?: a kernel may lack it

as a scheduler:
  6.18: refused: [..] the kernel has no function scx_bpf_not_there
  [..] the kernel has no offset of field task_struct___other.not_there
  6.12: refused: [..] the kernel has no function scx_bpf_not_there
  [..] the kernel has no offset of field task_struct___other.not_there

"#]
    ]);
}

#[test]
fn several_objects_have_headings() {
    let lab = Lab::new();
    let [a, b] = [object("ops.bpf.o"), object("timers.bpf.o")];
    let text = lab.output(["bpf", "inspect", &a, &b]);
    assert!(text.contains(&format!("{a}\n\nlicense: ")) && text.contains(&format!("\n{b}\n\n")));
}

#[test]
fn other_files_are_refused() {
    let lab = Lab::new();
    let source = object("ops.c");
    lab.run(["bpf", "inspect", &source]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: [..]ops.c is no BPF object, and has none inside

"#]]);
    lab.run(["bpf", "inspect", "none.o"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot read none.o: No such file or directory (os error 2)

"#]]);
}
