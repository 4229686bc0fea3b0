//! Measures the start of small commands and of the MCP server.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::measure::{high_water_mark, median, milliseconds, peak_memory};
use super::{Bench, Outcome};
use crate::process;

const RUNS: usize = 21;

/// Maximum multiples of an empty process.
const COMMANDS: [(&[&str], f64); 3] = [
    (&["--version"], 3.0),
    (&["status", "--fast"], 8.0),
    (&["connection", "list"], 8.0),
];

/// KiB, while waiting.
const MCP_MEMORY: f64 = 25.0 * 1024.0;
const MCP_BOUND: f64 = 5.0;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);

pub(crate) fn project(bench: &Bench<'_>, name: &str) -> Result<PathBuf> {
    let folder = bench.folder.join(name);
    std::fs::create_dir_all(&folder).context("the project folder cannot be made")?;
    let text = "connections:\n  warehouse:\n    driver: sqlite\n    path: warehouse.sqlite\n";
    std::fs::write(folder.join("ktx.yaml"), text).context("`ktx.yaml` cannot be written")?;
    std::fs::write(folder.join("warehouse.sqlite"), "").context("the warehouse is missing")?;
    Ok(folder)
}

/// Isolated from the user's settings.
pub(crate) fn ktx(bench: &Bench<'_>, project: &Path, arguments: &[&str]) -> Command {
    let mut command = process::command(bench.repository, &bench.ktx);
    command
        .args(arguments)
        .current_dir(project)
        .env("HOME", bench.folder);
    command
}

pub(crate) fn commands(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let project = project(bench, "start")?;
    let mut outcomes = Vec::new();
    for (arguments, bound) in COMMANDS {
        let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            yardstick.push(milliseconds(&mut process::command(
                bench.repository,
                &bench.nothing,
            ))?);
            measured.push(milliseconds(&mut ktx(bench, &project, arguments))?);
        }
        let name = format!("ktx {}", arguments.join(" "));
        let peak = peak_memory(bench.repository, &ktx(bench, &project, arguments))?;
        let base = peak_memory(
            bench.repository,
            &process::command(bench.repository, &bench.nothing),
        )?;
        if let (Some(measured), Some(yardstick)) = (peak, base) {
            let name = format!("{name}, peak memory");
            outcomes.push(Outcome {
                name,
                unit: "KiB",
                measured,
                yardstick,
                bound: 10.0,
            });
        }
        let (measured, yardstick) = (median(measured), median(yardstick));
        outcomes.push(Outcome {
            name,
            unit: "ms",
            measured,
            yardstick,
            bound,
        });
    }
    Ok(outcomes)
}

/// Time to the `initialize` answer of `ktx mcp stdio`, and memory then.
pub(crate) fn mcp(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let project = project(bench, "mcp")?;
    let (mut measured, mut yardstick, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        yardstick.push(milliseconds(&mut process::command(
            bench.repository,
            &bench.nothing,
        ))?);
        let (took, peak) = first_answer(&mut ktx(bench, &project, &["mcp", "stdio"]))?;
        measured.push(took);
        memory.extend(peak);
    }
    let mut outcomes = vec![Outcome {
        name: "ktx mcp stdio, first answer".to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound: MCP_BOUND,
    }];
    if !memory.is_empty() {
        outcomes.push(Outcome {
            name: "ktx mcp stdio, memory against 25 MiB".to_owned(),
            unit: "KiB",
            measured: median(memory),
            yardstick: MCP_MEMORY,
            bound: 1.0,
        });
    }
    Ok(outcomes)
}

fn first_answer(command: &mut Command) -> Result<(f64, Option<f64>)> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} could not be started", process::shown(command)))?;
    let mut input = child.stdin.take().context("the server has no input")?;
    let output = child.stdout.take().context("the server has no output")?;
    input
        .write_all(INITIALIZE.as_bytes())
        .context("the server does not read")?;
    let mut answer = String::new();
    BufReader::new(output)
        .read_line(&mut answer)
        .context("the server does not answer")?;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    drop(input);
    child.wait().context("the server cannot be awaited")?;
    if !answer.contains("\"result\"") {
        bail!("the server answered `{}`", answer.trim());
    }
    Ok((
        took,
        status.ok().and_then(|status| high_water_mark(&status)),
    ))
}
