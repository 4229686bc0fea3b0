//! Measures stream decoders: ten times the bytes should take ten times as long, and a call little
//! more than its HTTP exchange.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Bench, Outcome};
use crate::{process, terminal};

/// A factor of ten plus cache misses; quadratic decoding would give a hundred.
const SIZE_BOUND: f64 = 13.0;
/// Microseconds beyond the HTTP exchange.
const OVERHEAD: f64 = 1000.0;

const MEASURE: [&str; 8] = [
    "run",
    "--release",
    "--quiet",
    "--locked",
    "-p",
    "ktx-provider-adapters",
    "--example",
    "decoders",
];

pub(crate) fn streams(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let printed = process::output(&mut process::cargo(bench.repository, &MEASURE))?;
    for line in printed.lines() {
        terminal::line(line);
    }
    outcomes(&printed)
}

pub(crate) fn outcomes(printed: &str) -> Result<Vec<Outcome>> {
    let lines: Vec<Value> = printed
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("the measurements are not JSON")?;
    let mut outcomes = Vec::new();
    for small in lines.iter().filter(|line| size(line) == Some(1)) {
        let name = small.get("protocol").and_then(Value::as_str);
        let name = name.context("a measurement has no protocol")?;
        let large = lines.iter().find(|line| {
            size(line) == Some(10) && line.get("protocol").and_then(Value::as_str) == Some(name)
        });
        outcomes.push(Outcome {
            name: format!("decode 10 MB against 1 MB: {name}"),
            unit: "ms",
            measured: number(large, "ms")?,
            yardstick: number(Some(small), "ms")?,
            bound: SIZE_BOUND,
        });
    }
    let call = lines.iter().find(|line| line.get("overhead_us").is_some());
    outcomes.push(Outcome {
        name: "a call over bare HTTP, processor time".to_owned(),
        unit: "us",
        measured: number(call, "overhead_us")?,
        yardstick: OVERHEAD,
        bound: 1.0,
    });
    Ok(outcomes)
}

fn size(line: &Value) -> Option<u64> {
    line.get("size").and_then(Value::as_u64)
}

fn number(line: Option<&Value>, name: &str) -> Result<f64> {
    line.and_then(|line| line.get(name))
        .and_then(Value::as_f64)
        .with_context(|| format!("there is no figure `{name}`"))
}
