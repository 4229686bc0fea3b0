//! Measures the agent test runner against bare requests, and row comparison.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::fmt::Write as _;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::measure::{median, milliseconds};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const CASES: usize = 200;
const AT_ONCE: usize = 8;
const RUNS: usize = 5;

const THINKS: Duration = Duration::from_millis(50);

/// 200 cases against 200 requests, eight at a time.
const RUNNER_BOUND: f64 = 1.2;

/// Maximum processor milliseconds per case, including the agent's work.
const CASE_MS: f64 = 3.0;

/// Maximum milliseconds for 10,000 rows of 20 columns, equal and different.
const EQUAL_MS: f64 = 100.0;
const UNEQUAL_MS: f64 = 1000.0;

/// Maximum milliseconds until a column search gives up: 100 columns with equal values.
const TANGLED_MS: f64 = 5000.0;

const ROWS: [&str; 8] = [
    "run",
    "--release",
    "--quiet",
    "--locked",
    "-p",
    "ktx-agent-eval",
    "--example",
    "rows",
];

pub(super) const EVENTS: [&str; 6] = [
    r#"{"type":"message_start","message":{"id":"m1","model":"claude-sonnet-5","usage":{"input_tokens":100,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Answer: 1"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#,
    r#"{"type":"message_stop"}"#,
];

pub(crate) fn figures(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let mut outcomes = runner(bench)?;
    outcomes.extend(rows(bench)?);
    Ok(outcomes)
}

fn runner(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let address = serve()?;
    let project = project(bench, "cases")?;
    write_project(&project, &address)?;
    let run = |cases: usize| {
        let limit = cases.to_string();
        let parallel = AT_ONCE.to_string();
        let arguments = [
            "agent",
            "test",
            "cases.yaml",
            "--agent",
            "analyst",
            "--parallel",
            &parallel,
            "--limit",
            &limit,
        ];
        let mut command = ktx(bench, &project, &arguments);
        command.env("BENCH_KEY", "invented");
        command
    };
    let (mut measured, mut yardstick, mut few, mut many) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        yardstick.push(bare(&address)?);
        let before = children_ms()?;
        measured.push(milliseconds(&mut run(CASES))?);
        let between = children_ms()?;
        milliseconds(&mut run(1))?;
        many.push(between - before);
        few.push(children_ms()? - between);
    }
    let cases = f64::from(u32::try_from(CASES - 1).unwrap_or(u32::MAX));
    Ok(vec![
        Outcome {
            name: "agent test, 200 cases, 8 at once, against bare requests".to_owned(),
            unit: "ms",
            measured: median(measured),
            yardstick: median(yardstick),
            bound: RUNNER_BOUND,
        },
        Outcome {
            name: "agent test, processor time of a case against 3 ms".to_owned(),
            unit: "ms",
            measured: (median(many) - median(few)) / cases,
            yardstick: CASE_MS,
            bound: 1.0,
        },
    ])
}

pub(super) fn write_project(project: &Path, address: &str) -> Result<()> {
    let config = format!(
        "connections:\n  warehouse:\n    driver: sqlite\n    path: warehouse.sqlite\nllm:\n  provider:\n    backend: anthropic\n    anthropic:\n      api_key: env:BENCH_KEY\n      base_url: http://{address}\n  models:\n    default: sonnet\n"
    );
    let agent = "name: analyst\ninstructions: {inline: Answer.}\ntools: [wiki_search]\n";
    let mut cases = "cases:\n".to_owned();
    for case in 0..CASES {
        writeln!(
            cases,
            "  - {{name: c{case}, input: How many?, ground_truth: {{value: 1}}}}"
        )?;
    }
    std::fs::create_dir_all(project.join("agents")).context("no folder can be made")?;
    for (name, text) in [
        ("ktx.yaml", config.as_str()),
        ("agents/analyst.yaml", agent),
        ("cases.yaml", &cases),
    ] {
        std::fs::write(project.join(name), text)
            .with_context(|| format!("`{name}` cannot be written"))?;
    }
    Ok(())
}

pub(super) fn serve() -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port on loopback")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || drop(answer_all(&stream)));
        }
    });
    Ok(address)
}

fn answer_all(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while read_message(&mut reader)?.is_some() {
        thread::sleep(THINKS);
        let body = format!("data: {}\n\n", EVENTS.join("\n\ndata: "));
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
    Ok(())
}

pub(super) fn read_message(reader: &mut impl std::io::BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(body))
}

/// Sends one request per case over eight connections; returns milliseconds.
fn bare(address: &str) -> Result<f64> {
    let started = Instant::now();
    let clients: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let address = address.to_owned();
            thread::spawn(move || -> Result<()> {
                let stream = TcpStream::connect(&address)?;
                stream.set_nodelay(true)?;
                let mut reader = BufReader::new(&stream);
                let body = r#"{"model":"sonnet","stream":true,"messages":[{"role":"user","content":"How many?"}]}"#;
                for _ in 0..CASES / AT_ONCE {
                    write!(
                        &stream,
                        "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    )?;
                    if read_message(&mut reader)?.is_none() {
                        bail!("the model closed the connection");
                    }
                }
                Ok(())
            })
        })
        .collect();
    for client in clients {
        let joined = client.join();
        joined.map_err(|_| anyhow::anyhow!("a client failed"))??;
    }
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

/// Processor time of all ended children.
pub(super) fn children_ms() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("no processor time is known")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let numbers: Vec<f64> = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .flat_map(str::parse)
        .collect();
    let [user, system] = numbers.as_slice() else {
        bail!("the processor time cannot be read");
    };
    // Linux ticks are hundredths of a second.
    Ok((user + system) * 10.0)
}

fn rows(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let printed = process::output(&mut process::cargo(bench.repository, &ROWS))?;
    let figures: Value = serde_json::from_str(&printed).context("the measurements are not JSON")?;
    [
        ("equal", EQUAL_MS),
        ("shuffled", EQUAL_MS),
        ("unequal", UNEQUAL_MS),
        ("tangled", TANGLED_MS),
    ]
    .into_iter()
    .map(|(name, most)| {
        let measured = figures.get(name).and_then(Value::as_f64);
        Ok(Outcome {
            name: format!("sql_result, 10000 rows, {name}, against {most} ms"),
            unit: "ms",
            measured: measured.with_context(|| format!("`{name}` was not measured"))?,
            yardstick: most,
            bound: 1.0,
        })
    })
    .collect()
}
