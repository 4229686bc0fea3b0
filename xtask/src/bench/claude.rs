//! Measures the `claude` driver against an instant fake, the bare program and the official Node
//! package.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::measure::{median, milliseconds};
use super::{Bench, Outcome};
use crate::services::{self, Load, Service};
use crate::{environment, process, terminal};

const PACKAGE: &str = "@anthropic-ai/claude-agent-sdk@0.3.142";
const RUNS: usize = 21;

/// Maximum memory growth over the last four fifths of calls.
const MEMORY_BOUND: f64 = 1.2;
/// A call that starts a child, after earlier calls.
const WARM_BOUND: f64 = 1.5;
/// A call with a waiting child. The driver also starts the next child and cleans up, in a few
/// milliseconds; the documentation promises a hundred.
const SPARE_BOUND: f64 = 5.0;
/// Maximum milliseconds of the real program with a waiting child.
const PROMISED_MS: f64 = 100.0;
/// The same call compared with the bare program.
const REAL_BOUND: f64 = 1.2;
/// A whole program with one call.
const COLD_BOUND: f64 = 0.1;

const SCENARIO: &str = r#"{ "lenient": true, "echo": {} }"#;

/// One text call with the official package, isolated where possible.
const NODE_CALL: &str = r#"
import { query } from "@anthropic-ai/claude-agent-sdk";
const options = {
  pathToClaudeCodeExecutable: process.argv[2], systemPrompt: "You are terse.",
  settingSources: [], tools: [], maxTurns: 1, model: "sonnet",
};
for await (const message of query({ prompt: "Say hello.", options })) {
  if (message.type === "result" && message.subtype !== "success") process.exit(1);
}
"#;

pub(crate) fn driver(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    for arguments in [
        ["-p", "ktx-test-support", "--bin", "fake-claude"].as_slice(),
        &[
            "-p",
            "ktx-claude-code-adapter",
            "--example",
            "figures",
            "--example",
            "driver",
            "--example",
            "real",
        ],
    ] {
        let build = [&["build", "--release", "--locked"], arguments].concat();
        if !process::succeeds(&mut process::cargo(bench.repository, &build))? {
            bail!("the driver's figures could not be built");
        }
    }
    let endings = figures(bench, "endings", "500")?;
    let warm = figures(bench, "warm", "201")?;
    let spare = figures(bench, "spare", "101")?;
    let mut outcomes = vec![
        Outcome {
            name: "claude driver, processes left by calls".to_owned(),
            unit: "processes",
            measured: number(&endings, "orphans")?,
            yardstick: number(&endings, "runs")?,
            bound: 0.0,
        },
        Outcome {
            name: "claude driver, memory late against early".to_owned(),
            unit: "KiB",
            measured: number(&endings, "late_kib")?,
            yardstick: number(&endings, "early_kib")?,
            bound: MEMORY_BOUND,
        },
        Outcome {
            name: "claude driver, a warm call against the bare program".to_owned(),
            unit: "ms",
            measured: number(&warm, "ours_ms")?,
            yardstick: number(&warm, "bare_ms")?,
            bound: WARM_BOUND,
        },
        Outcome {
            name: "claude driver, a call with a spare against the bare program's answer".to_owned(),
            unit: "ms",
            measured: number(&spare, "ours_ms")?,
            yardstick: number(&spare, "bare_ms")?,
            bound: SPARE_BOUND,
        },
    ];
    outcomes.extend(against_node(bench)?);
    outcomes.extend(real_programs(bench)?);
    Ok(outcomes)
}

/// Milliseconds of real programs with a waiting child; empty if none can be installed.
fn real_programs(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let prepared = services::prepare(bench.repository, Load::Usual)?;
    let mut outcomes = Vec::new();
    for (service, version) in [
        (Service::Claude142, "2.1.142"),
        (Service::ClaudeNewestTested, "newest tested"),
    ] {
        let Some(claude) = prepared.place(service) else {
            continue;
        };
        let mut command = process::command(bench.repository, release(bench, "examples/real"));
        command.env_clear().env("PATH", "/usr/bin:/bin").args([
            claude,
            &*bench.folder.join(version).to_string_lossy(),
            "7",
        ]);
        let text = process::output(&mut command)?;
        let figures: Value = serde_json::from_str(&text)
            .with_context(|| format!("the figures are `{}`", text.trim()))?;
        terminal::line(text.trim());
        outcomes.push(Outcome {
            name: format!(
                "claude driver, a call of the real {version} with a spare, against 100 ms"
            ),
            unit: "ms",
            measured: number(&figures, "spare_ms")?,
            yardstick: PROMISED_MS,
            bound: 1.0,
        });
        outcomes.push(Outcome {
            name: format!(
                "claude driver, a call of the real {version} with a spare, against the bare program"
            ),
            unit: "ms",
            measured: number(&figures, "spare_ms")?,
            yardstick: number(&figures, "bare_ms")?,
            bound: REAL_BOUND,
        });
    }
    Ok(outcomes)
}

fn release(bench: &Bench<'_>, program: &str) -> PathBuf {
    bench.repository.target().join("release").join(program)
}

fn figures(bench: &Bench<'_>, figure: &str, runs: &str) -> Result<Value> {
    let folder = bench.folder.join(figure);
    let mut command = process::command(bench.repository, release(bench, "examples/figures"));
    command
        .arg(figure)
        .arg(release(bench, "fake-claude"))
        .arg(folder)
        .arg(runs);
    let text = process::output(&mut command)?;
    serde_json::from_str(&text).with_context(|| format!("the figures are `{}`", text.trim()))
}

fn number(figures: &Value, name: &str) -> Result<f64> {
    figures
        .get(name)
        .and_then(Value::as_f64)
        .with_context(|| format!("there is no figure `{name}`"))
}

/// Measures one call; `None` without Node or the package.
fn against_node(bench: &Bench<'_>) -> Result<Option<Outcome>> {
    let (Some(node), Some(npm)) = (
        environment::find_program("node", &[]),
        environment::find_program("npm", &[]),
    ) else {
        return Ok(None);
    };
    let folder = bench.folder.join("node");
    std::fs::create_dir_all(&folder).context("the folder for Node cannot be made")?;
    std::fs::write(folder.join("package.json"), "{}").context("the folder cannot be written")?;
    std::fs::write(folder.join("call.mjs"), NODE_CALL).context("the folder cannot be written")?;
    let scenario = folder.join("scenario.json");
    std::fs::write(&scenario, SCENARIO).context("the scenario cannot be written")?;
    let mut install = process::command(bench.repository, npm);
    install
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--omit=optional",
        ])
        .arg(PACKAGE)
        .current_dir(&folder);
    if process::output(&mut install).is_err() {
        return Ok(None);
    }
    let fake = release(bench, "fake-claude");
    let call = |program: PathBuf| {
        let mut command: Command = process::command(bench.repository, program);
        command
            .current_dir(&folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &folder)
            .env("LC_KTX_FAKE_CLAUDE", &scenario);
        command
    };
    let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut theirs = call(node.clone());
        yardstick.push(milliseconds(theirs.arg("call.mjs").arg(&fake))?);
        let mut ours = call(release(bench, "examples/driver"));
        ours.arg("text")
            .arg(&fake)
            .arg(&folder)
            .arg(folder.join("state"));
        measured.push(milliseconds(&mut ours)?);
    }
    Ok(Some(Outcome {
        name: "claude driver, a cold program with one call against the Node package".to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound: COLD_BOUND,
    }))
}
