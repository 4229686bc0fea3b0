//! The probe and the backend's description of itself (KTX-81, KTX-83, KTX-84).

use std::path::PathBuf;
use std::time::Duration;

use ktx_llm_runtime::{BackendInfo, LlmErrorKind, LlmRuntime as _, RuntimeEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{TestSetup, probe_request, short, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_usable_session_reports_its_facts() {
    let bench = TestSetup::new(json!({ "echo": {} }));
    let report = bench.runtime().probe(probe_request()).await.unwrap();
    let program = bench
        .settings
        .program
        .clone()
        .unwrap()
        .display()
        .to_string();
    let facts = [
        ("executable", &*program),
        ("version", "2.1.330"),
        ("model", "sonnet (fake-sonnet)"),
        (
            "paid by",
            "your Claude Max subscription through the local Claude Code session",
        ),
    ];
    let facts = facts.map(|(label, value)| (label.to_owned(), value.to_owned()));
    assert_eq!(
        (report.facts, report.warnings),
        (facts.to_vec(), Vec::new())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untested_version_is_a_warning() {
    let bench = TestSetup::new(json!({ "version": "3.0.0", "echo": {} }));
    let report = bench.runtime().probe(probe_request()).await.unwrap();
    assert_eq!(
        report.warnings,
        ["Claude Code 3.0.0 is outside the tested range 2.1.76 to 2.1.330"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_patch_release_is_a_fact_and_no_warning() {
    let bench = TestSetup::new(json!({ "version": "2.1.999", "echo": {} }));
    let report = bench.runtime().probe(probe_request()).await.unwrap();
    let version = report.facts.iter().find(|(label, _)| label == "version");
    let shown = version.map(|(_, value)| value.as_str());
    assert_eq!(shown, Some("2.1.999 (newer than tested: 2.1.330)"));
    assert_eq!(report.warnings, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_exit_after_the_answer_is_a_warning() {
    let mut bench = TestSetup::new(json!({ "echo": {}, "after": ["hang"] }));
    bench.settings.timeouts.exit = Duration::from_millis(100);
    let report = bench.runtime().probe(probe_request()).await.unwrap();
    assert_eq!(
        report.warnings,
        ["Claude Code did not exit after an answer, so ktx ended it"]
    );
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

/// KTX-84.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_login_says_how_to_log_in() {
    let hint = "authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command";
    let not_logged_in = json!({ "account": { "tokenSource": "none" } });
    let refused = json!({ "steps": [
        { "api_error": { "class": "authentication_failed", "status": 401, "text": "Invalid bearer token" } },
    ] });
    for scenario in [not_logged_in, refused] {
        let error = TestSetup::new(scenario)
            .runtime()
            .probe(probe_request())
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, &*error.message, error.hint.as_deref()),
            (
                LlmErrorKind::Auth,
                "Claude Code is not usable with your local session",
                Some(hint)
            )
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_is_named() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    bench.settings.program = None;
    let message = "Claude Code is not installed: there is no `claude` on the PATH";
    assert_eq!(
        short(bench.runtime().probe(probe_request()).await),
        (LlmErrorKind::Process, message.to_owned())
    );
    bench.settings.program = Some(PathBuf::from("/no/such/claude"));
    let message = "Claude Code is not installed: `/no/such/claude` does not exist";
    assert_eq!(
        short(bench.runtime().probe(probe_request()).await),
        (LlmErrorKind::Process, message.to_owned())
    );
}

/// Even with exit status 0; a file that is not executable counts as present.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_claude_code_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    let bin = bench.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let file = bin.join("claude");
    std::fs::write(&file, "#!/bin/sh\necho Claude 1.0, a music player\n").unwrap();
    let environment = &mut bench.settings.environment;
    environment.insert("PATH".to_owned(), bin.display().to_string());
    for program in [None, Some(file.clone())] {
        bench.settings.program = program;
        let mode = std::fs::Permissions::from_mode;
        std::fs::set_permissions(&file, mode(0o644)).unwrap();
        let message = format!("`{}` is not executable", file.display());
        assert_eq!(
            short(bench.runtime().probe(probe_request()).await),
            (LlmErrorKind::Process, message)
        );
        std::fs::set_permissions(&file, mode(0o755)).unwrap();
        let message = format!("`{}` is not Claude Code", file.display());
        assert_eq!(
            short(bench.runtime().probe(probe_request()).await),
            (LlmErrorKind::Process, message)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_program_is_named() {
    let bench =
        TestSetup::new(json!({ "version": "2.0.10", "unknown_options": ["--strict-mcp-config"] }));
    let error = bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!(
        (
            error.kind,
            &*error.message,
            error.hint.as_deref(),
            error.detail.as_deref()
        ),
        (
            LlmErrorKind::Process,
            "Claude Code 2.0.10 is too old: ktx needs 2.1.76 or newer",
            Some("update it (run `claude update`), then run the command again"),
            Some("stderr: error: unknown option '--strict-mcp-config'"),
        )
    );
    assert_eq!(
        bench.records(),
        Vec::<serde_json::Value>::new(),
        "it got no prompt"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_program_without_an_option_is_not_called_old() {
    let bench = TestSetup::new(json!({ "version": "3.1.0", "unknown_options": ["--settings"] }));
    let error = bench.runtime().probe(probe_request()).await.unwrap_err();
    assert_eq!(
        (&*error.message, error.hint.as_deref()),
        (
            "Claude Code 3.1.0 does not know an option that ktx needs",
            Some("use a version from 2.1.76 to 2.1.330, or a newer ktx"),
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_is_found_on_the_given_path() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    let bin = bench.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(bench.settings.program.take().unwrap(), bin.join("claude")).unwrap();
    let path = format!("relative:{}:/usr/bin:/bin", bin.display());
    bench.settings.environment.insert("PATH".to_owned(), path);
    let report = bench.runtime().probe(probe_request()).await.unwrap();
    assert_eq!(
        report.facts.first().unwrap().1,
        bin.join("claude").display().to_string()
    );
}

/// KTX-81.
#[tokio::test(flavor = "multi_thread")]
async fn ignored_fields_are_named() {
    let mut bench = TestSetup::new(json!({}));
    bench.settings.ignored_caching_fields = vec!["llm.promptCaching.systemTtl".to_owned()];
    assert_eq!(
        bench.runtime().describe(),
        BackendInfo {
            name: "claude-code",
            payer: "your Claude subscription through the local Claude Code session".to_owned(),
            ignored_fields: vec!["llm.promptCaching.systemTtl".to_owned()],
            continues_loops: false,
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_probe_is_paid_for_and_leaves_nothing() {
    let bench = TestSetup::new(json!({ "steps": [{ "text": "ok" }, "hang"] }));
    let paid = || {
        let events = bench.events();
        let paid = |event: &&RuntimeEvent| matches!(event, RuntimeEvent::Usage(_));
        events.iter().filter(paid).count()
    };
    let cancel = CancellationToken::new();
    let request = probe_request().cancelled_by(cancel.clone());
    let runtime = bench.runtime();
    let (outcome, ()) = tokio::join!(runtime.probe(request), async {
        until("the message is paid for", || paid() == 1).await;
        cancel.cancel();
    });
    assert_eq!(
        short(outcome),
        (LlmErrorKind::Cancelled, "cancelled".to_owned())
    );
    assert_eq!((paid(), bench.survivors()), (1, Vec::new()));
}
