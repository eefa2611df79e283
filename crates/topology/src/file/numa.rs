//! The NUMA distance table, as the firmware reports it (SLIT): 10 on the diagonal.

use input::{Fault, KeyDef, Kind, Node, Table, Walk};

/// A distance of a node; only to itself it is the smallest.
pub(super) const DISTANCE: KeyDef = KeyDef::required("distance", Kind::Int { min: 10, max: 254 });

/// The table, row-major. `None` if it is absent or faulty.
pub(super) fn read(
    walk: &mut Walk,
    top: &Table,
    n_nodes: Option<u32>,
    l3_as_numa: bool,
) -> Option<Vec<u32>> {
    let rows = top.list(walk, "numa_distances")?;
    let n = n_nodes.map_or(rows.len(), |n| n as usize);
    if rows.len() != n {
        let why = if l3_as_numa { " (every LLC)" } else { "" };
        let found = rows.len();
        let message =
            format!("`numa_distances` has {found} rows; it must have {n}, one per node{why}");
        walk.fault(Fault::at(top.span_of("numa_distances"), message));
    }
    let cells = rows.iter().map(|row| read_row(walk, row, rows.len()));
    let cells: Vec<Vec<Cell>> = cells.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    check_symmetry(walk, &cells);
    (rows.len() == n).then(|| cells.into_iter().flatten().map(|c| c.distance).collect())
}

struct Cell {
    distance: u32,
    span: std::ops::Range<usize>,
}

fn read_row(walk: &mut Walk, row: Node<'_>, n: usize) -> Option<Vec<Cell>> {
    let array = walk.array(row, "a row of `numa_distances`")?;
    if array.len() != n {
        let message = format!("a row of {} distances in a table of {n} rows", array.len());
        walk.fault(Fault::at(row.span(), message));
        return None;
    }
    let cells: Vec<Option<Cell>> = array
        .iter()
        .map(|cell| {
            let distance = walk.value(cell, &DISTANCE)?.int()? as u32;
            Some(Cell { distance, span: cell.span() })
        })
        .collect();
    cells.into_iter().collect()
}

fn check_symmetry(walk: &mut Walk, cells: &[Vec<Cell>]) {
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
            walk.fault(Fault::at(cell.span.clone(), message));
        }
    }
}
