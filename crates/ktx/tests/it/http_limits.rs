//! HTTP limits: probes do not wait, and no run waits beyond its time.

use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::REGIONS;
use crate::probes::{configured, project};
use crate::support::{run, unscanned};

fn ok(model: &Value) -> Answer {
    let message = json!({
        "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "ok" }],
        "usage": { "input_tokens": 100, "output_tokens": 20 },
    });
    Answer::json(200, &message)
}

fn full() -> Answer {
    let error =
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "no" } });
    Answer::json(429, &error).header("retry-after", "3600")
}

/// Other commands report the limit without a request. A new key has no limit.
#[test]
fn what_asks_whether_a_model_answers_waits_for_nothing() {
    let provider = Loopback::start(|request, _| {
        let is_new = request
            .headers
            .get("x-api-key")
            .is_some_and(|key| key.contains("new"));
        if is_new {
            ok(&request.json()["model"])
        } else {
            full()
        }
    })
    .unwrap();
    let mut sandbox = project(&provider);
    let anew = "run `ktx llm probe` to ask at once";
    for (line, requests, hinted) in [
        ("llm probe", 1, false),
        ("status --json", 1, false),
        ("ingest", 1, true),
        ("setup", 2, false),
        ("ingest", 2, true),
        ("llm probe", 3, false),
    ] {
        let printed = run(&sandbox, line);
        assert_ne!(printed.code, Some(0), "{line}: {printed}");
        let said = format!("{}{}", printed.stdout, printed.stderr);
        assert!(
            said.contains("the provider refuses calls until 2"),
            "{line}: {printed}"
        );
        assert!(!said.contains("waiting"), "{line}: {printed}");
        assert_eq!(said.contains(anew), hinted, "{line}: {printed}");
        assert_eq!(provider.requests().len(), requests, "{line}");
    }
    sandbox.set("PLANTED", "planted-new-key-0123456789");
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(provider.requests().len(), 4);
}

fn rewrite(sandbox: &Sandbox, key: &str, hours: i64) {
    let path = sandbox.work().join(".ktx/state/rate-limits.json");
    let mut book: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let accounts = book["accounts"].as_object_mut().unwrap();
    assert_eq!(accounts.len(), 1);
    for limit in accounts.values_mut() {
        let at: jiff::Timestamp = limit[key].as_str().unwrap().parse().unwrap();
        let moved = at + jiff::SignedDuration::from_hours(hours);
        limit[key] = json!(moved.to_string());
    }
    std::fs::write(&path, book.to_string()).unwrap();
}

/// Limits from a clock ahead of time, or longer than any real limit, block nothing.
#[test]
fn a_limit_that_cannot_be_so_is_tried() {
    let provider = Loopback::start(|request, number| match number {
        0 | 2 => full(),
        _ => ok(&request.json()["model"]),
    })
    .unwrap();
    let sandbox = project(&provider);
    for (requests, moved) in [
        (1, &[("observedAt", 100), ("resetsAt", 100)][..]),
        (3, &[("resetsAt", 24 * 30)][..]),
    ] {
        assert_eq!(run(&sandbox, "llm probe").code, Some(5));
        assert_eq!(run(&sandbox, "status").code, Some(5));
        assert_eq!(provider.requests().len(), requests);
        for (key, hours) in moved {
            rewrite(&sandbox, key, *hours);
        }
        let printed = run(&sandbox, "status");
        assert_eq!(printed.code, Some(0), "{printed}");
        assert!(!printed.stdout.contains("refused"), "{printed}");
        assert_eq!(provider.requests().len(), requests + 1);
    }
}

/// A successful call ends the limit for all commands.
#[test]
fn a_limit_that_is_no_longer_so_is_forgotten() {
    let provider = Loopback::start(|request, number| match number {
        0 => full(),
        _ => ok(&request.json()["model"]),
    })
    .unwrap();
    let sandbox = project(&provider);
    for (line, code, requests) in [
        ("llm probe", 5, 1),
        ("status", 5, 1),
        ("llm probe", 0, 2),
        ("status", 0, 3),
    ] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(code), "{line}: {printed}");
        assert_eq!(provider.requests().len(), requests, "{line}");
    }
}

/// `--max-minutes`; finished work is kept.
#[test]
fn a_run_does_not_wait_beyond_its_time() {
    let provider = Loopback::start(|request, number| match number {
        0 => ok(&request.json()["model"]),
        _ => full(),
    })
    .unwrap();
    let sandbox = project(&provider);
    let config = sandbox.read("ktx.yaml").unwrap();
    let config = config.replace("maxAttempts: 1", "maxAttempts: 3");
    crate::support::write(&sandbox, "ktx.yaml", &config);
    crate::support::commit(&sandbox, "more tries");
    let printed = run(&sandbox, "ingest --max-minutes 1");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed
            .stderr
            .contains("paused: the provider's limit lasts 3")
            && printed.stderr.contains(" s, longer than the run may take"),
        "{printed}"
    );
    assert_eq!(provider.requests().len(), 2);
    let shard = "HEAD:semantic-layer/warehouse/_schema/public.yaml";
    let kept = crate::support::git(&sandbox, &["show", shard]);
    assert!(kept.contains("regions"), "{kept}");
}

#[test]
fn a_limit_of_hours_pauses_the_run() {
    let provider = Loopback::start(|request, number| match number {
        0 => ok(&request.json()["model"]),
        _ => full(),
    })
    .unwrap();
    let sandbox = project(&provider);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed
            .stderr
            .contains("paused: the provider refuses calls until 2"),
        "{printed}"
    );
    assert!(!printed.stderr.contains("waiting"), "{printed}");
}

/// The setting is `llm.timeouts`.
#[test]
fn a_silent_provider_is_given_up_after_the_time_of_the_project() {
    let provider = Loopback::start(|request, _| Answer {
        end: End::StallAfter(0),
        ..ok(&request.json()["model"])
    })
    .unwrap();
    let timeouts = "  timeouts:\n    first_byte_seconds: 1\n";
    let sandbox = configured(unscanned(REGIONS), &provider, timeouts);
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(5), "{printed}");
    assert!(
        printed
            .stderr
            .contains("error: the provider sent nothing for 1 s")
            && printed.stderr.contains("llm.timeouts.first_byte_seconds"),
        "{printed}"
    );
}
