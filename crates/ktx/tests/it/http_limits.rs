//! Limits of HTTP backends at the command line: what asks waits for nothing, and no run waits beyond
//! its time.

use ktx_test_support::loopback::{Answer, Loopback};
use serde_json::{Value, json};

use crate::probes::project;
use crate::support::run;

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

/// A probe tells a limit at once; the next ones are told without asking; a new key is not held to it.
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
    for line in ["llm probe", "status", "setup", "ingest", "llm probe"] {
        let printed = run(&sandbox, line);
        assert_ne!(printed.code, Some(0), "{line}: {printed}");
        let said = format!("{}{}", printed.stdout, printed.stderr);
        assert!(
            said.contains("the provider refuses calls until 2"),
            "{line}: {printed}"
        );
        // `ingest` still tells of the remembered limit before its probe ends it.
        assert!(
            line == "ingest" || !said.contains("waiting"),
            "{line}: {printed}"
        );
        assert_eq!(provider.requests().len(), 1, "{line}");
    }
    sandbox.set("PLANTED", "planted-new-key-0123456789");
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(provider.requests().len(), 2);
}

/// `--max-minutes` bounds what is waited for: the run stops, and what is finished is kept.
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
            .contains("paused: the provider's limit holds for 3")
            && printed
                .stderr
                .contains(" s, longer than the time of the run"),
        "{printed}"
    );
    assert_eq!(provider.requests().len(), 2);
    let shard = "HEAD:semantic-layer/warehouse/_schema/public.yaml";
    let kept = crate::support::git(&sandbox, &["show", shard]);
    assert!(kept.contains("regions"), "{kept}");
}
