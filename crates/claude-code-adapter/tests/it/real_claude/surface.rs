//! The real `claude` with ktx's isolation, tools and objects.

use std::path::PathBuf;

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, StopReason};
use ktx_test_support::services::ServiceName;
use serde_json::json;

use super::{RealClaude, VERSIONS, text, tools};
use crate::support::{
    canaries, loop_request, object_request, probe_request, run_request, short, text_request,
};

/// KTX-20…34, KTX-40…43.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_comes_in_isolation() {
    for name in VERSIONS {
        let Some(mut real) = RealClaude::new(name, vec![text("Hello.")]).await else {
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
        probed.probe(probe_request()).await.unwrap();
        assert_eq!(probed.describe().payer, payer);
    }
}

/// KTX-51.
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_given() {
    for name in VERSIONS {
        let wrong = tools(&[("StructuredOutput", json!({ "name": "orders" }))]);
        let right = tools(&[(
            "StructuredOutput",
            json!({ "name": "orders", "score": 0.9 }),
        )]);
        let Some(real) = RealClaude::new(name, vec![wrong, right, text("Done.")]).await else {
            continue;
        };
        let outcome = real
            .runtime()
            .generate_object(object_request("An object."))
            .await
            .unwrap();
        assert_eq!(outcome.value, json!({ "name": "orders", "score": 0.9 }));
        let Some(real) = RealClaude::new(name, vec![text("No."); 6]).await else {
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

/// KTX-54, KTX-57, KTX-66, KTX-68.
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
                ("Skill", json!({ "skill": "trap" })),
                ("mcp__other__push", json!({})),
            ]),
            tools(&[("mcp__ktx__flood", key.clone())]),
            text("All done."),
        ];
        let Some(real) = RealClaude::new(name, answers).await else {
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
            ("Skill", true),
            ("mcp__other__push", true),
            ("flood", false),
        ];
        assert_eq!(calls, expected, "{name:?}");
        assert_eq!(
            (outcome.metrics.steps, outcome.metrics.tool_failures),
            (5, 7)
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
        // The oldest version stores long results and shows only their beginning.
        if name != ServiceName::ClaudeOldest {
            assert!(said.contains("_cursor") && said.contains(&"x".repeat(499_000)));
        }
        assert!(!real.path("project/trap").exists());
        real.reached_nobody_else(name);
    }
}

/// KTX-61, KTX-70.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_stops_at_the_budget() {
    for name in VERSIONS {
        let again = tools(&[("mcp__ktx__answer", json!({ "key": "k" }))]);
        let Some(real) = RealClaude::new(name, vec![again; 6]).await else {
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

/// COG-05.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_events() {
    for name in VERSIONS {
        let call = tools(&[("mcp__ktx__answer", json!({ "key": "k" }))]);
        let Some(real) = RealClaude::new(name, vec![call, text("All done.")]).await else {
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

/// Even an empty one replaces the program's own.
#[tokio::test(flavor = "multi_thread")]
async fn the_system_prompt_is_ours() {
    for name in VERSIONS {
        for system in ["", "You describe tables in one sentence."] {
            let Some(real) = RealClaude::new(name, vec![text("One.")]).await else {
                continue;
            };
            let mut request = text_request("Say hello.");
            request.system = system.to_owned();
            real.runtime().generate_text(request).await.unwrap();
            let requests = real.provider.model_requests();
            let system_prompt = requests[0]["system"].to_string();
            assert_eq!(requests.len(), 1, "{name:?}");
            assert!(
                system_prompt.contains(system) && system_prompt.len() < 800,
                "{name:?} {system_prompt}"
            );
        }
    }
}
