//! hwloc's synthetic descriptions: `pack:2 [numa] l3:16(size=16MB) core:8 pu:2`.
//!
//! Each word says how many of a part are in each one of the word before; `pu` comes last.
//! `[numa]` puts a node beside the parts of the word before it. `indexes=` of the PUs gives the
//! numbers of the CPUs (`parse` explains its forms). Sizes take kB, MB and GB as powers of 1024,
//! as caches are sold, whereas lstopo 2.9 takes powers of 1000.

mod indexes;
mod parse;

use super::Imported;
use super::found::{Found, FoundCpu};
use crate::file::MAX_CPUS;
use input::Fault;
use parse::{Kind, Level, parse};

/// The remedy where nothing better is known.
const ACCEPTED: &str = "parts with their counts, from the largest to pu: \"pack:2 l3:4 core:8 \
                        pu:2\"; also die, group, numa, l1 to l5";

/// True if a text is such a description rather than the name of a file.
pub fn is_synthetic(text: &str) -> bool {
    let text = text.trim();
    let word = text.split([' ', '(']).next().unwrap_or_default();
    let is_level = word.split_once(':').is_some_and(|(name, count)| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric())
            && count.starts_with(|c: char| c.is_ascii_digit())
    });
    !text.ends_with(".toml") && (is_level || text.starts_with(['[', '(']))
}

/// Makes a machine from a description.
///
/// ```
/// let text = "pack:2 [numa] l3:2(size=32MB) core:4 pu:2(indexes=2*16:1*2)";
/// let machine = topology::import::synthetic(text).expect("it is right").machine;
/// assert_eq!((machine.n_cpus(), machine.llcs.len(), machine.nodes.len()), (32, 4, 2));
/// assert_eq!(machine.cores[0].to_string(), "0,16");
/// ```
///
/// # Errors
/// The first fault of the text.
pub fn synthetic(text: &str) -> Result<Imported, Vec<Fault>> {
    let found = parse(text).and_then(|levels| found(&levels));
    let imported = found.and_then(|found| {
        let imported = found.machine("synthetic");
        imported.map_err(|conflict| Fault::at(0..text.len(), conflict.message))
    });
    let mut imported = imported.map_err(|fault| vec![fault.or_help(ACCEPTED)])?;
    imported.machine.title = text.trim().to_owned();
    Ok(imported)
}

fn found(levels: &[Level]) -> Result<Found, Fault> {
    let widths = widths(levels)?;
    let n_pus = widths.last().copied().unwrap_or(1);
    let numbers = match levels.last().and_then(|pu| pu.indexes.as_ref()) {
        Some(indexes) => indexes.numbers(levels, &widths, widths.len() - 1)?,
        None => (0..n_pus).collect(),
    };
    let mut found = Found {
        what: "hwloc's synthetic description",
        l1d_kib: size(levels, 1),
        l2_kib: size(levels, 2),
        ..Found::default()
    };
    let llc = last_level_cache(levels);
    found.llc_kib = llc.and_then(|i| levels[i].size_kib);
    let nodes = nodes(levels, &widths, &mut found.remarks)?;
    let level_of = |kind: Kind| levels.iter().position(|level| level.kind == kind);
    let (package, die, core) = (level_of(Kind::Package), level_of(Kind::Die), level_of(Kind::Core));
    for pu in 0..n_pus {
        let within = |level: usize| u64::from(pu / (n_pus / widths[level]));
        found.cpus.push(FoundCpu {
            os: numbers[pu as usize],
            core: core.map_or(u64::from(pu), within),
            llc: llc.map(within),
            die: die.map(within),
            node: nodes.as_ref().map_or(0, |(level, numbers)| numbers[within(*level) as usize]),
            socket: package.map_or(0, within),
        });
    }
    Ok(found)
}

/// Number of parts of each level in the whole machine.
fn widths(levels: &[Level]) -> Result<Vec<u32>, Fault> {
    let mut width = 1u64;
    let widths = levels.iter().map(|level| {
        width *= u64::from(level.count);
        if width > MAX_CPUS {
            let message = format!("{width} parts; at most {MAX_CPUS} CPUs can be simulated");
            return Err(Fault::at(level.span.clone(), message));
        }
        Ok(width as u32)
    });
    widths.collect()
}

/// The cache of the highest level, if it is above L1.
fn last_level_cache(levels: &[Level]) -> Option<usize> {
    let caches = levels.iter().enumerate().filter_map(|(i, level)| match level.kind {
        Kind::Cache(depth) if depth >= 2 => Some((depth, i)),
        _ => None,
    });
    caches.max().map(|(_, i)| i)
}

fn size(levels: &[Level], depth: u32) -> Option<u32> {
    levels.iter().find(|level| level.kind == Kind::Cache(depth))?.size_kib
}

/// The level that the innermost nodes are beside, and the number of each part's first node.
fn nodes(
    levels: &[Level],
    widths: &[u32],
    remarks: &mut Vec<String>,
) -> Result<Option<(usize, Vec<u32>)>, Fault> {
    let with_nodes = levels.iter().enumerate().filter(|(_, level)| level.n_nodes() > 0);
    let Some((innermost, level)) = with_nodes.clone().next_back() else {
        return Ok(None);
    };
    if with_nodes.count() > 1 || level.n_nodes() > 1 {
        let remark = "nodes beside other nodes have no CPUs of their own and are left out";
        remarks.push(remark.into());
    }
    let numbers = match level.node_indexes() {
        Some(indexes) => indexes.numbers(levels, widths, innermost)?,
        None => (0..widths[innermost]).collect(),
    };
    Ok(Some((innermost, numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn numbers(text: &str) -> String {
        let levels = parse(text).expect("the text is right");
        let found = found(&levels).expect("the numbers are right");
        let numbers: Vec<String> = found.cpus.iter().map(|c| c.os.to_string()).collect();
        numbers.join(" ")
    }

    fn check(text: &str, expected: Expect) {
        let shown = match synthetic(text) {
            Ok(imported) => format!("{} CPUs", imported.machine.n_cpus()),
            Err(faults) => {
                let fault = &faults[0];
                let at = fault.span.clone().unwrap_or(0..0);
                let help = match fault.help.as_deref().expect("every fault has a remedy") {
                    ACCEPTED => "(what is accepted)",
                    indexes::FORMS => "(forms of indexes)",
                    help => help,
                };
                format!("{} | {} | {help}", &text[at], fault.message)
            }
        };
        expected.assert_eq(&shown);
    }

    /// The numbers are those of lstopo 2.9.
    #[test]
    fn numbers_are_hwlocs() {
        let of = |indexes: &str| numbers(&format!("pack:2 core:2 pu:2(indexes={indexes})"));
        assert_eq!(of("2*4:1*2"), "0 4 1 5 2 6 3 7");
        assert_eq!(of("2*4:4*1"), "0 4 1 5 2 6 3 7");
        assert_eq!(of("2*4"), "0 4 1 5 2 6 3 7");
        assert_eq!(of("4*2:1*4"), "0 2 4 6 1 3 5 7");
        assert_eq!(of("pack:core"), "0 4 2 6 1 5 3 7");
        assert_eq!(of("core:pack"), "0 4 1 5 2 6 3 7");
        assert_eq!(of("pack"), "0 2 4 6 1 3 5 7");
        assert_eq!(of("core"), "0 4 1 5 2 6 3 7");
        assert_eq!(of("pu:core"), "0 1 2 3 4 5 6 7");
        assert_eq!(of("0,1,2,3,4,5,6,9"), "0 1 2 3 4 5 6 9");
        let three = numbers("pack:2 core:2 pu:3(indexes=3*4:4*1)");
        assert_eq!(three, "0 4 8 1 5 9 2 6 10 3 7 11");
    }

    #[test]
    fn bergamo_in_two_sockets() {
        let text = "pack:2 [numa(memory=384GB)] l3:16(size=16MB) l2:8(size=1MB) l1d:1(size=32KB) \
                    core:1 pu:2(indexes=2*256:256*1)";
        let machine = synthetic(text).expect("it is right").machine;
        assert_eq!((machine.n_cpus(), machine.cores.len(), machine.llcs.len()), (512, 256, 32));
        assert_eq!((machine.nodes.len(), machine.sockets.len()), (2, 2));
        assert_eq!(machine.llcs[0].to_string(), "0-7,256-263");
        assert_eq!(machine.caches.l3_kib, 16384);
        assert_eq!((machine.caches.l2_kib, machine.caches.l1d_kib), (1024, 32));
    }

    #[test]
    fn nodes_are_levels_or_beside_them() {
        let nodes = |text: &str| {
            let machine = synthetic(text).expect("it is right").machine;
            let nodes: Vec<String> = machine.nodes.iter().map(ToString::to_string).collect();
            nodes.join(" ")
        };
        assert_eq!(nodes("numa:2 l3:1 core:2 pu:2"), "0-3 4-7");
        assert_eq!(nodes("pack:2 numa:2 core:1 pu:1"), "0 1 2 3");
        assert_eq!(nodes("[numa] pack:2 l3:1 pu:2"), "0-3");
        assert_eq!(nodes("pack:3 [numa(memory=1GB indexes=2,0,1)] core:1 pu:1"), "1 2 0");
        assert_eq!(nodes("pack:2 [numa][numa] core:1 pu:1"), "0 1");
        assert_eq!(nodes("core:2 pu:1"), "0-1");
    }

    #[test]
    fn faults_point_at_the_word() {
        check(
            "pack:2 foo:2 pu:1",
            expect![
                "foo | `foo` is no kind of part | known: package, die, group, numa, l2, l3, core, pu"
            ],
        );
        check(
            "pack:2 core:2",
            expect![
                "core:2 | the last part must be pu, the hardware thread | end with `pu:1`, or `pu:2` for cores of two threads"
            ],
        );
        check(
            "pu:2 core:2",
            expect!["pu:2 | parts inside of pu, the hardware thread | (what is accepted)"],
        );
        check(
            "pack:2 core:0 pu:1",
            expect!["0 | a count of 0; it must be 1 to 8192 | (what is accepted)"],
        );
        check("pack:2 core: pu:1", expect![" | a number is missing here | (what is accepted)"]);
        check(
            "pack core:2 pu:1",
            expect!["pack | `pack` without a count | write `pack:2` for two of them"],
        );
        check(
            "2 3 4",
            expect!["2 | a count without a kind of part | write `pack:2`, `core:2`, `pu:2`"],
        );
        check(
            "pack:2 l3:2(size=1GB foo=3) pu:1",
            expect![
                "foo=3 | `foo` is no attribute | known: size, memory, memorysidecachesize, indexes"
            ],
        );
        check(
            "pack:2 l3:2(size=1XB) pu:1",
            expect!["1XB | `1XB` is no size | write it as 32KB, 16MB or in bytes"],
        );
        let fault = synthetic("pack:1 core:1 pu:9").unwrap_err();
        assert_eq!(fault[0].message, "a core has more than 8 threads");
        for size in ["32", "0", "1023", "17GB"] {
            let fault = synthetic(&format!("pack:1 l3:2(size={size}) pu:2")).unwrap_err();
            assert_eq!(fault[0].message, format!("`{size}` must be 1 KiB to 16 GiB"));
        }
        check(
            "pack:2 l3:2(size=16MB pu:1",
            expect!["(size=16MB pu:1 | the bracket is not closed | (what is accepted)"],
        );
        check(
            "pack:99999999999999 pu:1",
            expect![
                "99999999999999 | a count of 99999999999999; it must be 1 to 8192 | (what is accepted)"
            ],
        );
        check(
            "pack:100 core:100 pu:1",
            expect![
                "core:100 | 10000 parts; at most 8192 CPUs can be simulated | (what is accepted)"
            ],
        );
        check(
            "pack:2 pack:2 pu:1",
            expect!["pack:2 | a second level of packages | (what is accepted)"],
        );
        check(
            "pack:2 pu:2(indexes=1*2:2*3)",
            expect!["1*2:2*3 | the loops number 6 PUs of 4 | (forms of indexes)"],
        );
        check(
            "pack:2 pu:2(indexes=2*2:2*2)",
            expect!["2*2:2*2 | the loops give a number twice | (forms of indexes)"],
        );
        check(
            "pack:2 pu:2(indexes=0,1,2)",
            expect!["0,1,2 | 3 numbers for 4 parts | (forms of indexes)"],
        );
        check(
            "pack:2 pu:2(indexes=0,1,2,2)",
            expect!["0,1,2,2 | 2 is there twice | (forms of indexes)"],
        );
        check(
            "pack:2 pu:2(indexes=die)",
            expect!["die | there is no such level | (forms of indexes)"],
        );
        check(
            "pack:2 [l3] pu:2",
            expect!["l3 | only `numa` can be beside other parts | (what is accepted)"],
        );
        check(
            "core:2 l3:2 pu:1",
            expect![
                "core:2 l3:2 pu:1 | CPUs 0 and 1 are threads of one core in two last-level caches | (what is accepted)"
            ],
        );
        check(
            "",
            expect![
                " | the last part must be pu, the hardware thread | end with `pu:1`, or `pu:2` for cores of two threads"
            ],
        );
    }

    #[test]
    fn file_names_are_told_apart() {
        let synthetic = ["pack:2 pu:2", "[numa] pu:4", "numa:1", "core:2(x=y) pu:1"];
        assert!(synthetic.into_iter().all(is_synthetic));
        let files = ["machines/milan.toml", "milan", "c:/x", "../core:2 pu:1.toml", "a b:2"];
        assert!(!files.into_iter().any(is_synthetic));
    }
}
