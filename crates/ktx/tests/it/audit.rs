//! The audit log of statements.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::support::{git, run, shop};

const LOG: &str = ".ktx/state/audit.jsonl";

fn lines(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.read(LOG).expect("a log");
    text.lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("every line is JSON");
            let fields = line.as_object_mut().expect("an object");
            let at = fields.shift_remove("at").expect("a time");
            assert!(
                at.as_str()
                    .is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok())
            );
            let hash = fields.shift_remove("sqlSha256").expect("a hash");
            assert_eq!(hash.as_str().map(str::len), Some(64));
            line
        })
        .collect()
}

#[test]
fn every_statement_of_a_person_leaves_one_line() {
    let mut sandbox = shop();
    assert_eq!(run(&sandbox, "sql 'select id from regions'").code, Some(0));
    assert_eq!(run(&sandbox, "sql 'drop table regions'").code, Some(6));
    assert_eq!(
        run(&sandbox, "sql 'select nope from regions'").code,
        Some(4)
    );
    assert_eq!(run(&sandbox, "sql --check 'select 1'").code, Some(0));
    let query = "sl query --measure orders.order_count --format table";
    assert_eq!(run(&sandbox, &format!("{query} --execute")).code, Some(0));
    assert_eq!(
        run(&sandbox, "sl query --measure orders.order_count").code,
        Some(0)
    );
    sandbox.set("KTX_AUDIT_SQL", "1");
    assert_eq!(run(&sandbox, "sql 'select 2'").code, Some(0));
    let line = |tool: &str, outcome: &str, rows: u64| {
        json!({
            "tool": tool, "callId": "cli", "connectionId": "warehouse",
            "outcome": outcome, "rows": rows,
        })
    };
    let mut found = lines(&sandbox);
    let codes: Vec<Value> = found
        .iter_mut()
        .map(|line| {
            line.as_object_mut()
                .and_then(|line| line.shift_remove("code"))
        })
        .map(|code| json!(code))
        .collect();
    let mut last = line("sql_execution", "executed", 1);
    // As sent, not as typed.
    last["sql"] = json!("SELECT 2 LIMIT 1001");
    assert_eq!(
        found,
        [
            line("sql_execution", "executed", 3),
            line("sql_execution", "refused", 0),
            line("sql_execution", "failed", 0),
            line("sl_query", "executed", 1),
            last,
        ]
    );
    let given: Vec<bool> = codes.iter().map(Value::is_string).collect();
    assert_eq!(given, [false, true, true, false, false]);
    let mode = std::fs::metadata(sandbox.work().join(LOG)).expect("a file");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn every_statement_of_an_agent_leaves_one_line() {
    let sandbox = shop();
    let mut child = sandbox
        .command(["mcp", "stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut answers = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let mut ask = |message: Value| {
        writeln!(stdin, "{message}").expect("the server reads");
        answers.next().expect("an answer").expect("a line")
    };
    ask(json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        },
    }));
    let call = |id: u64, sql: &str| {
        let arguments = json!({ "connectionId": "warehouse", "sql": sql });
        json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "sql_execution", "arguments": arguments },
        })
    };
    ask(call(2, "select id from regions"));
    ask(call(3, "delete from regions"));
    drop(stdin);
    assert!(child.wait().expect("the server ends").success());
    let outcomes: Vec<(Value, Value, Value)> = lines(&sandbox)
        .into_iter()
        .map(|line| {
            (
                line["tool"].clone(),
                line["outcome"].clone(),
                line["rows"].clone(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            (json!("sql_execution"), json!("executed"), json!(3)),
            (json!("sql_execution"), json!("refused"), json!(0)),
        ]
    );
}

#[test]
fn a_log_that_cannot_be_written_is_a_warning() {
    let sandbox = shop();
    std::fs::create_dir(sandbox.work().join(LOG)).expect("a folder in the way");
    check!(&sandbox, "sql 'select 1 as one'", @r"
exit 0
one
1
--- stderr
Project: [SANDBOX]/work
warning: the audit log cannot be written: cannot write `[SANDBOX]/work/.ktx/state/audit.jsonl`: Is a directory (os error 21)
");
}
