//! Measures how the semantic layer scales; small folders are the unit.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Bench, Outcome};
use crate::process;

/// A hundred times as many sources around the query.
const COMPILE_BOUND: f64 = 2.0;
/// Ten times as many sources: ten, plus logarithms of maps.
const LOAD_BOUND: f64 = 14.0;
/// Ten times as many sources with cache misses; comparing all pairs would give a hundred.
const VALIDATE_BOUND: f64 = 20.0;

/// Ten times as many measures of one source; comparing all pairs would give a hundred.
const MEASURES_BOUND: f64 = 20.0;

const MEASURE: [&str; 8] = [
    "run",
    "--release",
    "--quiet",
    "--locked",
    "-p",
    "ktx-semantic-layer",
    "--example",
    "scale",
];

pub(crate) fn scale(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let printed = process::output(&mut process::cargo(bench.repository, &MEASURE))?;
    outcomes(&printed)
}

pub(crate) fn outcomes(printed: &str) -> Result<Vec<Outcome>> {
    let sizes: Vec<Value> = printed
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("the measurements are not JSON")?;
    let of = |what: &str, size: u64| {
        let found = sizes
            .iter()
            .find(|line| line.get(what).and_then(Value::as_u64) == Some(size));
        found.with_context(|| format!("{size} {what} were not measured"))
    };
    let sources = |size| of("sources", size);
    let (small, middle, large) = (sources(100)?, sources(1_000)?, sources(10_000)?);
    let mut outcomes = Vec::new();
    for (step, bound) in [("load", LOAD_BOUND), ("validate", VALIDATE_BOUND)] {
        outcomes.push(Outcome {
            name: format!("{step} 10000 sources against 1000"),
            unit: "ms",
            measured: number(large.get(step), step)?,
            yardstick: number(middle.get(step), step)?,
            bound,
        });
    }
    outcomes.push(Outcome {
        name: "validate 7000 measures of each kind in one source against 700".to_owned(),
        unit: "ms",
        measured: number(of("measures", 7_000)?.get("validate"), "validate")?,
        yardstick: number(of("measures", 700)?.get("validate"), "validate")?,
        bound: MEASURES_BOUND,
    });
    let queries = large.get("compile").and_then(Value::as_object);
    for (name, measured) in queries.context("no query was compiled")? {
        let yardstick = small.get("compile").and_then(|all| all.get(name));
        // A refusal compares the wrong name with all others.
        if name != "refused" {
            outcomes.push(Outcome {
                name: format!("compile over 10000 sources against 100: {name}"),
                unit: "ms",
                measured: number(Some(measured), name)?,
                yardstick: number(yardstick, name)?,
                bound: COMPILE_BOUND,
            });
        }
    }
    Ok(outcomes)
}

fn number(value: Option<&Value>, name: &str) -> Result<f64> {
    value
        .and_then(Value::as_f64)
        .with_context(|| format!("`{name}` was not measured"))
}
