//! Measures agent sessions: events, resume, scale and cost per command.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::cases::{EVENTS, children_ms, read_message, serve, write_project};
use super::measure::{median, milliseconds};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const RUNS: usize = 7;

const LISTED: &str = "10000";

/// Maximum microseconds of an event, and of processor time.
const EVENT_US: f64 = 10.0;
const PROCESSOR_US: f64 = 5.0;

/// Compared with a bare loop that writes the same bytes.
const EVENT_BOUND: f64 = 2.0;

/// 10,000 events, compared with reading and checking the same bytes.
const RESUME_BOUND: f64 = 3.0;

/// 16 concurrent logs, compared with one.
const DURABLE_BOUND: f64 = 0.25;

/// 1,000 waiting agents: KiB each, and milliseconds to open all.
const IDLE_KIB: f64 = 16.0;
const IDLE_MS: f64 = 2_000.0;

/// Maximum milliseconds with an index, and with an index rebuild.
const LIST_MS: f64 = 150.0;
const FIRST_LIST_MS: f64 = 3_000.0;

/// Maximum milliseconds from socket to standard output.
const FIRST_TEXT_MS: f64 = 5.0;

/// Compared with a run without a session.
const SESSION_BOUND: f64 = 1.15;

/// Enough for ticks of ten milliseconds.
const COMPARED: usize = 20;

const SILENCE: Duration = Duration::from_millis(300);

const EXAMPLE: [&str; 8] = [
    "run",
    "--release",
    "--quiet",
    "--locked",
    "-p",
    "ktx-agent-session",
    "--example",
    "sessions",
];

pub(crate) fn figures(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let mut outcomes = in_process(bench)?;
    outcomes.extend(list(bench)?);
    outcomes.push(first_text(bench)?);
    outcomes.push(with_and_without(bench)?);
    Ok(outcomes)
}

fn at_most(name: &str, unit: &'static str, measured: f64, most: f64) -> Outcome {
    Outcome {
        name: format!("{name}, against {most} {unit}"),
        unit,
        measured,
        yardstick: most,
        bound: 1.0,
    }
}

fn in_process(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let printed = process::output(&mut process::cargo(bench.repository, &EXAMPLE))?;
    outcomes_of(&printed)
}

pub(super) fn outcomes_of(printed: &str) -> Result<Vec<Outcome>> {
    let figures: Value = serde_json::from_str(printed).context("the measurements are not JSON")?;
    let number = |group: &str, name: &str| {
        let figure = figures.pointer(&format!("/{group}/{name}"));
        let figure = figure.and_then(Value::as_f64);
        figure.with_context(|| format!("`{name}` of `{group}` was not measured"))
    };
    let against_bare = |name: &str, group: &str, bound: f64| {
        Ok::<_, anyhow::Error>(Outcome {
            name: name.to_owned(),
            unit: "ms",
            measured: number(group, "ours_ms")?,
            yardstick: number(group, "bare_ms")?,
            bound,
        })
    };
    let events = number("events", "events")?;
    let each = |milliseconds: f64| milliseconds * 1_000.0 / events;
    let wall = each(number("events", "ours_ms")?);
    let processor = each(number("events", "processor_ms")?);
    let (descriptors, threads) = (number("idle", "descriptors")?, number("idle", "threads")?);
    Ok(vec![
        at_most("an event through a session", "µs", wall, EVENT_US),
        at_most("an event, processor time", "µs", processor, PROCESSOR_US),
        against_bare(
            "events through a session against a bare loop",
            "events",
            EVENT_BOUND,
        )?,
        against_bare(
            "resume of 10000 events against reading them",
            "resume",
            RESUME_BOUND,
        )?,
        against_bare(
            "a durable record of 16 logs against one of a single log",
            "durable",
            DURABLE_BOUND,
        )?,
        at_most("a waiting agent", "KiB", number("idle", "kib")?, IDLE_KIB),
        at_most("opening 1000 agents", "ms", number("idle", "ms")?, IDLE_MS),
        Outcome {
            name: "descriptors and threads of 1000 waiting agents".to_owned(),
            unit: "descriptors and threads",
            measured: descriptors + threads,
            yardstick: 1_000.0,
            bound: 0.0,
        },
    ])
}

fn list(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let project = project(bench, "session-list")?;
    let agents = project.join(".ktx/state/agents");
    let folder = agents.join("sessions");
    let folder = folder.to_string_lossy();
    let arguments = [EXAMPLE.as_slice(), &["--", "fill", &folder, LISTED]].concat();
    process::output(&mut process::cargo(bench.repository, &arguments))?;
    let list = || ktx(bench, &project, &["agent", "sessions", "list", "--json"]);
    let first = milliseconds(&mut list())?;
    let mut later = Vec::new();
    for _ in 0..RUNS {
        later.push(milliseconds(&mut list())?);
    }
    Ok(vec![
        at_most(
            "agent sessions list of 10000, index built again",
            "ms",
            first,
            FIRST_LIST_MS,
        ),
        at_most("agent sessions list of 10000", "ms", median(later), LIST_MS),
    ])
}

/// Reports when it has sent its first text.
fn slow_model() -> Result<(String, mpsc::Receiver<Instant>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port on loopback")?;
    let address = listener.local_addr()?.to_string();
    let (sent, times) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sent = sent.clone();
            thread::spawn(move || drop(answer_slowly(&stream, &sent)));
        }
    });
    Ok((address, times))
}

fn answer_slowly(stream: &TcpStream, sent: &mpsc::Sender<Instant>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream;
    if read_message(&mut BufReader::new(stream))?.is_none() {
        return Ok(());
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    writer.write_all(head.as_bytes())?;
    for (number, event) in EVENTS.iter().enumerate() {
        writer.write_all(format!("data: {event}\n\n").as_bytes())?;
        if number == 2 {
            if sent.send(Instant::now()).is_err() {
                return Ok(());
            }
            thread::sleep(SILENCE);
        }
    }
    Ok(())
}

fn first_text(bench: &Bench<'_>) -> Result<Outcome> {
    let (address, times) = slow_model()?;
    let project = project(bench, "first-text")?;
    write_project(&project, &address)?;
    let mut took = Vec::new();
    for _ in 0..RUNS {
        let printed = first_printed(&mut asking(bench, &project, &["--events"]))?;
        let sent = times.recv().context("the model was not asked")?;
        took.push(printed.saturating_duration_since(sent).as_secs_f64() * 1_000.0);
    }
    Ok(at_most(
        "agent run, the first text from the socket to standard output",
        "ms",
        median(took),
        FIRST_TEXT_MS,
    ))
}

fn asking(bench: &Bench<'_>, project: &Path, more: &[&str]) -> Command {
    let arguments = [
        &["agent", "run", "--agent", "analyst", "-m", "How many?"],
        more,
    ]
    .concat();
    let mut command = ktx(bench, project, &arguments);
    command.env("BENCH_KEY", "invented");
    command
}

fn first_printed(command: &mut Command) -> Result<Instant> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} could not be started", process::shown(command)))?;
    let output = child.stdout.take().context("the run has no output")?;
    let mut printed = None;
    for line in BufReader::new(output).lines() {
        if line?.contains("\"text_chunk\"") {
            printed.get_or_insert_with(Instant::now);
        }
    }
    if !child.wait()?.success() {
        bail!("{} failed", process::shown(command));
    }
    printed.context("the run printed no text")
}

/// Compares processor time, in turns.
fn with_and_without(bench: &Bench<'_>) -> Result<Outcome> {
    let address = serve()?;
    let project = project(bench, "with-session")?;
    write_project(&project, &address)?;
    let (mut measured, mut yardstick) = (0.0, 0.0);
    for _ in 0..COMPARED {
        let before = children_ms()?;
        milliseconds(&mut asking(bench, &project, &["--no-session"]))?;
        let between = children_ms()?;
        milliseconds(&mut asking(bench, &project, &[]))?;
        yardstick += between - before;
        measured += children_ms()? - between;
    }
    Ok(Outcome {
        name: "agent run with a session against one without, processor time".to_owned(),
        unit: "ms",
        measured,
        yardstick,
        bound: SESSION_BOUND,
    })
}
