//! Failures of the real `claude`: no login, an API that refuses, a version that is too old.

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RuntimeEvent};
use ktx_test_support::provider_fake::ModelAnswer;
use ktx_test_support::services::ServiceName;
use serde_json::Value;

use super::{RealClaude, VERSIONS, error, text};
use crate::support::{probe_request, short, text_request};

/// KTX-44, KTX-84.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_login_no_request_is_sent() {
    for name in VERSIONS {
        let Some(mut real) = RealClaude::new(name, vec![text("BAD")]).await else {
            continue;
        };
        std::fs::remove_dir_all(real.path("home/.claude")).unwrap();
        std::fs::remove_file(real.path("home/.claude.json")).unwrap();
        let key = (
            "ANTHROPIC_API_KEY".to_owned(),
            "sk-ant-api03-canary".to_owned(),
        );
        real.settings.environment.extend([key]);
        let error = real.runtime().probe(probe_request()).await.unwrap_err();
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

/// KTX-67.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_2_1_142_have_kinds() {
    failures_have_kinds(ServiceName::Claude142).await;
}

/// KTX-67.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_oldest_have_kinds() {
    failures_have_kinds(ServiceName::ClaudeOldest).await;
}

/// KTX-67.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_newest_have_kinds() {
    failures_have_kinds(ServiceName::ClaudeNewestTested).await;
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
    let too_long = ModelAnswer::Error {
        status: 400,
        class: "invalid_request_error".to_owned(),
        message: "prompt is too long: 213462 tokens > 200000 maximum".to_owned(),
        headers: Vec::new(),
    };
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
        (too_long, Kind::ContextTooLong),
    ];
    for (answer, kind) in table {
        let Some(real) = RealClaude::new(name, vec![answer; 6]).await else {
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
            assert!(real.event_log.all().iter().any(window));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_too_old_sends_nothing() {
    for (name, version) in [
        (ServiceName::ClaudeTooOld, "2.0.0"),
        (ServiceName::Claude2076, "2.0.76"),
    ] {
        let Some(real) = RealClaude::new(name, vec![text("BAD")]).await else {
            continue;
        };
        too_old(&real, version).await;
    }
    // The version is unknown before the start, so the missing options reveal it.
    let Some(mut real) = RealClaude::new(ServiceName::ClaudeTooOld, vec![text("BAD")]).await else {
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

async fn too_old(real: &RealClaude, version: &str) {
    let runtime = real.runtime();
    let message = format!("Claude Code {version} is too old: ktx needs 2.1.76 or newer");
    for outcome in [
        short(runtime.probe(probe_request()).await),
        short(runtime.generate_text(text_request("SECRET")).await),
    ] {
        assert_eq!(outcome, (LlmErrorKind::Process, message.clone()));
    }
    assert_eq!(real.provider.model_requests(), Vec::<Value>::new());
    assert_eq!(real.survivors(), Vec::<u32>::new());
}

/// The newest version tries another model of the family if the account cannot use the alias's.
#[tokio::test(flavor = "multi_thread")]
async fn another_model_is_requested_for_an_alias_only() {
    let gone = || ModelAnswer::Error {
        status: 404,
        class: "not_found_error".to_owned(),
        message: "model: claude-sonnet".to_owned(),
        headers: Vec::new(),
    };
    let answers = vec![gone(), text("Hello."), text("Hello.")];
    let Some(real) = RealClaude::new(ServiceName::ClaudeNewestTested, answers).await else {
        return;
    };
    let answer = real.runtime().generate_text(text_request("Hi.")).await;
    assert_eq!(answer.unwrap().text, "Hello.");
    let events: Vec<RuntimeEvent> = real.event_log.all();
    let is_reported = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Warning(text) if text.starts_with("`sonnet` is answered by `claude-sonnet"));
    assert!(events.iter().any(is_reported), "{events:?}");
    let asked = real.provider.model_requests();
    let model = asked.first().and_then(|body| body["model"].as_str());
    let full = model.unwrap().to_owned();

    let answers = vec![gone(), gone(), gone(), text("BAD")];
    let mut real = RealClaude::new(ServiceName::ClaudeNewestTested, answers)
        .await
        .unwrap();
    real.settings.models = [(ktx_vocabulary::ModelRole::Default, full.clone())].into();
    let error = real.runtime().generate_text(text_request("Hi.")).await;
    assert_eq!(error.unwrap_err().kind, LlmErrorKind::ModelNotFound);
    for body in real.provider.model_requests() {
        assert_eq!(body["model"], full);
    }
}
