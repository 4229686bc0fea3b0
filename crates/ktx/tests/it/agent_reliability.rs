//! Agents among failing files, dying servers and secrets. Small here; variables ask for the full size.
//!
//! `KTX_TEST_FAULTS=300` fails each of the first 300 calls of a kind, `KTX_TEST_ENDS=500` ends 500
//! runs, `KTX_TEST_KILLS=1000` kills at 1,000 moments and `KTX_TEST_SECONDS=60` uses one session
//! for a minute (both in `agent_kills`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ktx_test_support::loopback::{Answer, End, Loopback, Request};
use ktx_test_support::sandbox::{RunOutput, Sandbox};
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::json;

use crate::agent::{CONFIG, shop, streamed};
use crate::agent_kills::number;
use crate::agent_servers::{marked, provider, remote, stdio, write_agent};
use crate::claude_cut_off::{signal, until};
use crate::probes::configured;
use crate::support::{commit, run, words, write};

/// A system call and the error that it gives once.
struct Fault {
    call: &'static str,
    error: &'static str,
}

const fn fault(call: &'static str, error: &'static str) -> Fault {
    Fault { call, error }
}

const FAULTS: [Fault; 12] = [
    fault("openat", "EMFILE"),
    fault("openat", "ENOSPC"),
    fault("openat", "EIO"),
    fault("read", "EIO"),
    fault("write", "ENOSPC"),
    fault("write", "EIO"),
    fault("pwrite64", "ENOSPC"),
    fault("fdatasync", "EIO"),
    fault("fsync", "EIO"),
    fault("ftruncate", "EIO"),
    fault("rename", "ENOSPC"),
    fault("mkdir", "ENOSPC"),
];

const TURN: &str = "--create --output plain -m 'How much revenue?'";

/// The project's files, without those of git, which is another program.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with(".git") {
            continue;
        }
        found.push(path.clone());
        if path.is_dir() {
            files(&path, found);
        }
    }
}

#[derive(Clone, Copy)]
struct Tracer<'a> {
    strace: &'a str,
    sandbox: &'a Sandbox,
}

/// Runs a command whose `count`-th such call on a file of the project fails; `None` if it has fewer.
fn run_with(
    Tracer { strace, sandbox }: Tracer<'_>,
    line: &str,
    Fault { call, error }: &Fault,
    count: u64,
) -> Option<RunOutput> {
    let wrapped = sandbox.command(words(line));
    let trace = sandbox.home().join("trace");
    let mut command = Command::new(strace);
    command
        .args(["-f", "-qq", "-o"])
        .arg(&trace)
        .args(["-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:error={error}:when={count}")]);
    let mut paths = vec![sandbox.work()];
    files(&sandbox.work(), &mut paths);
    let session = sandbox.work().join(".ktx/state/agents/sessions/one");
    paths.extend(["", "log.jsonl", "lock", "inbox"].map(|name| session.join(name)));
    for path in paths {
        command.arg("-P").arg(path);
    }
    command.arg(wrapped.get_program()).args(wrapped.get_args());
    command.env_clear();
    for (name, value) in wrapped.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.current_dir(wrapped.get_current_dir().expect("a folder"));
    let output = sandbox.finish(&mut command).expect("it runs");
    let trace = std::fs::read_to_string(trace).expect("the trace");
    trace.contains("(INJECTED)").then_some(output)
}

/// One error, no panic; the log is whole and the next turn is answered.
fn check_fault(sandbox: &Sandbox, place: &str, told: &RunOutput) {
    assert!(!told.stderr.contains("panicked"), "{place}: {told}");
    let errors = told.stderr.matches("error: ").count();
    match told.code {
        Some(0) => assert_eq!(errors, 0, "{place}: {told}"),
        Some(1 | 3 | 5 | 7) => assert_eq!(errors, 1, "{place}: {told}"),
        _ => panic!("{place}: {told}"),
    }
    let log = sandbox.read(".ktx/state/agents/sessions/one/log.jsonl");
    if let Ok(log) = log {
        assert!(log.is_empty() || log.ends_with('\n'), "{place}: {log}");
    }
    let next = run(sandbox, &format!("agent run --session one {TURN}"));
    assert_eq!(next.code, Some(0), "{place}: {told}\nthen: {next}");
    assert_eq!(next.stdout, "Revenue is 15.\n", "{place}: {next}");
}

/// KODE-46: at most one error, and nothing half-written.
#[test]
fn a_call_of_the_system_fails_once() {
    let Service::Available(strace) = service(ServiceName::Strace) else {
        return;
    };
    let most = number("KTX_TEST_FAULTS").unwrap_or(1);
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let last = asked["messages"].as_array().and_then(|all| all.last());
        let is_result = last.is_some_and(|it| it["content"][0]["type"] == "tool_result");
        let block = if is_result {
            json!({ "type": "text", "text": "Revenue is 15." })
        } else {
            json!({ "type": "tool_use", "id": format!("t{number}"), "name": "wiki_search", "input": { "query": "revenue" } })
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = configured(shop(CONFIG), &provider, "");
    // Makes the files that later runs find.
    run(&sandbox, &format!("agent run --session zero {TURN}"));
    let tracer = Tracer {
        strace: &strace,
        sandbox: &sandbox,
    };
    let mut faults = 0;
    for fault in &FAULTS {
        for count in 1..=most {
            let folder = sandbox.work().join(".ktx/state/agents/sessions/one");
            std::fs::remove_dir_all(folder).unwrap_or_default();
            let line = format!("agent run --session one {TURN}");
            let Some(told) = run_with(tracer, &line, fault, count) else {
                break;
            };
            faults += 1;
            check_fault(
                &sandbox,
                &format!("{} {} {count}", fault.call, fault.error),
                &told,
            );
        }
    }
    assert!(faults >= 6, "{faults}");
}

/// How a run ends.
#[derive(Debug, Clone, Copy)]
enum RunEnd {
    Answered,
    Refused,
    OutOfTurns,
    Signal(&'static str),
}

const RUN_ENDS: [RunEnd; 6] = [
    RunEnd::Answered,
    RunEnd::Refused,
    RunEnd::OutOfTurns,
    RunEnd::Signal("-INT"),
    RunEnd::Signal("-TERM"),
    RunEnd::Signal("-KILL"),
];

/// KODE-68: a run leaves no process of its servers, however it ends.
#[test]
fn no_end_of_a_run_leaves_a_server() {
    let rounds = number("KTX_TEST_ENDS").unwrap_or(12).div_ceil(6);
    std::thread::scope(|scope| {
        for (index, end) in RUN_ENDS.into_iter().enumerate() {
            scope.spawn(move || {
                let mark = format!("end-{index}");
                let provider = match end {
                    RunEnd::Answered | RunEnd::OutOfTurns => provider(End::Whole),
                    RunEnd::Signal(_) => provider(End::StallAfter(10)),
                    RunEnd::Refused => {
                        let refused = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
                        Loopback::start(move |_, _| Answer::json(400, &refused)).expect("a provider")
                    }
                };
                let mut sandbox = remote(&provider);
                write_agent(&mut sandbox, &stdio("stubborn", &mark), "{mode: auto}");
                let turns = if matches!(end, RunEnd::OutOfTurns) { "limits: {max_turns: 1}\n" } else { "" };
                let agent = sandbox.read("agents/helper.yaml").expect("an agent");
                write(&sandbox, "agents/helper.yaml", &(agent + turns));
                for _ in 0..rounds {
                    end_run(&sandbox, &provider, end, &mark);
                    until("no process of the server is left", || marked(&mark) == 0);
                }
            });
        }
    });
}

fn end_run(sandbox: &Sandbox, provider: &Loopback, end: RunEnd, mark: &str) {
    let line = ["agent", "run", "--agent", "helper", "-m", "What is it?"];
    let before = provider.requests().len();
    let mut command = sandbox.command(line);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut ktx = command.spawn().expect("ktx starts");
    if let RunEnd::Signal(name) = end {
        until("the model is asked", || provider.requests().len() > before);
        assert!(marked(mark) > 0);
        signal(&ktx, name);
    }
    let code = ktx.wait().expect("ktx has ended").code();
    let wanted = match end {
        RunEnd::Answered => Some(0),
        RunEnd::Refused => Some(5),
        RunEnd::OutOfTurns => Some(7),
        RunEnd::Signal("-KILL") => None,
        RunEnd::Signal(_) => Some(130),
    };
    assert_eq!(code, wanted, "{end:?}");
}

const VARIABLES: [&str; 16] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "DATABASE_URL",
    "DOCKER_AUTH_CONFIG",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "GOOGLE_API_KEY",
    "HF_TOKEN",
    "NPM_TOKEN",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "SLACK_BOT_TOKEN",
    "SNOWFLAKE_PASSWORD",
];

const SERVER_TOKENS: usize = 12;
const HEADERS: usize = 4;
const KEYS: usize = 8;

/// The servers fail and say their secrets; so does the provider with its key.
fn talkative(sandbox: &mut Sandbox, echo: &Loopback) {
    let program = ktx_test_support::mcp_fake::executable().expect("the fake is built");
    let mut tools = String::new();
    for number in 0..SERVER_TOKENS {
        sandbox.set(
            &format!("TOKEN_{number}"),
            format!("canary-token-{number}-4711"),
        );
        tools = format!(
            "{tools}  - {{type: mcp, name: t{number}, optional: true, command: \"{}\", args: [exits], env: {{TOKEN: \"env:TOKEN_{number}\"}}}}\n",
            program.display()
        );
    }
    for number in 0..HEADERS {
        sandbox.set(
            &format!("HEADER_{number}"),
            format!("canary-header-{number}-4711"),
        );
        tools = format!(
            "{tools}  - {{type: mcp, name: h{number}, optional: true, transport: http, url: \"{}\", headers: {{Authorization: \"Bearer ${{HEADER_{number}}}\"}}}}\n",
            echo.address()
        );
    }
    for name in VARIABLES {
        sandbox.set(name, format!("canary-{name}-4711"));
    }
    let agent = format!("name: helper\ninstructions: {{inline: Answer.}}\ntools:\n{tools}");
    write(sandbox, "agents/helper.yaml", &agent);
    commit(sandbox, "an agent with servers");
}

/// 40 secrets, in the environment, in that of servers, and in errors: none is written or printed.
#[test]
fn no_secret_is_written_or_printed() {
    let echo = Loopback::start(|request: &Request, _| {
        let said = json!({ "type": "error", "error": {
            "type": "invalid_request_error", "message": format!("{:?}", request.headers),
        } });
        Answer::json(400, &said)
    })
    .expect("a provider");
    let mut sandbox = remote(&echo);
    talkative(&mut sandbox, &echo);
    let mut printed = String::new();
    for number in 0..KEYS {
        sandbox.set("PLANTED", format!("canary-key-{number}-4711"));
        let line = format!(
            "--debug agent run --agent helper --session s{number} --create --events --channels progress,control,monitor -m 'What is it?'"
        );
        let told = run(&sandbox, &line);
        assert_eq!(told.code, Some(5), "{told}");
        assert!(told.stderr.contains("***"), "{told}");
        printed += &told.to_string();
        printed += &run(
            &sandbox,
            &format!("agent sessions export s{number} --format jsonl"),
        )
        .to_string();
    }
    for line in [
        "agent sessions list --json",
        "agent validate --json",
        "status --json",
        "usage --json",
    ] {
        printed += &run(&sandbox, line).to_string();
    }
    assert_eq!(
        printed.matches("the agent works without it").count(),
        KEYS * (SERVER_TOKENS + HEADERS),
        "{printed}"
    );
    assert_eq!(printed.matches("canary-").count(), 0, "{printed}");
    let found = Command::new("grep")
        .args(["-rlF", "canary-"])
        .args([sandbox.work(), sandbox.home()])
        .output()
        .expect("grep runs");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let all = VARIABLES.len() + SERVER_TOKENS + HEADERS + KEYS;
    assert_eq!(all, 40);
}
