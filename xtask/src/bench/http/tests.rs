//! The client against a server with fixed answers.

use std::net::TcpListener;

use super::*;

/// The second request uses the session; bodies end by length and by chunks.
#[test]
fn a_session_keeps_its_connection() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut requests = Vec::new();
        for answer in [
            "HTTP/1.1 200 OK\r\nMcp-Session-Id: s1\r\nContent-Length: 5\r\n\r\nfirst",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nseco\r\n2\r\nnd\r\n0\r\n\r\n",
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno",
        ] {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).unwrap();
            requests.push(String::from_utf8_lossy(&buffer[..count]).into_owned());
            stream.write_all(answer.as_bytes()).unwrap();
        }
        requests
    });
    let mut client = Client::connect(&Place {
        address: address.clone(),
        token: "t0".to_owned(),
        process: 0,
    })
    .unwrap();
    assert_eq!(client.exchange("{1}").unwrap(), "first");
    assert_eq!(client.exchange("{2}").unwrap(), "second");
    assert_eq!(
        client.exchange("{3}").unwrap_err().to_string(),
        "the server answered `HTTP/1.1 401 Unauthorized`: no"
    );
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer t0\r\n");
    let types = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let rest = |body: &str| format!("{types}Content-Length: 3\r\n\r\n{body}");
    assert_eq!(
        server.join().unwrap(),
        [
            format!("{head}{}", rest("{1}")),
            format!("{head}Mcp-Session-Id: s1\r\n{}", rest("{2}")),
            format!("{head}Mcp-Session-Id: s1\r\n{}", rest("{3}")),
        ]
    );
}
