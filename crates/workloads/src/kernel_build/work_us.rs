//! What the steps of a build take, in us on the reference machine.
//!
//! The reference is the machine on which they were measured: a guest with two CPUs of an EPYC
//! (Zen 5), Linux 6.1 with `allyesconfig`, GCC 12. On another machine all of them are multiplied by
//! one number. Measured by `perf` (forks, executions, exits) and `time`; docs/CALIBRATION.md says
//! how. `EXEC_OPEN` and `TOKEN` are read off one recording, `MAKE_PER_LINE` and `MAKE_PER_TARGET`
//! off another; `AR` and `AR_PER_OBJECT` are unverified.

/// `execve` up to the new address space, when a parent in `vfork` goes on,
pub const EXEC_OPEN: u64 = 100;
/// … and from there to `main`.
pub const EXEC_LOAD: u64 = 100;
const EXEC: u64 = EXEC_OPEN + EXEC_LOAD;
/// Freeing what a process had.
pub const EXIT: u64 = 100;
/// make reads and expands what it needs for a directory.
pub const MAKE_PARSE: u64 = 25_000;
/// make's own work to begin a target.
pub const MAKE_PER_TARGET: u64 = 1_000;
/// make's own work to go on with the next line of a target's recipe.
pub const MAKE_PER_LINE: u64 = 100;
/// make comes back from `pselect()`, since a token was there, and looks for it.
pub const TOKEN: u64 = 5;
/// A shell, up to its first command.
pub const SHELL: u64 = 150;
/// A shell or the gcc driver, from the end of a command to the next one or its own end.
pub const SHELL_STEP: u64 = 100;
/// The gcc driver, up to the compiler.
pub const GCC: u64 = 1_200;
/// fixdep makes dependencies of the compiler's list of headers.
pub const FIXDEP: u64 = 3_000;
/// rm removes fixdep's input.
pub const RM: u64 = 450;
/// nm lists an object's symbols.
pub const NM: u64 = 7_000;
/// awk reads that list and looks for exported symbols.
pub const AWK: u64 = 4_000;
/// grep looks for one pattern in such a list.
pub const GREP: u64 = 1_500;
/// The archive of a directory.
pub const AR: u64 = 3_000;
pub const AR_PER_OBJECT: u64 = 100;

/// Processes that an object needs: nine shells, gcc with its compiler and assembler, two pipelines
/// with a script, fixdep and rm.
const PROCESSES: u64 = 19;
/// Work per object beside compiling and assembling.
pub const PER_OBJECT: u64 = PROCESSES * (EXEC + EXIT)
    + MAKE_PER_TARGET
    + 8 * MAKE_PER_LINE
    + 10 * SHELL
    + 8 * SHELL_STEP
    + GCC
    + FIXDEP
    + RM
    + 2 * NM
    + AWK
    + GREP;
/// Work per directory: its make, and the shell and ar of its archive, two targets in all.
pub const PER_DIRECTORY: u64 =
    3 * (EXEC + EXIT) + MAKE_PARSE + 2 * MAKE_PER_TARGET + SHELL + SHELL_STEP + AR;
