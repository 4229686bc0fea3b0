//! `ktx mcp start`: tools over HTTP with a token.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use super::served::{Server, initialize};
use super::{official_client, official_steps};
use crate::support::{compare_text, json as json_of, run, shop, write};

#[test]
fn a_server_lives_in_the_background() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    compare_text(
        "again",
        &server.told("mcp start --port 0"),
        r"
exit: 0
--- stdout
already running: http://127.0.0.1:[PORT]/mcp
process: [PROCESS]
log: [SANDBOX]/work/.ktx/logs/mcp.log
token: in [SANDBOX]/work/.ktx/state/mcp.token
next: give your agent the URL and the header `Authorization: Bearer <token>`; `ktx mcp stop` ends the server
--- stderr
",
    );
    compare_text(
        "status",
        &server.told("mcp"),
        r"
exit: 0
--- stdout
running: http://127.0.0.1:[PORT]/mcp
process: [PROCESS], since [TIME]
token: asked for
project: [SANDBOX]/work
log: [SANDBOX]/work/.ktx/logs/mcp.log
--- stderr
",
    );
    compare_text(
        "other",
        &server.told("mcp start --port 1"),
        r"
exit: 1
--- stdout
--- stderr
error: a server with other settings runs for this project: http://127.0.0.1:[PORT]/mcp (process [PROCESS])

hint: run `ktx mcp stop` first
",
    );
    compare_text(
        "stop",
        &server.told("mcp stop"),
        r"
exit: 0
--- stdout
stopped: process [PROCESS]
--- stderr
",
    );
    compare_text(
        "stopped",
        &server.told("mcp status"),
        r"
exit: 0
--- stdout
stopped: no server runs; `ktx mcp start` starts one, and each agent can start its own `ktx mcp stdio`
--- stderr
",
    );
    compare_text(
        "stop again",
        &server.told("mcp stop"),
        r"
exit: 0
--- stdout
stopped: no server runs
--- stderr
",
    );
    let log = sandbox.read(".ktx/logs/mcp.log").expect("a log");
    let words: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.split(' ').next())
        .collect();
    assert_eq!(words, ["listening", "ended"], "{log}");
    assert!(!sandbox.work().join(".ktx/mcp.json").exists());
}

#[test]
fn tools_answer_as_over_stdio() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let session = server.session();
    let other = server.session();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let calls = [
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({ "name": "sl_query", "arguments": {
                "measures": ["orders.revenue"], "dimensions": [{ "field": "regions.name" }],
                "order_by": [{ "field": "regions.name" }],
            }}),
        ),
        (
            "tools/call",
            json!({ "name": "sql_execution", "arguments": {
                "connectionId": "warehouse", "sql": "select name from regions order by name",
            }}),
        ),
        (
            "tools/call",
            json!({ "name": "sql_execution", "arguments": {
                "connectionId": "warehouse", "sql": "delete from regions",
            }}),
        ),
        (
            "tools/call",
            json!({ "name": "wiki_read", "arguments": { "key": "revenue" } }),
        ),
    ];
    for (method, params) in calls {
        let over_stdio = client.ask(method, params.clone());
        assert_eq!(
            session.ask(method, &params),
            over_stdio,
            "{method} {params}"
        );
        assert_eq!(other.ask(method, &params), over_stdio, "{method} {params}");
    }
    assert_eq!(client.close().0, Some(0));
    let header = [("Mcp-Session-Id", session.id.as_str())];
    let ended = server.ask("DELETE /mcp", &header, "").0;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    assert_eq!((ended, server.post(&header, &list).0), (202, 404));
    assert_eq!(
        other.ask("tools/list", &json!({}))["tools"][0]["name"],
        "connection_list"
    );
}

/// Checked before reading; only the owner can read the token's file.
#[test]
fn only_who_may_is_answered() {
    let mut sandbox = shop();
    sandbox.set("KTX_MCP_TOKEN", "s3cret-of-the-server");
    let server = Server::start(
        &sandbox,
        "--allowed-host ktx.example.com --allowed-origin https://app.example.com",
    );
    let right = ("Authorization", "Bearer s3cret-of-the-server");
    let status = |headers: &[(&str, &str)]| server.post(headers, &initialize()).0;
    let long =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x".repeat(17 << 20) });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    assert_eq!(
        [
            ("right", status(&[right])),
            ("no token", status(&[])),
            ("wrong token", status(&[("Authorization", "Bearer s3cret")])),
            (
                "allowed host",
                status(&[right, ("Host", "ktx.example.com")])
            ),
            ("other host", status(&[right, ("Host", "evil.example.com")])),
            (
                "allowed origin",
                status(&[right, ("Origin", "https://app.example.com")])
            ),
            (
                "other origin",
                status(&[right, ("Origin", "https://evil.example.com")])
            ),
            ("no initialize", server.post(&[right], &list).0),
            (
                "unknown session",
                server.post(&[right, ("Mcp-Session-Id", "x")], &list).0
            ),
            ("too long", server.post(&[right], &long).0),
            ("health", server.ask("GET /health", &[], "").0),
            (
                "health elsewhere",
                server
                    .ask("GET /health", &[("Host", "evil.example.com")], "")
                    .0
            ),
            ("other path", server.ask("GET /", &[right], "").0),
        ],
        [
            ("right", 200),
            ("no token", 401),
            ("wrong token", 401),
            ("allowed host", 200),
            ("other host", 403),
            ("allowed origin", 200),
            ("other origin", 403),
            ("no initialize", 400),
            ("unknown session", 404),
            ("too long", 413),
            ("health", 200),
            ("health elsewhere", 403),
            ("other path", 404),
        ]
    );
    let (_, health) = server.ask("GET /health", &[], "");
    let health: Value = serde_json::from_str(health.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        health,
        json!({
            "status": "ok", "projectDir": sandbox.work(), "port": server.port, "pid": server.process,
        })
    );
    let page = ("Origin", "https://app.example.com");
    let (status, preflight) = server.ask("OPTIONS /mcp", &[page], "");
    let allowed: Vec<&str> = preflight
        .lines()
        .filter(|line| line.starts_with("access-control"))
        .collect();
    assert_eq!(
        (status, allowed),
        (
            204,
            vec![
                "access-control-allow-origin: https://app.example.com",
                "access-control-allow-methods: GET, POST, DELETE",
                "access-control-allow-headers: authorization, content-type, idempotency-key, last-event-id, mcp-protocol-version, mcp-session-id",
                "access-control-expose-headers: mcp-session-id",
            ]
        )
    );
    let other = ("Origin", "https://evil.example.com");
    let (status, preflight) = server.ask("OPTIONS /mcp", &[other], "");
    assert_eq!((status, preflight.contains("access-control")), (403, false));
    let arguments = std::fs::read(format!("/proc/{}/cmdline", server.process)).unwrap();
    let files = [".ktx/mcp.json", ".ktx/logs/mcp.log"].map(|file| sandbox.read(file).unwrap());
    let all = format!("{}{}", String::from_utf8_lossy(&arguments), files.concat());
    assert!(!all.contains("s3cret"), "{all}");
    // Another token means other settings.
    let start = "mcp start --port 0 --allowed-host ktx.example.com --allowed-origin https://app.example.com";
    let same = run(&sandbox, start).code;
    let other = run(
        &sandbox,
        &format!("{start} --token another-token-of-somebody"),
    )
    .code;
    assert_eq!((same, other), (Some(0), Some(1)));
}

/// Created once, private, ignored by git.
#[test]
fn a_server_asks_for_the_token_of_the_project() {
    use std::os::unix::fs::MetadataExt as _;
    let sandbox = shop();
    let file = sandbox.work().join(".ktx/state/mcp.token");
    let server = Server::start(&sandbox, "");
    let token = std::fs::read_to_string(&file).expect("a token");
    let mode = std::fs::metadata(&file).expect("a file").mode() & 0o777;
    assert_eq!((token.len(), mode), (64, 0o600));
    let header = |token: &str| format!("Bearer {token}");
    let asked = |shown: &str| server.post(&[("Authorization", shown)], &initialize()).0;
    assert_eq!(asked(""), 401);
    assert_eq!(asked(&header("0123456789abcdef")), 401);
    assert_eq!(asked(&header(&token)), 200);
    let seen = sandbox.git("", &["status", "--porcelain", "--untracked-files=all"]);
    assert!(!seen.expect("a repository").contains("token"));
    drop(server);
    let again = Server::start(&sandbox, "");
    assert_eq!(std::fs::read_to_string(&file).expect("a token"), token);
    let status = again
        .post(&[("Authorization", &header(&token))], &initialize())
        .0;
    assert_eq!(status, 200);
}

#[test]
fn a_server_without_a_token_says_what_it_opens() {
    let sandbox = shop();
    let started = run(&sandbox, "mcp start --port 0 --no-token");
    assert_eq!(
        started.stderr,
        "warning: without a token every user and every program of this machine can read through the server what \
         the logins of this project can read\n"
    );
    let server = Server::of(&sandbox);
    let status = server.post(&[("Authorization", "")], &initialize()).0;
    assert_eq!(status, 200);
    assert!(!sandbox.work().join(".ktx/state/mcp.token").exists());
    assert!(server.told("mcp").contains("token: none"));
}

#[test]
fn behind_a_killed_server_another_one_starts() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let process = server.process.to_string();
    let killed = Command::new("kill").args(["-KILL", &process]).status();
    assert!(killed.expect("kill").success());
    let seen = loop {
        let seen = json_of(&sandbox, "mcp status --json")["data"]["state"].clone();
        if seen == json!("stale") || seen == json!("stopped") {
            break seen;
        }
    };
    assert_eq!(seen, json!("stale"));
    let second = Server::start(&sandbox, "");
    assert_ne!(second.process, server.process);
    assert_eq!(second.ask("GET /health", &[], "").0, 200);
}

/// An ended server's process id can be reused.
#[test]
fn a_foreign_process_is_left_alone() {
    let sandbox = shop();
    let mut foreign = Command::new("sleep").arg("600").spawn().expect("sleep");
    let state = json!({
        "schemaVersion": 1, "pid": foreign.id(), "host": "127.0.0.1", "port": 1, "tokenAuth": false,
        "projectDir": sandbox.work(), "startedAt": "2026-01-01T00:00:00Z", "logPath": "x",
    });
    write(&sandbox, ".ktx/mcp.json", &state.to_string());
    compare_text(
        "older",
        &run(&sandbox, "mcp stop").to_string(),
        r"
exit: 0
--- stdout
stopped: no server runs
--- stderr
note: `.ktx/mcp.json` belongs to a server of KTX 0.12; if it still runs, stop it with that version
",
    );
    let mut newer = state;
    newer["version"] = json!("0.13.0");
    write(&sandbox, ".ktx/mcp.json", &newer.to_string());
    compare_text(
        "stale",
        &run(&sandbox, "mcp").to_string(),
        r"
exit: 0
--- stdout
stale: the server crashed or was killed; `ktx mcp start` starts another
--- stderr
",
    );
    compare_text(
        "newer",
        &run(&sandbox, "mcp stop").to_string(),
        r"
exit: 0
--- stdout
stopped: no server runs
--- stderr
",
    );
    assert!(foreign.try_wait().expect("it can be asked").is_none());
    foreign.kill().expect("it is ours");
    foreign.wait().expect("it ends");
}

#[test]
fn what_cannot_be_served_is_told() {
    let sandbox = shop();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let busy = run(&sandbox, &format!("mcp start --port {port}")).to_string();
    compare_text(
        "busy",
        &busy.replace(&port.to_string(), "[PORT]"),
        r"
exit: 1
--- stdout
--- stderr
error: cannot listen on 127.0.0.1:[PORT]
  caused by: Address already in use (os error 98)

hint: choose another port with `--port`; 0 picks a free one
hint: the server of another project may use it: `ktx --project-dir <folder> mcp status`
",
    );
    let told = |words: &str| run(&sandbox, words).to_string();
    compare_text(
        "open to all",
        &told("mcp start --host 0.0.0.0 --no-token"),
        r"
exit: 2
--- stdout
--- stderr
error: `--host 0.0.0.0` can be reached by other machines, so agents must show a token

hint: leave `--no-token` out
",
    );
    compare_text(
        "no value",
        &told("mcp start --token env:NOT_SET"),
        r"
exit: 3
--- stdout
--- stderr
error: `--token` has no value
  caused by: environment variable `NOT_SET` is not set
",
    );
    compare_text(
        "no token",
        &told("mcp start --token é"),
        r"
exit: 2
--- stdout
--- stderr
error: a token consists of visible ASCII characters without spaces
",
    );
    compare_text(
        "a token that can be guessed",
        &told("mcp start --token x"),
        r"
exit: 2
--- stdout
--- stderr
error: a token has at least 16 characters, so that it cannot be guessed

hint: without one, `ktx mcp start` creates its own token
",
    );
    compare_text(
        "no log",
        &{
            std::fs::remove_file(sandbox.work().join(".ktx/logs/mcp.log")).unwrap();
            told("mcp logs")
        },
        r"
exit: 3
--- stdout
--- stderr
error: there is no log: no server was started in the background

hint: `ktx mcp start` starts one
",
    );
    assert!(!sandbox.work().join(".ktx/mcp.json").exists());
}

fn foreground(sandbox: &Sandbox) -> Child {
    sandbox
        .command(["mcp", "start", "--foreground", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

#[test]
fn the_end_of_a_server_is_the_end_of_its_queries() {
    let sandbox = shop();
    let mut child = foreground(&sandbox);
    let mut first = [0; 1];
    let stdout = child.stdout.as_mut().expect("it is piped");
    stdout
        .read_exact(&mut first)
        .expect("it says where it listens");
    let server = Server::of(&sandbox);
    let session = server.session();
    let endless =
        "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c";
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "sql_execution", "arguments": { "connectionId": "warehouse", "sql": endless },
    }});
    let mut stream = server.send(&session.id, &call);
    // The head arrives when the call runs.
    stream.read_exact(&mut first).expect("it answers");
    let short = json!({ "name": "sql_execution", "arguments": {
        "connectionId": "warehouse", "sql": "select count(*) as n from regions",
    }});
    assert_eq!(session.ask("tools/call", &short)["isError"], json!(false));
    let process = child.id().to_string();
    let told = Command::new("kill").args(["-TERM", &process]).status();
    assert!(told.expect("kill").success());
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{said}");
    assert!(said.trim_end().ends_with("ended"), "{said}");
    // Neither a result nor a refusal: the statement was running.
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_default();
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains("\"result\""), "{answer}");
}

#[test]
fn one_server_serves_a_project() {
    let sandbox = shop();
    let start = || {
        let mut command = sandbox.command(["mcp", "start", "--port", "0"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let started: Vec<Child> = (0..4).map(|_| start()).collect();
    let said: Vec<String> = started
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it ends");
            String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
        })
        .collect();
    let server = Server::of(&sandbox);
    let count = |word: &str| said.iter().filter(|said| said.starts_with(word)).count();
    assert_eq!(count("started: "), 1, "{said:#?}");
    let others =
        count("already running: ") + count("error: a server already runs for this project");
    assert_eq!(others, 3, "{said:#?}");
    assert_eq!(server.ask("GET /health", &[], "").0, 200);
}

#[test]
fn the_official_client_is_served_over_http() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "--no-token");
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    if let Some(steps) = official_client(&sandbox, &url) {
        assert_eq!(json!(steps), official_steps());
    }
}
