//! Compares search over ten thousand pages with minimal indexing.

use anyhow::{Context as _, Result};

use super::{Bench, Outcome};
use crate::process;

/// Compared with a bare full-text insert.
const INDEX_BOUND: f64 = 1.3;
/// Processor milliseconds of a query without changes.
const QUERY_MILLISECONDS: f64 = 20.0;
/// Ten times the pages, compared with ten times the cost.
const LINEAR_BOUND: f64 = 1.5;

pub(crate) fn pages(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let few = figures(bench, 1_000)?;
    let many = figures(bench, 10_000)?;
    let outcome = |name: &str, measured, yardstick, bound| Outcome {
        name: name.to_owned(),
        unit: "ms",
        measured,
        yardstick,
        bound,
    };
    Ok(vec![
        outcome(
            "first index of 10000 pages against a bare full-text insert, processor time",
            many.index,
            many.bare,
            INDEX_BOUND,
        ),
        outcome(
            "query over 10000 unchanged pages, processor time",
            many.query,
            QUERY_MILLISECONDS,
            1.0,
        ),
        outcome(
            "first index of 10000 pages against ten times that of 1000",
            many.index,
            few.index * 10.0,
            LINEAR_BOUND,
        ),
    ])
}

struct Figures {
    bare: f64,
    index: f64,
    query: f64,
}

fn figures(bench: &Bench<'_>, pages: usize) -> Result<Figures> {
    let count = pages.to_string();
    let run = [
        "run",
        "--release",
        "--quiet",
        "--locked",
        "-p",
        "ktx-context-tools",
        "--example",
        "search",
        "--",
        &count,
    ];
    let printed = process::output(&mut process::cargo(bench.repository, &run))?;
    let figures: serde_json::Value =
        serde_json::from_str(printed.trim()).context("the measurements are not JSON")?;
    let figure = |name: &str| {
        let figure = figures.get(name).and_then(serde_json::Value::as_f64);
        figure.with_context(|| format!("`{name}` was not measured"))
    };
    Ok(Figures {
        bare: figure("bareInsertMs")?,
        index: figure("firstIndexMs")?,
        query: figure("queryMs")?,
    })
}
