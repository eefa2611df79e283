//! A directory with a small scenario and its machine, and the program that runs there.

use snapbox::cmd::{Command, OutputAssert};
use std::path::{Path, PathBuf};

/// A small machine.
pub const MACHINE: &str = r#"llcs_per_socket = 2
cores_per_llc = 4

[latency]
llc_ns  = 25
node_ns = 110

[caches]
l1d_kib   = 32
l2_kib    = 1024
l3_kib    = 32768
l3_hit_ns = 15
mem_ns    = 105
"#;

/// A small scenario on it.
pub const SCENARIO: &str = r#"title = "a small build"
machine = "machines/small.toml"
policy = "cfs"

[workload]
kind = "kernel-build"
work_seconds = 4
objects = 40
directories = 4
prepare_seconds = 0.1
link_seconds = 0.1

[run]
seeds = 2

[[variant]]
name = "NO_SWQUEUE"
features = ["NO_SWQUEUE"]
baseline = true

[[variant]]
name = "SWQUEUE"
features = ["SWQUEUE"]

[[published]]
variant = "NO_SWQUEUE"
metric = "elapsed"
value = 1.5
unit = "s"
source = "made up"

[[published]]
variant = "SWQUEUE"
metric = "elapsed"
value = 1.4
unit = "s"
source = "made up"
"#;

/// The directory; removed at the end.
pub struct Lab(tempfile::TempDir);

impl Lab {
    /// A directory with `small.toml` and `machines/small.toml`.
    pub fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(lab.path("machines")).unwrap();
        lab.file("machines/small.toml", MACHINE);
        lab.file("small.toml", SCENARIO);
        lab
    }

    /// A path in the directory.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The small scenario with one line replaced, as `small.toml`.
    pub fn edit(&self, line: &str, by: &str) {
        assert!(SCENARIO.contains(line), "{line}");
        self.file("small.toml", SCENARIO.replacen(line, by, 1));
    }

    /// The program with arguments, in the directory.
    pub fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        Command::new(env!("CARGO_BIN_EXE_schedlab"))
            .args(args)
            .current_dir(self.0.path())
            .env("NO_COLOR", "1")
    }

    /// Runs the program.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> OutputAssert {
        self.command(args).assert()
    }

    /// Standard output of a run that must work.
    pub fn output<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.run(args).success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }
}
