//! What a call takes with the real `claude` in front of a stand-in for its API that answers at once:
//! with a child of its own, and with a spare that waits. `real <claude> <folder> <runs>` prints the
//! medians as JSON.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher, internal_guard};
use ktx_llm_runtime::{CallLabel, LlmRuntime as _, NoEvents, TextRequest};
use ktx_test_support::provider_fake::{ModelAnswer, ProviderFake, log_in};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// In which the real program is ready for its prompt, several times over.
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
        let (mut cold, mut spare) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let answers = vec![ModelAnswer::Text("Hello.".to_owned()); 2];
            let provider = ProviderFake::start(&folder, answers).await?;
            let runtime = runtime(claude, &folder, &provider)?;
            cold.push(call(&runtime).await?);
            tokio::time::sleep(READY).await;
            spare.push(call(&runtime).await?);
            let asked = provider.model_requests().len();
            if asked != 2 {
                return Err(format!("{asked} requests for two calls").into());
            }
        }
        Ok(json!({ "cold_ms": median(cold), "spare_ms": median(spare) }))
    })
}

fn runtime(claude: &str, folder: &Path, provider: &ProviderFake) -> Outcome<ClaudeCodeRuntime> {
    let mut environment = provider.environment();
    for (name, value) in [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", folder.join("home").display().to_string()),
        ("TMPDIR", folder.join("tmp").display().to_string()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    let mut settings = ClaudeCodeSettings::new(folder.join("project"), environment, "sonnet");
    settings.program = Some(claude.into());
    settings.launcher = Launcher::Guarded(std::env::current_exe()?);
    settings.state_dir = Some(folder.join("state"));
    settings.max_spares = 1;
    let runtime = ClaudeCodeRuntime::new(settings, Arc::new(NoEvents));
    Ok(runtime.map_err(|error| error.message)?)
}

/// One text call, in milliseconds.
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
