//! Short runs of many kinds, told in a line each: whoever changes a rule sees which of them move.
//!
//! The table is `rows.txt`. Its numbers say what a run did, its hashes whether anything else has
//! changed and of what kind that is. A row that moves and should not is a fault; a rule whose
//! change moves no row has no effect in any of these runs. To write the table anew:
//! `UPDATE_EXPECT=1 cargo test -p policies --test fingerprints`.
#![expect(clippy::disallowed_methods, reason = "it reads objects, and writes its table")]

mod bpf;
mod machines;
mod mix;
mod programs;
mod row;
mod rows;

const TABLE: &str = include_str!("rows.txt");

#[test]
fn runs_are_what_they_were() {
    let table = rows::table();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints/rows.txt");
        std::fs::write(path, table).unwrap();
        return;
    }
    let moved = table.lines().zip(TABLE.lines()).filter(|(new, old)| new != old);
    let moved: Vec<_> = moved.map(|(new, old)| format!("-{old}\n+{new}\n")).collect();
    assert!(moved.is_empty(), "{} rows have moved:\n{}", moved.len(), moved.concat());
    assert_eq!(table.lines().count(), TABLE.lines().count(), "rows");
}
