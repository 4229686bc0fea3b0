//! `ktx mcp start --socket` for the user's programs.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use ktx_test_support::sandbox::Sandbox;

use super::served::{Server, initialize};
use crate::support::{run, shop, write};

fn ask(sandbox: &Sandbox, token: &str) -> String {
    let body = initialize().to_string();
    let mut stream = UnixStream::connect(sandbox.work().join("ktx.sock")).expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Replaces a killed server's socket; only the user can reach it.
#[test]
fn a_server_also_listens_on_a_socket() {
    let sandbox = shop();
    let path = sandbox.work().join("ktx.sock");
    drop(UnixListener::bind(&path).expect("a socket"));
    {
        let server = Server::start(&sandbox, "--socket ktx.sock");
        let mode = std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let token = sandbox.read(".ktx/state/mcp.token").expect("a token");
        let answer = ask(&sandbox, token.trim());
        assert!(answer.contains("\"serverInfo\""), "{answer}");
        let answer = ask(&sandbox, "of-nobody");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        let status = server.told("mcp status");
        assert!(
            status.contains("\nsocket: [SANDBOX]/work/ktx.sock\n"),
            "{status}"
        );
    }
    assert!(!path.exists());
}

#[test]
fn a_path_that_cannot_be_a_socket_is_one_error() {
    let sandbox = shop();
    write(&sandbox, "notes.txt", "notes");
    let _listener = UnixListener::bind(sandbox.work().join("taken.sock")).expect("a socket");
    let long = "x".repeat(200);
    for (path, reason) in [
        ("notes.txt", "work/notes.txt` exists and is not a socket"),
        ("taken.sock", "another program listens on the socket `"),
        ("missing/ktx.sock", "cannot listen on the socket `"),
        (&long, " bytes; the system takes at most "),
    ] {
        let refused = run(&sandbox, &format!("mcp start --port 0 --socket {path}"));
        assert_ne!(refused.code, Some(0), "{refused}");
        let text = refused.to_string();
        assert!(
            text.contains(reason) && text.contains("hint: choose"),
            "{text}"
        );
    }
    assert_eq!(sandbox.read("notes.txt").expect("a file"), "notes");
}
