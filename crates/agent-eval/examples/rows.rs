//! Benchmarks comparisons of large results: prints the median milliseconds for 10,000 rows of 20
//! columns, and for a column search that runs out of tries, as a line of JSON.

use std::io::Write as _;
use std::time::Instant;

use ktx_agent_eval::{Cell, Extent, SqlResultOptions, Table, sql_result};

const ROWS: u32 = 10_000;
const COLUMNS: u32 = 20;
const RUNS: usize = 7;

/// A table with unique values, of which `changed` rows differ.
fn table(order: impl Iterator<Item = u32>, changed: u32) -> Table {
    let cell = |row: u32, column: u32| match column % 4 {
        0 => Cell::Number(f64::from(row) + f64::from(column) / 100.0),
        1 => Cell::text(&format!("name {row} of {column}")),
        2 => Cell::text(&format!("2026-01-{:02}", 1 + (row + column) % 28)),
        _ if row < changed => Cell::Number(-1.0 - f64::from(row)),
        _ => Cell::Number(f64::from(row % 97) * f64::from(column)),
    };
    Table {
        columns: (0..COLUMNS).map(|column| format!("c{column}")).collect(),
        rows: order
            .map(|row| (0..COLUMNS).map(|column| cell(row, column)).collect())
            .collect(),
        extent: Extent::Whole,
    }
}

fn tangled(first: u32) -> Table {
    let cell = |row: u32, column: u32| Cell::Number(f64::from(row * (first + column) % 9_973));
    Table {
        columns: (0..100).map(|column| format!("c{column}")).collect(),
        rows: (0..9_973)
            .map(|row| (0..100).map(|column| cell(row, column)).collect())
            .collect(),
        extent: Extent::Whole,
    }
}

fn milliseconds(gold: &Table, actual: &Table) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            drop(sql_result(Some(actual), gold, &SqlResultOptions::DEFAULT));
            started.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(RUNS / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let gold = table(0..ROWS, 0);
    let equal = milliseconds(&gold, &gold);
    let shuffled = milliseconds(&gold, &table((0..ROWS).rev(), 0));
    let unequal = milliseconds(&gold, &table((0..ROWS).rev(), 500));
    let started = Instant::now();
    drop(sql_result(
        Some(&tangled(301)),
        &tangled(2),
        &SqlResultOptions::DEFAULT,
    ));
    let tangled = started.elapsed().as_secs_f64() * 1000.0;
    let figures = format!(
        "{{\"equal\": {equal:.3}, \"shuffled\": {shuffled:.3}, \"unequal\": {unequal:.3}, \"tangled\": {tangled:.3}}}"
    );
    drop(writeln!(std::io::stdout(), "{figures}"));
}
