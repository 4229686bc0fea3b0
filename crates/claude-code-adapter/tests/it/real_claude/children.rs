//! The real `claude` as a process.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RunErrorCode, RunEvent};
use ktx_test_support::provider_fake::ModelAnswer;
use ktx_test_support::services::ServiceName;
use serde_json::Value;
use tokio::process::{Child, Command};

use super::{RealClaude, VERSIONS, files, text};
use crate::support::{driver, run_request, short, text_request, until};

/// COG-22.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_nothing() {
    for name in VERSIONS {
        let Some(real) = RealClaude::new(name, vec![ModelAnswer::Hang]).await else {
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

/// No process starts for it: by then the program has been moved away.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_gets_the_second_prompt() {
    for name in VERSIONS {
        let answers = vec![text("One."), text("Two.")];
        let Some(mut real) = RealClaude::new(name, answers).await else {
            continue;
        };
        let place = real.path("claude");
        let installed = real.settings.program.replace(place.clone()).unwrap();
        std::os::unix::fs::symlink(installed, &place).unwrap();
        real.settings.max_spares = 1;
        // The third call looks for the program six times, as during an update.
        real.settings.timeouts.spawn_backoff = Duration::from_millis(10);
        let runtime = real.runtime();
        let first = runtime.generate_text(text_request("First.")).await.unwrap();
        assert_eq!(first.text, "One.");
        real.spare().await;
        std::fs::remove_file(&place).unwrap();
        let second = runtime.generate_text(text_request("Second.")).await;
        assert_eq!(second.unwrap().text, "Two.", "{name:?}");
        let requests = real.provider.model_requests();
        let prompts = ["First.", "Second."];
        let arrived: Vec<bool> = requests
            .iter()
            .zip(prompts)
            .map(|(request, prompt)| request["messages"].to_string().contains(prompt))
            .collect();
        assert_eq!((arrived, requests.len()), (vec![true, true], 2));
        let third = runtime.generate_text(text_request("Third.")).await;
        assert_eq!(short(third).0, LlmErrorKind::Process, "{name:?}");
        drop(runtime);
        real.nothing_is_left().await;
    }
}

/// Its spare waits at that moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_parent_leaves_no_process() {
    for name in VERSIONS {
        let Some(real) = RealClaude::new(name, vec![text("One.")]).await else {
            continue;
        };
        let mut parent = parent(&real, "stay");
        until("the call is over and the spare waits", || {
            let noted = files(&real.path("state/claude-children")).len();
            real.provider.model_requests().len() == 1 && noted == 1 && real.survivors().len() > 1
        })
        .await;
        parent.kill().await.unwrap();
        real.nothing_is_left().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_without_a_login_is_not_used() {
    for name in VERSIONS {
        let Some(mut real) = RealClaude::new(name, vec![text("One."), text("BAD")]).await else {
            continue;
        };
        real.settings.max_spares = 1;
        real.settings.timeouts.spare_pause = Duration::from_secs(2);
        let runtime = real.runtime();
        runtime.generate_text(text_request("First.")).await.unwrap();
        runtime.settle().await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_killed_in_the_middle_of_a_turn_leaves_no_process() {
    for name in VERSIONS {
        let half = ModelAnswer::Stall("Half of an ans".to_owned());
        let Some(real) = RealClaude::new(name, vec![half]).await else {
            continue;
        };
        let mut parent = parent(&real, "text");
        until("the model is asked", || {
            real.provider.model_requests().len() == 1
        })
        .await;
        assert!(real.survivors().len() > 1, "{name:?}");
        parent.kill().await.unwrap();
        real.nothing_is_left().await;
        assert_eq!(real.provider.model_requests().len(), 1);
    }
}

/// COG-22.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_cancelled_in_the_middle_of_its_answer_leaves_nothing() {
    for name in VERSIONS {
        let half = ModelAnswer::Stall("Half of an ans".to_owned());
        let Some(real) = RealClaude::new(name, vec![half]).await else {
            continue;
        };
        let request = run_request("Work.");
        let cancel = request.cancel.clone();
        let mut handle = real.runtime().start_run(request);
        let begun = loop {
            match handle.next_event().await {
                Some(RunEvent::TextDelta(text)) => break text,
                Some(_) => {}
                None => panic!("{name:?}: the run ended before its answer began"),
            }
        };
        assert_eq!(begun, "Half of an ans");
        cancel.cancel();
        let last = handle.finish().await;
        assert_eq!(
            last.result.map_err(|error| error.kind.run_code()),
            Err(RunErrorCode::Aborted)
        );
        real.nothing_is_left().await;
        assert_eq!(files(&real.path("state")), Vec::<PathBuf>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_calls_at_once_do_not_mix() {
    for name in VERSIONS {
        let answers = (0..8).map(|at| text(&format!("Answer {at}."))).collect();
        let Some(mut real) = RealClaude::new(name, answers).await else {
            continue;
        };
        real.settings.max_children = Some(8);
        real.settings.max_spares = 0;
        let runtime = Arc::new(real.runtime());
        let calls: Vec<_> = (0..8)
            .map(|at| {
                let runtime = Arc::clone(&runtime);
                let request = text_request(&format!("Question <{at}>"));
                tokio::spawn(async move { runtime.generate_text(request).await })
            })
            .collect();
        let mut answered = BTreeSet::new();
        for call in calls {
            answered.insert(call.await.unwrap().unwrap().text);
        }
        assert_eq!(answered, (0..8).map(|at| format!("Answer {at}.")).collect());
        let requests = real.provider.model_requests();
        let asked = |request: &Value| -> Vec<u32> {
            let said = request["messages"].to_string();
            let asked = |at: &u32| said.contains(&format!("Question <{at}>"));
            (0..8).filter(asked).collect()
        };
        let mut asked: Vec<Vec<u32>> = requests.iter().map(asked).collect();
        asked.sort();
        let expected: Vec<Vec<u32>> = (0..8).map(|at| vec![at]).collect();
        assert_eq!(asked, expected, "{name:?}");
        real.nothing_is_left().await;
    }
}

/// Older versions count the tokens themselves and have smaller windows. Half a megabyte arrives
/// everywhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_prompt_arrives_whole_or_is_too_long() {
    for name in VERSIONS {
        for rows in [18_000, 40_000] {
            let Some(real) = RealClaude::new(name, vec![text("Read.")]).await else {
                continue;
            };
            let rows = (0..rows).map(|row| format!("row {row:06}; café, “{row}”\n"));
            let prompt: String = rows.collect();
            let outcome = real.runtime().generate_text(text_request(&prompt)).await;
            let requests = real.provider.model_requests();
            let is_older = matches!(name, ServiceName::ClaudeOldest | ServiceName::Claude142);
            if prompt.len() > 1_000_000 && is_older {
                let refused = (
                    LlmErrorKind::ContextTooLong,
                    "the prompt is too long for the model".to_owned(),
                );
                assert_eq!((short(outcome), requests), (refused, Vec::new()));
                continue;
            }
            assert_eq!(outcome.unwrap().text, "Read.");
            let [request] = requests.as_slice() else {
                panic!("{name:?}: {} requests", requests.len());
            };
            let said = request["messages"].to_string();
            let quoted = Value::from(prompt).to_string();
            let times = said.matches(quoted.trim_matches('"')).count();
            assert_eq!(times, 1, "{name:?}");
        }
    }
}

fn parent(real: &RealClaude, life: &str) -> Child {
    let settings = &real.settings;
    Command::new(driver())
        .arg(life)
        .arg(settings.program.as_ref().unwrap())
        .arg(&settings.project_dir)
        .arg(settings.state_dir.as_ref().unwrap())
        .env_clear()
        .envs(&settings.environment)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
