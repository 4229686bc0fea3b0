//! Measures the driver against the fake `claude`: one line of JSON for `cargo xtask bench claude`.
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement writes scenarios, starts the bare program and looks at processes"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher, internal_guard};
use ktx_llm_runtime::{CallLabel, LlmRuntime as _, LoopRequest, NoEvents, TextRequest};
use ktx_test_support::fake_claude::SCENARIO_VARIABLE;
use ktx_tool_descriptors::{
    ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error>>;

const ENDINGS: [&str; 6] = ["natural", "budget", "cancel", "crash", "kill", "tool-error"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == "internal-guard")
    {
        internal_guard();
        return ExitCode::SUCCESS;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    report(match words.as_slice() {
        ["endings", fake, folder, runs] => with(fake, folder, runs, Figure::Endings),
        ["warm", fake, folder, runs] => with(fake, folder, runs, Figure::Warm),
        ["spare", fake, folder, runs] => with(fake, folder, runs, Figure::Spare),
        _ => Err("figures endings|warm|spare <fake> <folder> <runs>".into()),
    })
}

fn report(outcome: Outcome<Value>) -> ExitCode {
    let (text, code) = match outcome {
        Ok(figures) => (figures.to_string(), ExitCode::SUCCESS),
        Err(error) => (error.to_string(), ExitCode::FAILURE),
    };
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

#[derive(Clone, Copy)]
enum Figure {
    Endings,
    Warm,
    Spare,
}

fn with(fake: &str, folder: &str, runs: &str, figure: Figure) -> Outcome<Value> {
    let runs: usize = runs.parse()?;
    let bench = FigureSetup::new(fake, Path::new(folder))?;
    let threads = tokio::runtime::Runtime::new()?;
    match figure {
        Figure::Endings => threads.block_on(endings(&bench, runs)),
        Figure::Warm => threads.block_on(calls(&bench, runs, Duration::ZERO)),
        Figure::Spare => threads.block_on(calls(&bench, runs, READY)),
    }
}

const READY: Duration = Duration::from_millis(60);

struct FigureSetup {
    settings: ClaudeCodeSettings,
    scenario: PathBuf,
    record: PathBuf,
}

impl FigureSetup {
    fn new(fake: &str, folder: &Path) -> Outcome<Self> {
        let project = folder.join("project");
        std::fs::create_dir_all(&project)?;
        let scenario = folder.join("scenario.json");
        let environment = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("HOME".to_owned(), folder.display().to_string()),
            (SCENARIO_VARIABLE.to_owned(), scenario.display().to_string()),
        ]);
        let mut settings = ClaudeCodeSettings::new(project, environment, "sonnet");
        settings.program = Some(fake.into());
        settings.state_dir = Some(folder.join("state"));
        settings.launcher = Launcher::Guarded(std::env::current_exe()?);
        Ok(Self {
            settings,
            scenario,
            record: folder.join("record.jsonl"),
        })
    }

    fn play(&self, scenario: &Value) -> Outcome<()> {
        Ok(std::fs::write(&self.scenario, scenario.to_string())?)
    }

    fn runtime(&self) -> Outcome<ClaudeCodeRuntime> {
        let runtime = ClaudeCodeRuntime::new(self.settings.clone(), Arc::new(NoEvents));
        Ok(runtime.map_err(|error| error.message)?)
    }

    fn survivors(&self) -> Outcome<usize> {
        let mark = self.scenario.display().to_string();
        let mut count = 0;
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            count += usize::from(String::from_utf8_lossy(&environment).contains(&mark));
        }
        Ok(count)
    }
}

/// Remaining processes after every ending; memory early and late.
async fn endings(bench: &FigureSetup, runs: usize) -> Outcome<Value> {
    bench.play(&six_endings())?;
    let runtime = Arc::new(bench.runtime()?);
    let mut early = 0;
    for (number, name) in ENDINGS.iter().cycle().take(runs).enumerate() {
        let marker = bench.settings.project_dir.join(name);
        let request = loop_request(name)?;
        let cancel = request.cancel.clone();
        let shared = Arc::clone(&runtime);
        let call = tokio::spawn(async move { shared.run_agent_loop(request).await });
        if matches!(*name, "cancel" | "kill") {
            while !marker.exists() && !call.is_finished() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let process = std::fs::read_to_string(&marker)?;
            std::fs::remove_file(&marker)?;
            if *name == "cancel" {
                cancel.cancel();
            } else {
                Command::new("kill").args(["-KILL", &process]).status()?;
            }
        }
        call.await?;
        if number == runs / 5 {
            early = resident()?;
        }
    }
    let late = resident()?;
    drop(runtime);
    let mut orphans = bench.survivors()?;
    for _ in 0..100 {
        if orphans == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        orphans = bench.survivors()?;
    }
    Ok(json!({ "runs": runs, "orphans": orphans, "early_kib": early, "late_kib": late }))
}

/// Medians in milliseconds, alternating with the bare program. With `ready`, a child waits on both
/// sides first.
async fn calls(bench: &FigureSetup, runs: usize, ready: Duration) -> Outcome<Value> {
    bench.play(&json!({ "echo": {}, "record": bench.record }))?;
    let mut settings = bench.settings.clone();
    settings.max_spares = 1;
    settings.timeouts.spare_pause = Duration::ZERO;
    if ready.is_zero() {
        // No spare starts after the first call of a kind.
        settings.timeouts.spare_pause = Duration::from_hours(1);
    }
    let runtime = ClaudeCodeRuntime::new(settings, Arc::new(NoEvents));
    let runtime = runtime.map_err(|error| error.message)?;
    let kind = |call: usize| if ready.is_zero() { call } else { 0 };
    say(&runtime, kind(0)).await?;
    // A call returns before its child has written the record.
    runtime.settle().await;
    let record = std::fs::read_to_string(&bench.record)?;
    let record: Value = serde_json::from_str(record.lines().next().unwrap_or_default())?;
    bench.play(&json!({ "echo": {} }))?;
    // The waiting child still writes its record.
    say(&runtime, kind(1)).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for call in 0..runs {
        tokio::time::sleep(ready).await;
        let started = Instant::now();
        say(&runtime, kind(call + 2)).await?;
        ours.push(started.elapsed());
        // The exit of one child must not count for the other.
        runtime.settle().await;
        bare.push(tokio::task::block_in_place(|| {
            alone(bench, &record, ready)
        })?);
    }
    Ok(json!({ "ours_ms": median(ours), "bare_ms": median(bare) }))
}

/// With the same arguments, environment and lines.
fn alone(bench: &FigureSetup, record: &Value, ready: Duration) -> Outcome<Duration> {
    let arguments = record["arguments"].as_array().into_iter().flatten();
    let environment = record["environment"].as_object().into_iter().flatten();
    let program = bench
        .settings
        .program
        .as_ref()
        .ok_or("there is no program")?;
    let mut started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments.filter_map(Value::as_str))
        .env_clear()
        .envs(environment.filter_map(|(name, value)| Some((name, value.as_str()?))))
        .current_dir(&bench.settings.project_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("there is no input")?;
    let output = child.stdout.take().ok_or("there is no output")?;
    let mut lines = BufReader::new(output).lines();
    writeln!(
        input,
        "{}",
        json!({ "type": "control_request", "request_id": "1", "request": record["initialize"] })
    )?;
    lines.next().ok_or("there is no answer")??;
    if !ready.is_zero() {
        std::thread::sleep(ready);
        started = Instant::now();
    }
    writeln!(
        input,
        "{}",
        json!({
            "type": "user", "session_id": "", "parent_tool_use_id": null, "client_composed": true,
            "message": { "role": "user", "content": [
                { "type": "text", "text": record["prompt"] },
                { "type": "text", "text": "Follow the instructions above." },
            ] },
        })
    )?;
    for line in &mut lines {
        if line?.contains("\"type\":\"result\"") {
            break;
        }
    }
    let answered = started.elapsed();
    drop(input);
    if child.wait()?.success() {
        Ok(answered)
    } else {
        Err("the bare program failed".into())
    }
}

async fn say(runtime: &ClaudeCodeRuntime, kind: usize) -> Outcome<()> {
    let request = TextRequest {
        role: ModelRole::Default,
        system: format!("You are terse. {kind}"),
        prompt: "Say hello.".to_owned(),
        cancel: CancellationToken::new(),
        label: label()?,
    };
    let outcome = runtime.generate_text(request).await;
    Ok(outcome.map(|_| ()).map_err(|error| error.message)?)
}

fn loop_request(prompt: &str) -> Outcome<LoopRequest> {
    let tool = |name: &str, handler| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler,
    };
    let answer = handler_fn(|_, _| Ok(ToolOutput::text("fine")));
    let fail = handler_fn(|_, _| Err(ToolError::new("there is no such table")));
    Ok(LoopRequest {
        role: ModelRole::Default,
        system: "You work.".to_owned(),
        prompt: prompt.to_owned(),
        tools: ToolSet::new(vec![tool("answer", answer), tool("fail", fail)])?,
        step_budget: 2,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label()?,
    })
}

fn label() -> Outcome<CallLabel> {
    Ok(CallLabel {
        run_id: RunId::parse("figures")?,
        stage: "bench".to_owned(),
        unit: None,
        connection: None,
    })
}

fn six_endings() -> Value {
    let call = |tool: &str| json!({ "tools": [{ "name": tool, "input": {} }] });
    let steps = [
        json!([call("answer"), { "text": "Done." }]),
        json!([call("answer"), call("answer"), call("answer")]),
        json!([{ "mark": "cancel" }, "hang"]),
        json!([call("answer"), "die"]),
        json!([{ "mark": "kill" }, "hang"]),
        json!([call("fail"), { "text": "Done." }]),
    ];
    let when = ENDINGS.iter().zip(steps);
    let when = when.map(|(name, steps)| json!({ "prompt_contains": name, "steps": steps }));
    json!({ "when": when.collect::<Vec<_>>() })
}

fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    Ok(figure.ok_or("the memory is not reported")?.parse()?)
}

fn median(mut figures: Vec<Duration>) -> f64 {
    figures.sort();
    let middle = figures.get(figures.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1000.0
}
