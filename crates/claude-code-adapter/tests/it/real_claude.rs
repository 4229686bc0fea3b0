//! The real `claude`, from the oldest to the newest supported version, with an invented login in a
//! throw-away home, in front of a stand-in for its API on loopback.
//!
//! The fake `claude` and these tests keep each other honest: what the fake refuses must be what the
//! real program does not need, and what the adapter relies on must be what the real program does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher};
use ktx_llm_runtime::{EventSink, LlmErrorKind, LlmRuntime as _, RuntimeEvent, StopReason};
use ktx_test_support::provider_fake::{ModelAnswer, ProviderFake, log_in};
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    Heard, canaries, driver, loop_request, object_request, run_request, short, text_request, until,
};

const VERSIONS: [ServiceName; 3] = [
    ServiceName::ClaudeOldest,
    ServiceName::Claude142,
    ServiceName::ClaudeLatest,
];

/// A home, a project, an API and the settings for one real program.
struct Real {
    folder: TempDir,
    provider: ProviderFake,
    settings: ClaudeCodeSettings,
    heard: Arc<Heard>,
}

impl Real {
    /// `None` when the program is not there.
    async fn new(name: ServiceName, answers: Vec<ModelAnswer>) -> Option<Self> {
        let Service::Available(program) = service(name) else {
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("ktx-real-")
            .tempdir()
            .expect("a folder");
        let root = folder.path().canonicalize().expect("the folder exists");
        for name in ["home", "project", "tmp"] {
            std::fs::create_dir(root.join(name)).expect("a folder");
        }
        let provider = ProviderFake::start(&root, answers)
            .await
            .expect("the provider starts");
        let mut environment = provider.environment();
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", &*root.join("home").to_string_lossy()),
            ("TMPDIR", &*root.join("tmp").to_string_lossy()),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        log_in(&root.join("home")).expect("the login is written");
        let mut settings = ClaudeCodeSettings::new(root.join("project"), environment, "sonnet");
        settings.program = Some(PathBuf::from(program));
        settings.launcher = Launcher::Guarded(driver());
        settings.state_dir = Some(root.join("state"));
        Some(Self {
            folder,
            provider,
            settings,
            heard: Arc::default(),
        })
    }

    fn runtime(&self) -> ClaudeCodeRuntime {
        let events = Arc::clone(&self.heard) as Arc<dyn EventSink>;
        ClaudeCodeRuntime::new(self.settings.clone(), events).expect("the settings are good")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What every process of this test has in its environment.
    fn mark(&self) -> String {
        let home = self.folder.path().canonicalize().expect("it exists");
        format!("HOME={}/home", home.display())
    }

    /// Processes of this test.
    fn survivors(&self) -> Vec<u32> {
        claude_processes(&self.mark())
    }

    async fn nothing_is_left(&self) {
        until("nothing is left", || self.survivors().is_empty()).await;
    }

    /// The one child that waits, once it is ready.
    async fn spare(&self) -> u32 {
        until("a spare waits", || self.survivors().len() == 1).await;
        // Nothing tells from outside that it has answered; it does within this.
        tokio::time::sleep(Duration::from_secs(3)).await;
        *self.survivors().first().expect("it is still there")
    }

    /// No host but the model's; the oldest version looks for news about itself, whatever it is told.
    fn reached_nobody_else(&self, name: ServiceName) {
        let mut refused = self.provider.refused();
        if name == ServiceName::ClaudeOldest {
            refused.retain(|host| host != "raw.githubusercontent.com:443");
        }
        assert_eq!(refused, Vec::<String>::new(), "{name:?}");
    }

    /// Files below a folder of the home.
    fn stored(&self, name: &str) -> Vec<PathBuf> {
        files(&self.path("home").join(name))
    }
}

/// Processes with this in their environment.
fn claude_processes(mark: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("the tests run on Linux");
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let processes = entries.flatten().filter_map(number);
    processes
        .filter(|process| {
            let environment = std::fs::read(format!("/proc/{process}/environ"));
            environment.is_ok_and(|bytes| {
                bytes
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == mark.as_bytes())
            })
        })
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().collect());
    let entries: Vec<std::fs::DirEntry> = entries.unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| entry.path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn text(text: &str) -> ModelAnswer {
    ModelAnswer::Text(text.to_owned())
}

fn tools(calls: &[(&str, Value)]) -> ModelAnswer {
    ModelAnswer::Tools(
        calls
            .iter()
            .map(|(name, input)| ((*name).to_owned(), input.clone()))
            .collect(),
    )
}

fn error(status: u16, class: &str, headers: &[(&str, &str)]) -> ModelAnswer {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ModelAnswer::Error {
        status,
        class: class.to_owned(),
        message: "BACKEND WORDS".to_owned(),
        headers: headers.collect(),
    }
}

/// KTX-20…34, KTX-40…43: one request, no tools, no file of the host, no stored session, the login's
/// token although sixty variables say otherwise; the final token counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_comes_in_isolation() {
    for name in VERSIONS {
        let Some(mut real) = Real::new(name, vec![text("Hello.")]).await else {
            continue;
        };
        real.settings.environment.extend(canaries());
        let secret = real.path("secret.txt");
        std::fs::write(&secret, "SECRET-OF-THE-HOST").unwrap();
        std::fs::write(real.path("project/CLAUDE.md"), "MEMORY-OF-THE-HOST").unwrap();
        let prompt = format!("/clear Look at @{} and say hello.", secret.display());
        let outcome = real
            .runtime()
            .generate_text(text_request(&prompt))
            .await
            .unwrap();
        assert_eq!(outcome.text, "Hello.");
        assert_eq!(
            (outcome.metrics.steps, outcome.metrics.usage.output),
            (1, 77)
        );
        assert_eq!(outcome.metrics.usage.input_total(), 210);

        let requests = real.provider.model_requests();
        assert_eq!(requests.len(), 1, "{name:?}");
        let request = &requests[0];
        assert_eq!(request["tools"].as_array().map_or(0, Vec::len), 0);
        let said = request.to_string();
        assert!(said.contains("You are terse.") && said.contains(&*secret.to_string_lossy()));
        assert!(!said.contains("OF-THE-HOST") && !said.contains("canary-"));
        let seen = real.provider.seen();
        let model = seen.iter().find(|seen| seen.is_model_request()).unwrap();
        assert_eq!(
            model.headers["authorization"],
            "Bearer sk-ant-oat01-invented-access-token"
        );
        assert!(!model.headers.contains_key("x-api-key"));
        assert!(
            model.headers["user-agent"].contains("ktx/"),
            "{}",
            model.headers["user-agent"]
        );
        real.reached_nobody_else(name);
        assert_eq!(real.stored(".claude/projects"), Vec::<PathBuf>::new());
        let payer = "your Claude Max subscription through the local Claude Code session";
        let probed = real.runtime();
        probed.probe().await.unwrap();
        assert_eq!(probed.describe().payer, payer);
    }
}

/// KTX-30, KTX-31: a home and a project full of traps; none of them fires.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_ignored() {
    for name in VERSIONS {
        let Some(real) = Real::new(name, vec![text("Hello.")]).await else {
            continue;
        };
        let trap = real.path("trap-fired");
        let command = format!("touch {}", trap.display());
        let hook = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
        let settings = json!({
            "apiKeyHelper": format!("{command}; echo sk-ant-trap"),
            "hooks": { "SessionStart": hook, "UserPromptSubmit": hook, "Stop": hook },
            "env": { "ANTHROPIC_MODEL": "trap-model" },
        });
        let server =
            json!({ "mcpServers": { "trap": { "command": "sh", "args": ["-c", command] } } });
        for folder in ["home/.claude", "project/.claude"] {
            for inner in ["agents", "commands", "skills/trap"] {
                std::fs::create_dir_all(real.path(folder).join(inner)).unwrap();
            }
            let write = |name: &str, text: &str| {
                std::fs::write(real.path(folder).join(name), text).unwrap();
            };
            write("settings.json", &settings.to_string());
            write("CLAUDE.md", "MEMORY-OF-THE-HOST");
            write(
                "agents/trap.md",
                "---\nname: trap\ndescription: TRAP-AGENT\n---\nTRAP",
            );
            write("commands/trap.md", "TRAP-COMMAND");
            write(
                "skills/trap/SKILL.md",
                "---\nname: trap\ndescription: TRAP-SKILL\n---\nTRAP",
            );
        }
        std::fs::write(real.path("project/.mcp.json"), server.to_string()).unwrap();
        std::fs::write(real.path("project/CLAUDE.md"), "MEMORY-OF-THE-HOST").unwrap();
        let outcome = real
            .runtime()
            .generate_text(text_request("Say hello."))
            .await
            .unwrap();
        assert_eq!(outcome.text, "Hello.");
        let said = real.provider.model_requests()[0].to_string();
        assert!(!said.contains("OF-THE-HOST") && !said.contains("TRAP") && !said.contains("trap"));
        assert!(!trap.exists());
    }
}

/// KTX-51: the object goes through the program's own structured output.
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_given() {
    for name in VERSIONS {
        let wrong = tools(&[("StructuredOutput", json!({ "name": "orders" }))]);
        let right = tools(&[(
            "StructuredOutput",
            json!({ "name": "orders", "score": 0.9 }),
        )]);
        let Some(real) = Real::new(name, vec![wrong, right, text("Done.")]).await else {
            continue;
        };
        let outcome = real
            .runtime()
            .generate_object(object_request("An object."))
            .await
            .unwrap();
        assert_eq!(outcome.value, json!({ "name": "orders", "score": 0.9 }));
        let Some(real) = Real::new(name, vec![text("No."); 6]).await else {
            continue;
        };
        let failed = real
            .runtime()
            .generate_object(object_request("An object."))
            .await;
        let kind = short(failed).0;
        let expected = [LlmErrorKind::StructuredOutput, LlmErrorKind::MaxTurns];
        assert!(expected.contains(&kind), "{kind:?}");
    }
}

/// KTX-54, KTX-57, KTX-66, KTX-68: tools of ours run, two at a time; everything else is refused.
#[tokio::test(flavor = "multi_thread")]
async fn only_our_tools_are_called() {
    for name in VERSIONS {
        let key = json!({ "key": "orders" });
        let answers = vec![
            tools(&[
                ("mcp__ktx__answer", key.clone()),
                ("mcp__ktx__answer", json!({ "key": "b" })),
            ]),
            tools(&[
                ("mcp__ktx__fail", key.clone()),
                ("mcp__ktx__answer", json!({ "key": 7 })),
            ]),
            tools(&[
                ("Bash", json!({ "command": "touch trap" })),
                (
                    "Task",
                    json!({ "description": "d", "prompt": "p", "subagent_type": "Explore" }),
                ),
                ("KillShell", json!({ "shell_id": "1" })),
                ("mcp__other__push", json!({})),
            ]),
            tools(&[("mcp__ktx__flood", key.clone())]),
            text("All done."),
        ];
        let Some(real) = Real::new(name, answers).await else {
            continue;
        };
        let outcome = real
            .runtime()
            .run_agent_loop(loop_request("Work.", 8))
            .await;
        assert_eq!(
            (outcome.error, outcome.text.as_deref()),
            (None, Some("All done."))
        );
        let calls: Vec<(&str, bool)> = outcome
            .tools
            .iter()
            .map(|trace| (&*trace.name, trace.is_error))
            .collect();
        let expected = [
            ("answer", false),
            ("answer", false),
            ("fail", true),
            ("answer", true),
            ("Bash", true),
            ("Task", true),
            ("KillShell", true),
            ("mcp__other__push", true),
            ("flood", false),
        ];
        assert_eq!(calls, expected, "{name:?}");
        assert_eq!(
            (outcome.metrics.steps, outcome.metrics.tool_failures),
            (5, 6)
        );
        assert_eq!(outcome.metrics.usage.output, 5 * 77);
        let requests = real.provider.model_requests();
        let offered: Vec<&str> = requests[0]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        let ours = ["answer", "fail", "flood", "panic"].map(|name| format!("mcp__ktx__{name}"));
        assert_eq!(offered, ours);
        let said = requests.last().unwrap().to_string();
        assert!(said.contains("**orders**") && !said.contains("secret_face"));
        // The oldest version keeps long results to itself and shows their beginning.
        if name != ServiceName::ClaudeOldest {
            assert!(said.contains("_cursor") && said.contains(&"x".repeat(499_000)));
        }
        assert!(!real.path("project/trap").exists());
        real.reached_nobody_else(name);
    }
}

/// KTX-61, KTX-70: a used-up budget has exactly as many steps as turns.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_stops_at_the_budget() {
    for name in VERSIONS {
        let again = tools(&[("mcp__ktx__answer", json!({ "key": "k" }))]);
        let Some(real) = Real::new(name, vec![again; 6]).await else {
            continue;
        };
        let outcome = real
            .runtime()
            .run_agent_loop(loop_request("Work.", 3))
            .await;
        assert_eq!(
            (outcome.stop_reason, outcome.error),
            (StopReason::Budget, None)
        );
        assert_eq!((outcome.metrics.steps, outcome.tools.len()), (3, 3));
        assert_eq!(real.provider.model_requests().len(), 3);
    }
}

/// COG-05: a run of the real program has the same events as any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_events() {
    for name in VERSIONS {
        let call = tools(&[("mcp__ktx__answer", json!({ "key": "k" }))]);
        let Some(real) = Real::new(name, vec![call, text("All done.")]).await else {
            continue;
        };
        let mut handle = real.runtime().start_run(run_request("Work."));
        let mut kinds = Vec::new();
        while let Some(event) = handle.next_event().await {
            let text = format!("{event:?}");
            let kind: String = text
                .chars()
                .take_while(|letter| letter.is_alphanumeric())
                .collect();
            kinds.push(kind);
        }
        kinds.dedup();
        let last = kinds.split_off(kinds.len() - 3);
        assert_eq!(last, ["UsageReport", "AssistantFinal", "Done"]);
        kinds.sort();
        assert_eq!(
            kinds,
            [
                "TextDelta",
                "ToolCallResult",
                "ToolCallStart",
                "UsageReport"
            ]
        );
        let last = handle.finish().await;
        assert_eq!(
            (last.result.as_deref(), last.usage.output),
            (Ok("All done."), 154)
        );
    }
}

/// KTX-44, KTX-84: without a login no request leaves, whatever keys the environment holds.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_login_nothing_is_asked() {
    for name in VERSIONS {
        let Some(mut real) = Real::new(name, vec![text("BAD")]).await else {
            continue;
        };
        std::fs::remove_dir_all(real.path("home/.claude")).unwrap();
        std::fs::remove_file(real.path("home/.claude.json")).unwrap();
        let key = (
            "ANTHROPIC_API_KEY".to_owned(),
            "sk-ant-api03-canary".to_owned(),
        );
        real.settings.environment.extend([key]);
        let error = real.runtime().probe().await.unwrap_err();
        assert_eq!(
            (error.kind, &*error.message),
            (
                LlmErrorKind::Auth,
                "Claude Code is not usable with your local session"
            )
        );
        assert_eq!(real.provider.model_requests(), Vec::<Value>::new());
    }
}

/// KTX-67: failures of the API as the real program reports them.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_2_1_142_have_kinds() {
    failures_have_kinds(ServiceName::Claude142).await;
}

/// KTX-67: the same for the oldest version.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_oldest_have_kinds() {
    failures_have_kinds(ServiceName::ClaudeOldest).await;
}

/// KTX-67: the same for the newest version.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_newest_have_kinds() {
    failures_have_kinds(ServiceName::ClaudeLatest).await;
}

async fn failures_have_kinds(name: ServiceName) {
    use LlmErrorKind as Kind;
    let limit = [
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", "4102444800"),
        (
            "anthropic-ratelimit-unified-representative-claim",
            "five_hour",
        ),
    ];
    let table = [
        (error(401, "authentication_error", &[]), Kind::Auth),
        (error(429, "rate_limit_error", &limit), Kind::RateLimit),
        (error(529, "overloaded_error", &[]), Kind::Overloaded),
        (error(500, "api_error", &[]), Kind::Server),
        (error(404, "not_found_error", &[]), Kind::ModelNotFound),
        (
            error(400, "invalid_request_error", &[]),
            Kind::InvalidRequest,
        ),
    ];
    for (answer, kind) in table {
        let Some(real) = Real::new(name, vec![answer; 6]).await else {
            return;
        };
        let outcome = real
            .runtime()
            .generate_text(text_request("Say hello."))
            .await;
        let error = outcome.expect_err("the call fails");
        assert_eq!(error.kind, kind, "{name:?} {error:?}");
        assert!(!format!("{} {:?}", error.message, error.hint).contains("BACKEND"));
        if kind == Kind::RateLimit {
            assert!(error.retry_after.is_some());
            let window = |event: &RuntimeEvent| matches!(event, RuntimeEvent::RateLimitObserved { window, .. } if window == "five_hour");
            assert!(real.heard.all().iter().any(window));
        }
    }
}

/// COG-22: a cancelled call ends the real program, and nothing of it is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_nothing() {
    for name in VERSIONS {
        let Some(real) = Real::new(name, vec![ModelAnswer::Hang]).await else {
            continue;
        };
        let runtime = real.runtime();
        let request = text_request("Say hello.");
        let cancel = request.cancel.clone();
        let call = tokio::spawn(async move { runtime.generate_text(request).await });
        while real.provider.model_requests().is_empty() && !call.is_finished() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        cancel.cancel();
        assert_eq!(short(call.await.unwrap()).0, LlmErrorKind::Cancelled);
        assert_eq!(files(&real.path("state")), Vec::<PathBuf>::new());
    }
}

/// Versions that lack an option, or that ask models before anybody can check anything: the version
/// that was found and the one that is needed, and not one request.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_too_old_sends_nothing() {
    for (name, version) in [
        (ServiceName::ClaudeTooOld, "2.0.0"),
        (ServiceName::Claude2076, "2.0.76"),
    ] {
        let Some(real) = Real::new(name, vec![text("BAD")]).await else {
            continue;
        };
        too_old(&real, version).await;
    }
    // Nothing tells the version before the start: the options do.
    let Some(mut real) = Real::new(ServiceName::ClaudeTooOld, vec![text("BAD")]).await else {
        return;
    };
    let installed = real.settings.program.take().unwrap();
    for file in std::fs::read_dir(installed.parent().unwrap())
        .unwrap()
        .flatten()
    {
        if file.path().is_file() {
            std::fs::copy(file.path(), real.path("").join(file.file_name())).unwrap();
        }
    }
    std::fs::write(real.path("package.json"), r#"{ "type": "module" }"#).unwrap();
    real.settings.program = Some(real.path("cli.js"));
    too_old(&real, "2.0.0").await;
}

async fn too_old(real: &Real, version: &str) {
    let runtime = real.runtime();
    let message = format!("Claude Code {version} is too old: ktx needs 2.1.76 or newer");
    for outcome in [
        short(runtime.probe().await),
        short(runtime.generate_text(text_request("SECRET")).await),
    ] {
        assert_eq!(outcome, (LlmErrorKind::Process, message.clone()));
    }
    assert_eq!(real.provider.model_requests(), Vec::<Value>::new());
    assert_eq!(real.survivors(), Vec::<u32>::new());
}

/// A spare that was ready gets the second prompt, and nothing starts for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_gets_the_second_prompt() {
    for name in VERSIONS {
        let answers = vec![text("One."), text("Two.")];
        let Some(mut real) = Real::new(name, answers).await else {
            continue;
        };
        // One spare, of which the next one cannot be started while it works.
        real.settings.max_spares = 1;
        real.settings.max_children = Some(1);
        let runtime = real.runtime();
        let first = runtime.generate_text(text_request("First.")).await.unwrap();
        assert_eq!(first.text, "One.");
        let waiting = real.spare().await;
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (watched, mark) = (Arc::clone(&seen), real.mark());
        let watcher = tokio::task::spawn_blocking(move || {
            while Arc::strong_count(&watched) > 1 {
                watched
                    .lock()
                    .expect("no test panics here")
                    .extend(claude_processes(&mark));
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let second = runtime
            .generate_text(text_request("Second."))
            .await
            .unwrap();
        let during = seen.lock().unwrap().clone();
        drop(seen);
        watcher.await.unwrap();
        assert_eq!(second.text, "Two.");
        assert_eq!(during, BTreeSet::from([waiting]), "{name:?}");
        let requests = real.provider.model_requests();
        let prompts = ["First.", "Second."];
        let told: Vec<bool> = requests
            .iter()
            .zip(prompts)
            .map(|(request, prompt)| request["messages"].to_string().contains(prompt))
            .collect();
        assert_eq!((told, requests.len()), (vec![true, true], 2));
        drop(runtime);
        real.nothing_is_left().await;
    }
}

/// The parent is killed while its spare waits: no process is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_parent_leaves_no_process() {
    for name in VERSIONS {
        let Some(real) = Real::new(name, vec![text("One.")]).await else {
            continue;
        };
        let settings = &real.settings;
        let mut parent = tokio::process::Command::new(driver())
            .arg("stay")
            .arg(settings.program.as_ref().unwrap())
            .arg(&settings.project_dir)
            .arg(settings.state_dir.as_ref().unwrap())
            .env_clear()
            .envs(&settings.environment)
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        until("the call is over and the spare waits", || {
            let noted = files(&real.path("state/claude-children")).len();
            real.provider.model_requests().len() == 1 && noted == 1 && real.survivors().len() > 1
        })
        .await;
        parent.kill().await.unwrap();
        real.nothing_is_left().await;
    }
}

/// The login ends while a spare starts: the spare is not used and not started again and again, and
/// the next call says what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_without_a_login_is_not_used() {
    for name in VERSIONS {
        let Some(mut real) = Real::new(name, vec![text("One."), text("BAD")]).await else {
            continue;
        };
        real.settings.max_spares = 1;
        real.settings.timeouts.spare_pause = Duration::from_millis(500);
        let runtime = real.runtime();
        runtime.generate_text(text_request("First.")).await.unwrap();
        std::fs::remove_dir_all(real.path("home/.claude")).unwrap();
        std::fs::remove_file(real.path("home/.claude.json")).unwrap();
        until("the spare has come", || !real.survivors().is_empty()).await;
        real.nothing_is_left().await;
        let outcome = runtime.generate_text(text_request("Second.")).await;
        let message = "Claude Code is not usable with your local session";
        assert_eq!(short(outcome), (LlmErrorKind::Auth, message.to_owned()));
        assert_eq!(real.provider.model_requests().len(), 1);
        real.nothing_is_left().await;
    }
}

/// The system prompt is ours, also when it is empty, and nothing of the program's own long one.
#[tokio::test(flavor = "multi_thread")]
async fn the_system_prompt_is_ours() {
    for name in VERSIONS {
        for system in ["", "You describe tables in one sentence."] {
            let Some(real) = Real::new(name, vec![text("One.")]).await else {
                continue;
            };
            let mut request = text_request("Say hello.");
            request.system = system.to_owned();
            real.runtime().generate_text(request).await.unwrap();
            let requests = real.provider.model_requests();
            let told = requests[0]["system"].to_string();
            assert_eq!(requests.len(), 1, "{name:?}");
            assert!(told.contains(system) && told.len() < 800, "{name:?} {told}");
        }
    }
}
