//! Processes: how they end with a canceled call, a dropped call, a killed parent (COG-22).

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ktx_claude_code_adapter::Launcher;
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _};
use ktx_test_support::fake_claude::SCENARIO_VARIABLE;
use serde_json::{Value, json};

use crate::support::{
    TestSetup, driver, kill, loop_request, probe_request, short, text_request, until,
};

/// COG-22: interrupt, grace, TERM, KILL.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_child() {
    let stubborn = json!({ "ignore_interrupt": true, "steps": ["ignore_termination", "hang"] });
    let scenarios = [
        json!({ "steps": ["hang"] }),
        json!({ "ignore_interrupt": true, "steps": ["hang"] }),
        stubborn,
        json!({ "before": ["hang"] }),
    ];
    for scenario in scenarios {
        let mut bench = TestSetup::new(scenario.clone());
        let limits = &mut bench.settings.timeouts;
        limits.interrupt = Duration::from_millis(300);
        limits.terminate = Duration::from_millis(300);
        let runtime = Arc::new(bench.runtime());
        let request = text_request("Say hello.");
        let cancel = request.cancel.clone();
        let call = tokio::spawn(async move { runtime.generate_text(request).await });
        until("the child runs", || {
            !bench.survivors().is_empty() && bench.notes() == 1
        })
        .await;
        cancel.cancel();
        let outcome = call.await.unwrap();
        assert_eq!(
            short(outcome),
            (LlmErrorKind::Cancelled, "cancelled".to_owned()),
            "{scenario}"
        );
        assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_waits_can_be_cancelled() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    let busy = bench.root().join("busy");
    std::fs::copy(bench.settings.program.as_ref().unwrap(), &busy).unwrap();
    let _writer = std::fs::File::options().append(true).open(&busy).unwrap();
    bench.settings.program = Some(busy);
    bench.settings.launcher = Launcher::Direct;
    bench.settings.timeouts.spawn_backoff = Duration::from_hours(1);
    let request = text_request("Say hello.");
    let cancel = request.cancel.clone();
    let runtime = bench.runtime();
    let call = tokio::spawn(async move { runtime.generate_text(request).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!call.is_finished());
    cancel.cancel();
    assert_eq!(short(call.await.unwrap()).0, LlmErrorKind::Cancelled);
    assert!(bench.records().is_empty());
}

/// For a configured program and for one on the `PATH`.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_replaced_is_looked_for_again() {
    for named in [true, false] {
        let mut bench = TestSetup::new(json!({ "echo": {} }));
        let folder = bench.root().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let program = folder.join("claude");
        let real = bench.settings.program.take().unwrap();
        let variables = &mut bench.settings.environment;
        variables.insert("PATH".to_owned(), folder.to_string_lossy().into_owned());
        bench.settings.program = named.then(|| program.clone());
        bench.settings.timeouts.spawn_backoff = Duration::from_millis(300);
        bench.settings.launcher = Launcher::Direct;
        std::os::unix::fs::symlink(&real, &program).unwrap();
        let runtime = Arc::new(bench.runtime());
        runtime.probe(probe_request()).await.unwrap();
        std::fs::remove_file(&program).unwrap();
        let call = {
            let runtime = Arc::clone(&runtime);
            tokio::spawn(async move { runtime.generate_text(text_request("Say hello.")).await })
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Not executable yet.
        std::fs::write(&program, "half of it").unwrap();
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(!call.is_finished(), "named: {named}");
        std::fs::remove_file(&program).unwrap();
        std::os::unix::fs::symlink(&real, &program).unwrap();
        assert_eq!(call.await.unwrap().unwrap().text, "ok", "named: {named}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_program_in_the_place_of_the_first_is_found_before_its_prompt() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    let program = bench.root().join("claude");
    let real = bench.settings.program.replace(program.clone()).unwrap();
    std::os::unix::fs::symlink(&real, &program).unwrap();
    let runtime = bench.runtime();
    for _ in 0..2 {
        let said = runtime.generate_text(text_request("Say hello.")).await;
        assert_eq!(said.unwrap().text, "ok");
    }
    let asked = bench.root().join("asked");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.0.10 (Claude Code)'; else touch '{}'; fi\n",
        asked.display()
    );
    let next = bench.root().join("next");
    std::fs::write(&next, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&next, mode).unwrap();
    std::fs::rename(&next, &program).unwrap();
    let old = "Claude Code 2.0.10 is too old: ktx needs 2.1.76 or newer";
    for _ in 0..2 {
        let said = runtime.generate_text(text_request("Say hello.")).await;
        assert_eq!(short(said), (LlmErrorKind::Process, old.to_owned()));
    }
    assert!(!asked.exists());
    std::fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(&real, &program).unwrap();
    let said = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(said.unwrap().text, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_is_reported() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    bench.settings.program = Some("/no/such/claude".into());
    let message = "Claude Code is not installed: `/no/such/claude` does not exist";
    let missing = (LlmErrorKind::Process, message.to_owned());
    let outcome = bench.runtime().generate_text(text_request("Hello.")).await;
    assert_eq!(short(outcome), missing);
    bench.settings.timeouts.spawn_backoff = Duration::from_hours(1);
    assert_eq!(short(bench.runtime().probe(probe_request()).await), missing);
}

/// C-19.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_is_tried_again_three_times() {
    for is_released in [true, false] {
        let mut bench = TestSetup::new(json!({ "echo": {} }));
        let busy = bench.root().join("busy");
        std::fs::copy(bench.settings.program.as_ref().unwrap(), &busy).unwrap();
        let writer = std::fs::File::options().append(true).open(&busy).unwrap();
        bench.settings.program = Some(busy);
        bench.settings.launcher = Launcher::Direct;
        if is_released {
            bench.settings.timeouts.spawn_backoff = Duration::from_secs(1);
        }
        let runtime = bench.runtime();
        let call =
            tokio::spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
        if is_released {
            // After the first attempt, before the second.
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!call.is_finished());
            drop(writer);
            assert_eq!(call.await.unwrap().unwrap().text, "ok");
        } else {
            let (kind, message) = short(call.await.unwrap());
            assert_eq!(kind, LlmErrorKind::Process);
            assert!(message.contains("could not be started"), "{message}");
            assert!(bench.records().is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_loop_cancels_its_tools() {
    let bench = TestSetup::new(json!({ "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "slow" } }] }, { "text": "BAD" },
    ] }));
    let mut request = loop_request("Work.", 3);
    let cancel = request.cancel.clone();
    let (started, running) = tokio::sync::oneshot::channel();
    let slow = SlowTool(std::sync::Mutex::new(Some(started)));
    let mut tools: Vec<_> = request.tools.iter().cloned().collect();
    tools.first_mut().unwrap().handler = Arc::new(slow);
    request.tools = ktx_tool_descriptors::ToolSet::new(tools).unwrap();
    let runtime = bench.runtime();
    let call = tokio::spawn(async move { runtime.run_agent_loop(request).await });
    running.await.unwrap();
    cancel.cancel();
    let outcome = call.await.unwrap();
    assert_eq!(
        outcome.error.map(|error| error.kind),
        Some(LlmErrorKind::Cancelled)
    );
    assert_eq!(bench.survivors(), Vec::<u32>::new());
}

struct SlowTool(std::sync::Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

#[async_trait::async_trait]
impl ktx_tool_descriptors::ToolHandler for SlowTool {
    async fn call(
        &self,
        _arguments: Value,
        _context: ktx_tool_descriptors::CallContext,
    ) -> Result<ktx_tool_descriptors::ToolOutput, ktx_tool_descriptors::ToolError> {
        let started = self.0.lock().expect("no test panics here").take();
        started
            .expect("it is called once")
            .send(())
            .expect("the test listens");
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_waits_for_our_own_tools() {
    let mut bench = TestSetup::new(json!({ "steps": [
        { "tools": [{ "name": "answer", "input": { "key": "slow" } }] }, { "text": "All done." },
    ] }));
    bench.settings.timeouts.silence = Duration::from_secs(3);
    let mut request = loop_request("Work.", 3);
    let mut tools: Vec<_> = request.tools.iter().cloned().collect();
    tools.first_mut().unwrap().handler = Arc::new(PatientTool);
    request.tools = ktx_tool_descriptors::ToolSet::new(tools).unwrap();
    let outcome = bench.runtime().run_agent_loop(request).await;
    assert_eq!(
        (outcome.error, outcome.text.as_deref()),
        (None, Some("All done."))
    );
}

struct PatientTool;

#[async_trait::async_trait]
impl ktx_tool_descriptors::ToolHandler for PatientTool {
    async fn call(
        &self,
        _arguments: Value,
        _context: ktx_tool_descriptors::CallContext,
    ) -> Result<ktx_tool_descriptors::ToolOutput, ktx_tool_descriptors::ToolError> {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ktx_tool_descriptors::ToolOutput::text("late"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_leaves_nothing() {
    let bench =
        TestSetup::new(json!({ "steps": [{ "daemon": "own" }, { "daemon": "same" }, "hang"] }));
    let runtime = bench.runtime();
    let call = tokio::spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    until("the child and its daemons run", || {
        bench.survivors().len() >= 3
    })
    .await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    until("the tree is gone", || bench.survivors().is_empty()).await;
    assert_eq!(bench.notes(), 0);
}

/// With its answer, its failure and its cancellation.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_in_another_session_ends_with_the_call() {
    let daemon = json!({ "daemon": "session" });
    let wait = json!({ "sleep": 500 });
    for (steps, is_cancelled) in [
        (json!([daemon, wait, { "text": "Done." }]), false),
        (
            json!([daemon, wait, { "api_error": { "class": "server_error", "status": 500 } }]),
            false,
        ),
        (json!([daemon, "hang"]), true),
    ] {
        let bench = TestSetup::new(json!({ "steps": steps }));
        let file = bench.root().join("project/daemon.pid");
        let mut request = text_request("Say hello.");
        let cancel = tokio_util::sync::CancellationToken::new();
        request.cancel = cancel.clone();
        let runtime = bench.runtime();
        let (outcome, ()) = tokio::join!(runtime.generate_text(request), async {
            until("the daemon runs", || file.exists()).await;
            if is_cancelled {
                cancel.cancel();
            }
        });
        drop(outcome);
        let process = std::fs::read_to_string(&file).unwrap();
        let process: u32 = process.trim().parse().unwrap();
        until("the daemon is gone", || !runs(process)).await;
    }
}

/// A zombie does not run.
fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    !state.is_empty() && !state.starts_with('Z')
}

struct ProcessFamily {
    parent: tokio::process::Child,
    guard: u32,
}

async fn family(bench: &TestSetup, word: &str) -> ProcessFamily {
    let settings = &bench.settings;
    let parent = tokio::process::Command::new(driver())
        .arg(word)
        .arg(settings.program.as_ref().unwrap())
        .arg(&settings.project_dir)
        .arg(settings.state_dir.as_ref().unwrap())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env(SCENARIO_VARIABLE, &settings.environment[SCENARIO_VARIABLE])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let process = parent.id().unwrap();
    until("the guard stands", || guard_of(process).is_some()).await;
    let guard = guard_of(process).unwrap();
    ProcessFamily { parent, guard }
}

fn guard_of(parent: u32) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").expect("the tests run on Linux");
    entries.flatten().find_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once(") ")?;
        let owner: u32 = rest.split(' ').nth(1)?.parse().ok()?;
        (name.ends_with("(claude-guard") && owner == parent).then_some(process)
    })
}

fn is_there(process: u32) -> bool {
    std::path::Path::new(&format!("/proc/{process}")).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn children_end_with_a_killed_parent() {
    let bench =
        TestSetup::new(json!({ "steps": ["ignore_termination", { "daemon": "own" }, "hang"] }));
    let mut family = family(&bench, "text").await;
    // The parent, the child and its daemon carry the mark; the guard does not.
    until("all three run", || bench.survivors().len() == 3).await;
    family.parent.kill().await.unwrap();
    until("no process remains", || {
        bench.survivors().is_empty() && !is_there(family.guard)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_ends_with_a_killed_parent() {
    let bench = TestSetup::new(json!({ "echo": {} }));
    let mut family = family(&bench, "stay").await;
    until("the parent has its answer and a spare", || {
        bench.records().len() == 1 && bench.survivors().len() == 2
    })
    .await;
    family.parent.kill().await.unwrap();
    until("no process remains", || {
        bench.survivors().is_empty() && !is_there(family.guard)
    })
    .await;
}

/// Without its guard.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_start_ends_remaining_processes() {
    let bench =
        TestSetup::new(json!({ "steps": ["ignore_termination", { "daemon": "own" }, "hang"] }));
    let mut family = family(&bench, "text").await;
    until("all three run", || bench.survivors().len() == 3).await;
    kill(&family.guard.to_string());
    family.parent.kill().await.unwrap();
    until("the parent is gone", || bench.survivors().len() == 2).await;
    assert_eq!(bench.notes(), 1);

    let scenario = &bench.settings.environment[SCENARIO_VARIABLE];
    std::fs::write(scenario, json!({ "echo": {} }).to_string()).unwrap();
    bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

/// By the guard, or by the next start if the guard and the child are killed, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_in_another_session_ends_with_a_killed_parent() {
    for is_guarded in [true, false] {
        let bench = TestSetup::new(json!({ "steps": [{ "daemon": "session" }, "hang"] }));
        let mut family = family(&bench, "text").await;
        let file = bench.root().join("project/daemon.pid");
        until("the daemon runs", || file.exists()).await;
        let daemon = std::fs::read_to_string(&file).unwrap();
        let daemon = daemon.trim().to_owned();
        let process: u32 = daemon.parse().unwrap();
        let child = bench.noted()[0];
        until("it is written down", || bench.below().contains(&daemon)).await;
        if !is_guarded {
            kill(&family.guard.to_string());
        }
        family.parent.kill().await.unwrap();
        if !is_guarded {
            kill(&child.to_string());
            until("the child is gone", || !runs(child)).await;
            assert!(runs(process));
            let scenario = &bench.settings.environment[SCENARIO_VARIABLE];
            std::fs::write(scenario, json!({ "echo": {} }).to_string()).unwrap();
            let request = text_request("Say hello.");
            bench.runtime().generate_text(request).await.unwrap();
            assert_eq!((bench.notes(), bench.below()), (0, String::new()));
        }
        until("the daemon is gone", || !runs(process)).await;
    }
}

/// A killed guard is replaced; none remains.
#[tokio::test(flavor = "multi_thread")]
async fn there_is_one_guard() {
    let bench = TestSetup::new(json!({ "echo": {} }));
    let runtime = bench.runtime();
    let own = std::process::id();
    // Other tests share this process only under some runners; their guards would count.
    assert_eq!(guard_of(own), None);
    for _ in 0..2 {
        runtime
            .generate_text(text_request("Say hello."))
            .await
            .unwrap();
    }
    until("the guard stands", || guard_of(own).is_some()).await;
    let first = guard_of(own).unwrap();
    kill(&first.to_string());
    until("it is dead", || dead(first)).await;
    runtime
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    until("another one stands", || {
        guard_of(own).is_some_and(|second| second != first)
    })
    .await;
    let second = guard_of(own).unwrap();
    drop(runtime);
    assert!(!is_there(first) && !is_there(second));
}

fn dead(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_can_be_started_directly() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    bench.settings.launcher = Launcher::Direct;
    bench.settings.state_dir = None;
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert_eq!(outcome.text, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn children_are_counted() {
    let mut bench = TestSetup::new(json!({ "steps": [{ "sleep": 800 }, { "text": "ok" }] }));
    bench.settings.max_children = Some(2);
    let runtime = Arc::new(bench.runtime());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let runtime = Arc::clone(&runtime);
        calls.spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    }
    let mut most = 0;
    loop {
        tokio::select! {
            done = calls.join_next() => match done {
                Some(outcome) => assert_eq!(outcome.unwrap().unwrap().text, "ok"),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(20)) => most = most.max(bench.notes()),
        }
    }
    assert_eq!((most, bench.records().len()), (2, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_start_does_not_fan_out() {
    let bench = TestSetup::new(json!({
        "before": [{ "sleep": 100 }], "account": { "tokenSource": "none" },
    }));
    let runtime = Arc::new(bench.runtime());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let runtime = Arc::clone(&runtime);
        calls.spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
    }
    let mut most = 0;
    loop {
        tokio::select! {
            done = calls.join_next() => match done {
                Some(outcome) => assert_eq!(short(outcome.unwrap()).0, LlmErrorKind::Auth),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(10)) => most = most.max(bench.notes()),
        }
    }
    assert_eq!(most, 1);
}
