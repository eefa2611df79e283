//! `schedlab sweep submit`, against programs that stand for Slurm's. The real one is `.ci/check_slurm`.
#![cfg(unix)]

use crate::lab::Lab;
use crate::units::status;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Notes its arguments and its input, and gives the id 1, 2, ...
const SBATCH: &str = r#"#!/bin/sh
n=$(($(cat jobs 2>/dev/null || echo 0) + 1))
echo $n > jobs
echo "$@" > args.$n
cat > script.$n
[ "$n" != "$REFUSED" ] || { echo "Batch job submission failed: no" >&2; exit 1; }
echo "$n;here"
"#;

/// A lab with twenty units, and a Slurm whose arrays have that many tasks at most.
fn lab(max_array_size: usize) -> Lab {
    let lab = Lab::new();
    let text = crate::lab::SCENARIO.split_once("[[published]]").unwrap().0;
    lab.file("it's.toml", text.replace("seeds = 2", "seeds = 10"));
    lab.output(["sweep", "plan", "it's.toml", "--out", "it's"]);
    let config = format!("#!/bin/sh\necho 'MaxArraySize            = {max_array_size}'\n");
    std::fs::create_dir(lab.path("bin")).unwrap();
    let scancel = "#!/bin/sh\necho \"$@\" > canceled\n";
    for (name, text) in [("sbatch", SBATCH), ("scontrol", &config), ("scancel", scancel)] {
        lab.file(&format!("bin/{name}"), text);
        let path = lab.path("bin").join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    lab
}

fn submit(lab: &Lab, args: &[&str]) -> snapbox::cmd::Command {
    let path = format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap());
    lab.command(["sweep", "submit", "it's"].into_iter().chain(args.iter().copied()))
        .env("PATH", path)
}

fn printed(command: snapbox::cmd::Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn read(lab: &Lab, name: &str) -> String {
    std::fs::read_to_string(lab.path(name)).unwrap()
}

/// Does what the tasks of an array would.
fn run_tasks(lab: &Lab, script: &str, tasks: std::ops::Range<u32>) {
    for task in tasks {
        let mut shell = Command::new("sh");
        shell.arg(script).env("SLURM_ARRAY_TASK_ID", task.to_string());
        assert!(shell.current_dir(lab.path(".")).status().unwrap().success(), "{script} {task}");
    }
}

#[test]
fn arrays_stay_below_the_limit_and_their_tasks_do_all_that_is_missing() {
    let lab = lab(4);
    lab.output(["sweep", "unit", "it's", "--index", "5"]);
    let said = printed(submit(&lab, &["--units-per-task", "3", "--partition", "p", "--time", "9"]));
    assert_eq!(said, "19 units in 2 job arrays: 1 2\n");
    let args = [read(&lab, "args.1"), read(&lab, "args.2")];
    assert!(args[0].contains("--array=0-3 ") && args[1].contains("--array=0-2 "), "{args:?}");
    assert!(args[0].contains("--partition=p --time=9") && args[0].contains("--job-name=schedlab-"));
    run_tasks(&lab, "script.1", 0..4);
    assert_eq!(status(&lab, "it's")["done"], 13);
    // A job that was lost: what is missing is submitted again, and the rest does no harm.
    assert_eq!(printed(submit(&lab, &["--array-chunk", "9"])), "7 units in 2 job arrays: 3 4\n");
    run_tasks(&lab, "script.2", 0..3);
    run_tasks(&lab, "script.3", 0..4);
    assert_eq!(status(&lab, "it's")["missing"], 0);
    assert_eq!(printed(submit(&lab, &[])), "nothing is missing\n");
}

#[test]
fn jobs_are_canceled_by_the_name_that_they_were_submitted_with() {
    let lab = lab(1001);
    printed(submit(&lab, &[]));
    assert!(printed(submit(&lab, &["--cancel"])).contains("are canceled"));
    let name = read(&lab, "canceled").trim().strip_prefix("--name=").unwrap().to_string();
    assert!(read(&lab, "args.1").contains(&format!("--job-name={name} ")), "{name}");
    assert!(name.ends_with(status(&lab, "it's")["sweep"].as_str().unwrap()));
}

#[test]
fn a_dry_run_shows_the_arrays_and_submits_nothing() {
    let lab = lab(1001);
    let shown = printed(submit(&lab, &["--dry-run", "--units-per-task", "7"]));
    assert!(shown.starts_with("# 20 units in ") && shown.contains("'--array=0-2'"), "{shown}");
    assert!(shown.contains("--from $(((0 + SLURM_ARRAY_TASK_ID) * 7)) --count 7 --quiet\nSCRIPT"));
    assert!(!lab.path("jobs").exists() && !lab.path("it's/jobs").exists());
    // Where there is no Slurm it can be shown all the same.
    let command = lab.command(["sweep", "submit", "it's", "--dry-run"]).env("PATH", "");
    let output = command.assert().success().get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is taken to be 1001"), "{said}");
    let command = lab.command(["sweep", "submit", "it's"]).env("PATH", "");
    let said = command.assert().code(1).get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("error: cannot run scontrol: ") && said.contains("is Slurm here?"));
}

#[test]
fn what_slurm_refuses_is_told_with_what_it_took() {
    let lab = lab(8);
    let refused = submit(&lab, &[]).env("REFUSED", "2").assert().code(1).get_output().clone();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("sbatch: Batch job submission failed: no; 1 of 3 job arrays"), "{said}");
    assert!(said.contains("take them back with --cancel"), "{said}");
}

#[test]
fn ray_is_started_by_python() {
    let lab = lab(1001);
    let shown = printed(submit(&lab, &["--engine", "ray", "--address", "auto", "--dry-run"]));
    let start = "'python3' '-m' 'schedlab.ray_engine' 'it's' '--program' '";
    assert!(shown.starts_with(start), "{shown}");
    assert!(shown.ends_with("' '--units-per-task' '1' '--address' 'auto'\n"), "{shown}");
    let refused = |args: &[&str]| {
        let output = submit(&lab, args).assert().code(2).get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--engine", "ray", "--cancel"]).contains("ray has no --cancel"));
    assert!(refused(&["--address", "auto"]).contains("slurm has no --address"));
    let none = submit(&lab, &["--engine", "ray"]).env("SCHEDLAB_PYTHON", "no-such-python");
    let said = none.assert().code(1).get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("cannot run no-such-python: ") && said.contains("SCHEDLAB_PYTHON names"));
}

#[test]
fn xargs_is_a_cluster_of_one_computer() {
    let lab = lab(1001);
    let program = env!("CARGO_BIN_EXE_schedlab");
    let line = format!(
        "'{program}' sweep status \"it's\" --format missing \
         | xargs -P 2 -n 3 '{program}' sweep unit \"it's\""
    );
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", &line]).current_dir(lab.path(".")).status().unwrap().success());
    assert_eq!(status(&lab, "it's")["done"], 20);
}
