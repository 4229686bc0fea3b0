//! A turn on a full disk, in a child process with a file size limit.
#![expect(
    clippy::disallowed_methods,
    reason = "the test runs itself as a child and hands it a folder"
)]

use std::env;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::*;
use crate::ask;

/// Set only in the child process.
const FOLDER: &str = "KTX_TEST_SESSION_FOLDER";

/// Lets no file grow any more.
struct Fills;

#[async_trait]
impl ToolHandler for Fills {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        limit(Some(0));
        Ok(ToolOutput::text("the last byte"))
    }
}

fn limit(bytes: Option<u64>) {
    let room = Rlimit {
        current: bytes,
        maximum: None,
    };
    setrlimit(Resource::Fsize, room).unwrap();
}

async fn ask_on_a_full_disk(sessions: &Sessions) {
    let session = created(sessions);
    let mut of = turn(
        ToolSet::new(vec![
            tool("look", WriteEffect::ReadOnly, Arc::new(Fills)),
            tool("save", WriteEffect::Writes, Arc::new(Says("saved"))),
        ])
        .unwrap(),
    );
    of.agent.permissions.mode = crate::Mode::Auto;
    let model = model([calls(&["look", "save"], "Done.")]);
    let failed = ask(&session, &model, of, "Look.").await.unwrap_err();
    println!("\n{failed}");
    limit(None);
}

/// KODE-46.
#[test]
fn a_full_disk_ends_the_turn_and_costs_no_critical_event() {
    if let Some(folder) = env::var_os(FOLDER) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let sessions = sessions(SessionStore::new(folder));
        return runtime.unwrap().block_on(ask_on_a_full_disk(&sessions));
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; exec \"$0\" --exact --nocapture \
                  tests::full_disk::a_full_disk_ends_the_turn_and_costs_no_critical_event";
    let child = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    let place = folder.path().join("one/log.jsonl");
    assert!(said.contains(&*place.to_string_lossy()), "{said}");
    let sessions = sessions(SessionStore::new(folder.path()));
    let report = sessions.read(&id("one")).unwrap();
    let kinds: Vec<&str> = report
        .records
        .iter()
        .map(ktx_session_log::Record::kind)
        .collect();
    let begun = kinds.iter().position(|kind| *kind == "tool:start").unwrap();
    insta::assert_snapshot!(kinds[begun..].join("\n"), @"
    tool:start
    breakpoint_changed
    call
    breakpoint_changed
    call
    tool:end
    tool_executed
    message
    step_complete
    done
    breakpoint_changed
    state_changed
    ");
    assert!(!report.history.is_unfinished() || report.history.end().is_some());
}
