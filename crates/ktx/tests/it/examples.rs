//! KODE-73: runs the examples with scripted models.

use std::path::{Path, PathBuf};
use std::process::Command;

fn built(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_ktx"));
    let path = program.with_file_name("examples").join(name);
    assert!(
        path.is_file(),
        "`cargo build -p ktx --examples` builds {}",
        path.display()
    );
    path
}

fn printed(name: &str) -> String {
    let output = Command::new(built(name))
        .arg("--fake")
        .env_clear()
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    without_durations(&ktx_test_support::sandbox::filter_text(&text))
}

fn without_durations(text: &str) -> String {
    let mut parts = text.split("\"duration_ms\":");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str("\"duration_ms\":[MS]");
        masked.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    masked
}

#[test]
fn getting_started() {
    insta::assert_snapshot!(printed("getting-started"), @r#"
    9 {"type":"tool:start","call":{"id":"call-1","name":"time","state":"PENDING","input_preview":"{}"}}
    14 {"type":"tool:end","call":{"id":"call-1","name":"time","state":"COMPLETED","input_preview":"{}","duration_ms":[MS],"result_preview":"12:00"}}
    21 {"type":"text_chunk_start"}
    22 {"type":"text_chunk","delta":"It is noon."}
    23 {"type":"text_chunk_end","text":"It is noon."}
    26 {"type":"done","reason":"completed"}
    "#);
}

#[test]
fn agent_inbox() {
    insta::assert_snapshot!(printed("agent-inbox"), @r#"
    The mail asks for the revenue; I may not run commands.
    task 1: Read the mail
    task 2: Answer it
    2 {"type":"queued","message":"Thank Ann for the mail."}
    4 {"type":"state_changed","state":"WORKING"}
    5 {"type":"todo_reminder","tasks":[]}
    6 {"type":"reminder_sent","category":"todo","content":"Your list of tasks is empty. If the work has several steps, write them down with `todo_write`."}
    8 {"type":"tool_manual_updated","tools":["todo_write"]}
    10 {"type":"breakpoint_changed","previous":"READY","current":"PRE_MODEL"}
    11 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    13 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"TOOL_PENDING"}
    16 {"type":"breakpoint_changed","previous":"TOOL_PENDING","current":"PRE_TOOL"}
    18 {"type":"breakpoint_changed","previous":"PRE_TOOL","current":"TOOL_EXECUTING"}
    21 {"type":"tool_executed","call":{"id":"call-1","name":"mail_read","state":"COMPLETED","input_preview":"{}","duration_ms":[MS],"result_preview":"What is the revenue? Ann"}}
    23 {"type":"breakpoint_changed","previous":"TOOL_EXECUTING","current":"POST_TOOL"}
    24 {"type":"step_complete","step":1}
    25 {"type":"breakpoint_changed","previous":"POST_TOOL","current":"PRE_MODEL"}
    26 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    28 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"TOOL_PENDING"}
    31 {"type":"breakpoint_changed","previous":"TOOL_PENDING","current":"PRE_TOOL"}
    33 {"type":"breakpoint_changed","previous":"PRE_TOOL","current":"TOOL_EXECUTING"}
    34 {"type":"todo_changed","current":[{"id":"1","title":"Read the mail","status":"completed"},{"id":"2","title":"Answer it","status":"in_progress"}],"previous":[]}
    37 {"type":"tool_executed","call":{"id":"call-2","name":"todo_write","state":"COMPLETED","input_preview":"{\"todos\":[{\"id\":\"1\",\"title\":\"Read the mail\",\"status\":\"completed\"},{\"id\":\"2\",\"title\":\"Answer it\",\"status\":\"in_progress\"}]}","duration_ms":[MS],"result_preview":"the list is kept"}}
    39 {"type":"breakpoint_changed","previous":"TOOL_EXECUTING","current":"POST_TOOL"}
    40 {"type":"step_complete","step":2}
    41 {"type":"breakpoint_changed","previous":"POST_TOOL","current":"PRE_MODEL"}
    42 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    44 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"TOOL_PENDING"}
    50 {"type":"tool_executed","call":{"id":"call-3","name":"bash_run","state":"DENIED","input_preview":"{\"command\":\"ls\"}","is_error":true,"result_preview":"denied: a rule forbids it: `bash_run`"}}
    52 {"type":"breakpoint_changed","previous":"TOOL_PENDING","current":"POST_TOOL"}
    53 {"type":"step_complete","step":3}
    54 {"type":"breakpoint_changed","previous":"POST_TOOL","current":"PRE_MODEL"}
    55 {"type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL"}
    60 {"type":"step_complete","step":4}
    62 {"type":"breakpoint_changed","previous":"STREAMING_MODEL","current":"READY"}
    63 {"type":"state_changed","state":"READY"}
    "#);
}

#[test]
fn approval() {
    insta::assert_snapshot!(printed("approval"), @r#"
    Ann has her 20 euros; Bob needs another approval; Eve gets nothing.
    11 {"type":"permission_required","call":{"id":"call-1","name":"pay","state":"APPROVAL_REQUIRED","input_preview":"{\"euros\":20,\"to\":\"Ann\"}"}}
    13 {"type":"permission_decided","call_id":"call-1","decision":"allow","decided_by":"the accountant"}
    31 {"type":"permission_required","call":{"id":"call-2","name":"pay","state":"APPROVAL_REQUIRED","input_preview":"{\"euros\":500,\"to\":\"Bob\"}"}}
    33 {"type":"permission_decided","call_id":"call-2","decision":"deny","decided_by":"the accountant","note":"at most 100 euros at once"}
    "#);
}

#[test]
fn room() {
    insta::assert_snapshot!(printed("room"), @r#"
    analyst (1): It is 15. @reviewer, is that right?
    reviewer (2): 15 counts paid orders only, so yes.
    the room has no member `analist`; did you mean `@analyst`?
    1 {"type":"session_opened","format":1,"session":"second-opinion","agent":"reviewer","agent_digest":"43f10d16d06e856c126c0727812d80f050a3cc604e8a98511a55dc5f2c65885e","agent_snapshot":{"name":"reviewer","instructions":"Answer in one sentence. Name others with @.","tools":[],"max_turns":8,"max_messages":50,"spending":{},"permissions":{"mode":"approval","deny":[],"allow":["@read"],"ask":[],"on_expiry":"deny"},"context":{"compress_at":0.8,"target":0.5,"role":"default"}},"parent":{"session":"office-reviewer","seq":9}}
    2 {"type":"message","message":{"role":"user","content":[{"type":"text","text":"[from:analyst] It is 15. @reviewer, is that right?"}]},"origin":"user","room":{"room":"office","from":"analyst","hop":2}}
    3 {"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"15 counts paid orders only, so yes."}]},"origin":"model"}
    "#);
}

#[test]
fn scheduler() {
    insta::assert_snapshot!(printed("scheduler"), @r#"
    [TIME]: 0 due
    [TIME]: 1 due
      sched-reporter-hourly-20261123t0600: {"role":"assistant","content":[{"type":"text","text":"Nothing changed."}]}
    [TIME]: 0 due
    [TIME]: 1 due
      1 skipped, Missed
      sched-reporter-hourly-20261123t0800: {"role":"assistant","content":[{"type":"text","text":"All is well."}]}
    "#);
}

#[test]
fn http_sse() {
    insta::assert_snapshot!(printed("http-sse"), @r#"
    HTTP/1.1 201 Created
    {"type":"text_chunk_start"}
    {"type":"text_chunk","delta":"Hello!"}
    {"type":"text_chunk_end","text":"Hello!"}
    {"type":"done","reason":"completed"}
    "#);
}
