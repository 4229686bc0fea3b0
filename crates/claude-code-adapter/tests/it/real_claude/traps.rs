//! The real `claude` in a home and a project full of traps.

use std::path::PathBuf;
use std::process::Stdio;

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RuntimeEvent, StopReason};
use ktx_test_support::provider_fake::ModelAnswer;
use serde_json::{Value, json};

use super::{RealClaude, VERSIONS, text, tools};
use crate::support::{
    loop_request, object_request, probe_request, run_request, short, text_request,
};

fn springing(real: &RealClaude, name: &str) -> String {
    let folder = real.path("sprung");
    std::fs::create_dir_all(&folder).unwrap();
    format!("touch {}", folder.join(name).display())
}

fn sprung(real: &RealClaude) -> Vec<String> {
    let entries = std::fs::read_dir(real.path("sprung")).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn write(real: &RealClaude, name: &str, text: &str) {
    let path = real.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn hooks(command: &str) -> Value {
    let hook = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    json!({ "SessionStart": hook, "UserPromptSubmit": hook, "Stop": hook })
}

fn server(command: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", command] })
}

/// One of the servers has the name of ktx's.
fn plant(real: &RealClaude) {
    for (folder, name) in [("home/.claude", "user"), ("project/.claude", "project")] {
        let settings = json!({
            "apiKeyHelper": format!("{}; echo sk-ant-trap", springing(real, &format!("{name}-key"))),
            "hooks": hooks(&springing(real, &format!("{name}-hook"))),
            "env": { "ANTHROPIC_MODEL": "trap-model" },
            "enableAllProjectMcpServers": true,
            "enabledPlugins": { "trap@trap-market": true },
            "extraKnownMarketplaces": { "trap-market": {
                "source": { "source": "directory", "path": real.path("market") },
            } },
        });
        write(
            real,
            &format!("{folder}/settings.json"),
            &settings.to_string(),
        );
        let local = json!({ "hooks": hooks(&springing(real, &format!("{name}-local-hook"))) });
        write(
            real,
            &format!("{folder}/settings.local.json"),
            &local.to_string(),
        );
        write(real, &format!("{folder}/CLAUDE.md"), "MEMORY-OF-THE-HOST");
        let about = "---\nname: trap\ndescription: TRAP\n---\nTRAP";
        write(real, &format!("{folder}/agents/trap.md"), about);
        write(real, &format!("{folder}/commands/trap.md"), "TRAP-COMMAND");
        write(real, &format!("{folder}/skills/trap/SKILL.md"), about);
    }
    write(real, "project/CLAUDE.md", "MEMORY-OF-THE-HOST");
    plant_servers(real);
    plant_plugin(real);
}

fn plant_plugin(real: &RealClaude) {
    let market = json!({ "name": "trap-market", "owner": { "name": "trap" },
        "plugins": [{ "name": "trap", "source": "./trap" }] });
    write(
        real,
        "market/.claude-plugin/marketplace.json",
        &market.to_string(),
    );
    let about = json!({ "name": "trap", "version": "1.0.0" });
    write(
        real,
        "market/trap/.claude-plugin/plugin.json",
        &about.to_string(),
    );
    let inside = json!({ "hooks": hooks(&springing(real, "plugin-hook")) });
    write(real, "market/trap/hooks/hooks.json", &inside.to_string());
    let at = "2026-01-01T00:00:00.000Z";
    let known = json!({ "trap-market": {
        "source": { "source": "directory", "path": real.path("market") },
        "installLocation": real.path("market"), "lastUpdated": at,
    } });
    write(
        real,
        "home/.claude/plugins/known_marketplaces.json",
        &known.to_string(),
    );
    let installed = json!({ "version": 2, "plugins": { "trap@trap-market": [{
        "scope": "user", "installPath": real.path("market/trap"), "version": "1.0.0",
        "installedAt": at, "lastUpdated": at,
    }] } });
    write(
        real,
        "home/.claude/plugins/installed_plugins.json",
        &installed.to_string(),
    );
}

fn plant_servers(real: &RealClaude) {
    let folder = real.settings.project_dir.to_string_lossy().into_owned();
    let state = std::fs::read_to_string(real.path("home/.claude.json")).unwrap();
    let mut state: Value = serde_json::from_str(&state).unwrap();
    state["mcpServers"] = json!({ "trap": server(&springing(real, "user-server")) });
    let own = json!({ "ktx": server(&springing(real, "local-server")) });
    state["projects"] = json!({ folder: { "mcpServers": own, "hasTrustDialogAccepted": true } });
    write(real, "home/.claude.json", &state.to_string());
    for (folder, name) in [("project", "project-server"), ("home", "home-server")] {
        let servers = json!({ "ktx": server(&springing(real, name)) });
        let servers = json!({ "mcpServers": servers });
        write(real, &format!("{folder}/.mcp.json"), &servers.to_string());
    }
}

/// KTX-24, KTX-26, KTX-30, KTX-31, KTX-32.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_ignored() {
    for name in VERSIONS {
        let object = tools(&[(
            "StructuredOutput",
            json!({ "name": "orders", "score": 0.9 }),
        )]);
        let mut answers = vec![text("Hello."), object];
        answers.extend(vec![text("Hello."); 6]);
        let Some(real) = RealClaude::new(name, answers).await else {
            continue;
        };
        plant(&real);
        let runtime = real.runtime();
        let outcome = runtime.generate_text(text_request("Say hello.")).await;
        assert_eq!(outcome.unwrap().text, "Hello.");
        let given = runtime.generate_object(object_request("An object.")).await;
        given.unwrap();
        let looped = runtime.run_agent_loop(loop_request("Work.", 3)).await;
        assert_eq!(
            (looped.stop_reason, looped.error),
            (StopReason::Natural, None)
        );
        let last = runtime.start_run(run_request("Work.")).finish().await;
        assert_eq!(last.result.as_deref(), Ok("Hello."));
        let probed = runtime.probe(probe_request()).await.unwrap();
        assert_eq!(probed.warnings, Vec::<String>::new(), "{name:?}");
        let warned = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Warning(_));
        assert_eq!(
            real.event_log.all().iter().find(|event| warned(event)),
            None
        );
        assert_eq!(sprung(&real), Vec::<String>::new(), "{name:?}");
        for request in real.provider.model_requests() {
            let said = request.to_string();
            let traps = ["OF-THE-HOST", "TRAP", "trap"];
            assert!(!traps.iter().any(|trap| said.contains(trap)), "{name:?}");
        }
        assert_eq!(real.stored(".claude/projects"), Vec::<PathBuf>::new());
    }
}

/// KTX-26: the bare program triggers the same traps, so they work.
#[tokio::test(flavor = "multi_thread")]
async fn the_traps_spring_without_isolation() {
    for name in VERSIONS {
        let Some(real) = RealClaude::new(name, vec![text("Hello."); 6]).await else {
            continue;
        };
        plant(&real);
        let program = real.settings.program.clone().unwrap();
        let is_script = program.extension().is_some();
        let mut command = tokio::process::Command::new(if is_script {
            "node".as_ref()
        } else {
            program.as_os_str()
        });
        if is_script {
            command.arg(&program);
        }
        command
            .args(["-p", "Say hello."])
            .env_clear()
            .envs(&real.settings.environment)
            .current_dir(&real.settings.project_dir)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command.output().await.unwrap();
        let sprung = sprung(&real);
        for trap in ["user-hook", "project-hook", "user-server", "plugin-hook"] {
            assert!(
                sprung.iter().any(|name| name == trap),
                "{name:?} {sprung:?}"
            );
        }
        let server_of_our_name = ["local-server", "project-server"];
        let is_sprung = |trap: &&str| sprung.iter().any(|name| name == trap);
        assert!(
            server_of_our_name.iter().any(is_sprung),
            "{name:?} {sprung:?}"
        );
    }
}

/// KTX-28.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_for_a_text_or_an_object() {
    for name in VERSIONS {
        let asks = || {
            tools(&[
                ("Bash", json!({ "command": "touch trap" })),
                ("Write", json!({ "file_path": "trap", "content": "x" })),
                ("Skill", json!({ "skill": "trap" })),
                ("SlashCommand", json!({ "command": "/trap" })),
            ])
        };
        let Some(real) = RealClaude::new(name, vec![asks(), text("BAD")]).await else {
            continue;
        };
        let outcome = real.runtime().generate_text(text_request("Hello.")).await;
        assert_eq!(short(outcome).0, LlmErrorKind::MaxTurns, "{name:?}");
        assert!(!real.path("project/trap").exists());
        let object = tools(&[(
            "StructuredOutput",
            json!({ "name": "orders", "score": 0.9 }),
        )]);
        let answers = vec![asks(), object, text("Done.")];
        let real = RealClaude::new(name, answers).await.unwrap();
        let given = real
            .runtime()
            .generate_object(object_request("An object."))
            .await;
        assert_eq!(
            given.unwrap().value,
            json!({ "name": "orders", "score": 0.9 })
        );
        assert!(!real.path("project/trap").exists());
        let second = real.provider.model_requests()[1].to_string();
        assert_eq!(second.matches("\"is_error\":true").count(), 4, "{name:?}");
    }
}

/// C-19.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_killed_in_the_middle_of_a_turn() {
    for name in VERSIONS {
        let half = || ModelAnswer::Stall("Half of an ans".to_owned());
        let Some(real) = RealClaude::new(name, vec![half(), text("Whole.")]).await else {
            continue;
        };
        let runtime = real.runtime();
        let call =
            tokio::spawn(async move { runtime.generate_text(text_request("Say hello.")).await });
        kill_the_child(&real).await;
        assert_eq!(call.await.unwrap().unwrap().text, "Whole.", "{name:?}");
        assert_eq!(real.provider.model_requests().len(), 2);
        let real = RealClaude::new(name, vec![half(), text("BAD")])
            .await
            .unwrap();
        let runtime = real.runtime();
        let call =
            tokio::spawn(async move { runtime.run_agent_loop(loop_request("Work.", 3)).await });
        kill_the_child(&real).await;
        let kind = call.await.unwrap().error.map(|error| error.kind);
        assert_eq!(kind, Some(LlmErrorKind::Crashed), "{name:?}");
        assert_eq!(real.provider.model_requests().len(), 1);
        real.nothing_is_left().await;
    }
}

async fn kill_the_child(real: &RealClaude) {
    crate::support::until("the model is asked", || {
        real.provider.model_requests().len() == 1
    })
    .await;
    for process in real.survivors() {
        crate::support::kill(&process.to_string());
    }
}

/// KTX-67.
#[tokio::test(flavor = "multi_thread")]
async fn a_plain_refusal_for_the_rate_is_a_limit() {
    for name in VERSIONS {
        let plain = super::error(429, "rate_limit_error", &[]);
        let Some(mut real) = RealClaude::new(name, vec![plain; 6]).await else {
            continue;
        };
        real.settings.rate_limit = crate::support::no_waits();
        let outcome = real.runtime().generate_text(text_request("Hello.")).await;
        assert_eq!(short(outcome).0, LlmErrorKind::RateLimit, "{name:?}");
    }
}
