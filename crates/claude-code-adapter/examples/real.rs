//! Measures the real `claude` against a fake of its API: a new child, a spare, the bare program.
//! `real <claude> <folder> <runs>` prints medians as JSON.
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement starts the bare program and makes its own folders"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher, internal_guard};
use ktx_llm_runtime::{CallLabel, LlmRuntime as _, NoEvents, TextRequest};
use ktx_test_support::provider_fake::{ModelAnswer, ProviderFake, log_in};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// As isolated as ktx's.
const ARGUMENTS: [&str; 12] = [
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--no-session-persistence",
    "--setting-sources=",
    "--strict-mcp-config",
    "--tools=",
    "--permission-mode=dontAsk",
    "--permission-prompt-tool=stdio",
    "--max-turns=1",
    "--model=sonnet",
];

/// Several times the need.
const READY: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["internal-guard"] => {
            internal_guard();
            return ExitCode::SUCCESS;
        }
        [claude, folder, runs] => measured(claude, folder, runs),
        _ => Err("real <claude> <folder> <runs>".into()),
    };
    let (text, code) = match outcome {
        Ok(figures) => (figures.to_string(), ExitCode::SUCCESS),
        Err(error) => (error.to_string(), ExitCode::FAILURE),
    };
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn measured(claude: &str, folder: &str, runs: &str) -> Outcome<Value> {
    let runs: usize = runs.parse()?;
    let folder = Path::new(folder);
    for name in ["home", "project", "tmp"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    let folder = folder.canonicalize()?;
    log_in(&folder.join("home"))?;
    let threads = tokio::runtime::Runtime::new()?;
    threads.block_on(async {
        let (mut cold, mut spare, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            let answers = vec![ModelAnswer::Text("Hello.".to_owned()); 3];
            let provider = ProviderFake::start(&folder, answers).await?;
            let runtime = runtime(claude, &folder, &provider)?;
            cold.push(call(&runtime).await?);
            tokio::time::sleep(READY).await;
            spare.push(call(&runtime).await?);
            drop(runtime);
            bare.push(tokio::task::block_in_place(|| {
                alone(claude, &folder, &provider)
            })?);
            let asked = provider.model_requests().len();
            if asked != 3 {
                return Err(format!("{asked} requests for three calls").into());
            }
        }
        let (cold, spare, bare) = (median(cold), median(spare), median(bare));
        Ok(json!({ "cold_ms": cold, "spare_ms": spare, "bare_ms": bare }))
    })
}

fn runtime(claude: &str, folder: &Path, provider: &ProviderFake) -> Outcome<ClaudeCodeRuntime> {
    let environment = environment(folder, provider);
    let mut settings = ClaudeCodeSettings::new(folder.join("project"), environment, "sonnet");
    settings.program = Some(claude.into());
    settings.launcher = Launcher::Guarded(std::env::current_exe()?);
    settings.state_dir = Some(folder.join("state"));
    settings.max_spares = 1;
    let runtime = ClaudeCodeRuntime::new(settings, Arc::new(NoEvents));
    Ok(runtime.map_err(|error| error.message)?)
}

fn environment(folder: &Path, provider: &ProviderFake) -> BTreeMap<String, String> {
    let mut environment = provider.environment();
    for (name, value) in [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", folder.join("home").display().to_string()),
        ("TMPDIR", folder.join("tmp").display().to_string()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    environment
}

/// Prompt to result, in milliseconds.
fn alone(claude: &str, folder: &Path, provider: &ProviderFake) -> Outcome<f64> {
    let mut child = Command::new(claude)
        .args(ARGUMENTS)
        .env_clear()
        .envs(environment(folder, provider))
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1")
        .env("DISABLE_AUTO_COMPACT", "1")
        .current_dir(folder.join("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("there is no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("there is no output")?).lines();
    let mut until = |kind: &str| -> Outcome<()> {
        for line in &mut lines {
            let frame: Value = serde_json::from_str(&line?)?;
            if frame["type"] == kind {
                return Ok(());
            }
        }
        Err(format!("the bare program ended before its {kind}").into())
    };
    let start = json!({ "subtype": "initialize", "systemPrompt": "", "skills": [],
        "title": "ktx bench", "hooks": {} });
    let start = json!({ "type": "control_request", "request_id": "1", "request": start });
    writeln!(input, "{start}")?;
    until("control_response")?;
    std::thread::sleep(READY);
    let started = Instant::now();
    let prompt = json!({ "type": "user", "session_id": "", "parent_tool_use_id": null,
        "client_composed": true,
        "message": { "role": "user", "content": [{ "type": "text", "text": "Say hello." },
            { "type": "text", "text": "Follow the instructions above." }] } });
    writeln!(input, "{prompt}")?;
    until("result")?;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    drop(input);
    child.wait()?;
    Ok(took)
}

async fn call(runtime: &ClaudeCodeRuntime) -> Outcome<f64> {
    let request = TextRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "Say hello.".to_owned(),
        cancel: CancellationToken::new(),
        label: CallLabel {
            run_id: RunId::parse("real")?,
            stage: "bench".to_owned(),
            unit: None,
            connection: None,
        },
    };
    let started = Instant::now();
    let answer = runtime.generate_text(request).await;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    answer.map_err(|error| format!("{}: {:?}", error.message, error.detail))?;
    Ok(took)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
