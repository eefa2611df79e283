//! The NUMA distance table, as the firmware reports it (SLIT): 10 on the diagonal.

use super::asked::Takes;
use super::section::{Section, whole_number, wrong_type};
use crate::Fault;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::DeValue;

/// Distances that a node may have; only to itself it is the smallest.
const DISTANCES: RangeInclusive<u64> = 10..=254;

/// The table, row-major. `None` if it is absent or faulty.
pub(super) fn read(top: &mut Section, n_nodes: Option<u32>, l3_as_numa: bool) -> Option<Vec<u32>> {
    let rows = top.array("numa_distances", Takes::ints(&DISTANCES).array_of())?;
    let n = n_nodes.map_or(rows.len(), |n| n as usize);
    if rows.len() != n {
        let why = if l3_as_numa { " (every LLC)" } else { "" };
        let found = rows.len();
        let message =
            format!("`numa_distances` has {found} rows; it must have {n}, one per node{why}");
        top.fault(Fault::at(top.span_of("numa_distances"), message));
    }
    let cells = rows.iter().map(|row| read_row(top, row, rows.len()));
    let cells: Vec<Vec<Cell>> = cells.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    check_symmetry(top, &cells);
    (rows.len() == n).then(|| cells.into_iter().flatten().map(|c| c.distance).collect())
}

struct Cell {
    distance: u32,
    span: std::ops::Range<usize>,
}

fn read_row(top: &mut Section, row: &Spanned<DeValue<'_>>, n: usize) -> Option<Vec<Cell>> {
    let array = row.get_ref().as_array();
    let array = top.check(array.ok_or(wrong_type("numa_distances", row, "rows of numbers")))?;
    if array.len() != n {
        let message = format!("a row of {} distances in a table of {n} rows", array.len());
        top.fault(Fault::at(row.span(), message));
        return None;
    }
    let cells: Vec<Option<Cell>> = array
        .iter()
        .map(|cell| {
            let distance = top.check(whole_number("distance", cell, &DISTANCES))? as u32;
            let span = cell.span();
            Some(Cell { distance, span })
        })
        .collect();
    cells.into_iter().collect()
}

fn check_symmetry(top: &mut Section, cells: &[Vec<Cell>]) {
    for (i, row) in cells.iter().enumerate() {
        for (j, cell) in row.iter().enumerate() {
            let back = cells[j][i].distance;
            let message = if i == j && cell.distance != 10 {
                format!("node {i} is {} from itself; it must be 10", cell.distance)
            } else if i != j && cell.distance == 10 {
                format!("nodes {i} and {j} are 10 apart; only a node to itself is 10")
            } else if j < i && cell.distance != back {
                format!("node {i} to {j} is {}, but {j} to {i} is {back}", cell.distance)
            } else {
                continue;
            };
            top.fault(Fault::at(cell.span.clone(), message));
        }
    }
}
