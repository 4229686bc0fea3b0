//! Tests of addresses and of requests to a local server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Client;

use crate::{
    BaseUrl, BodyError, ClientSettings, Proxy, Redirects, RetryPolicy, client, read_body, send, tls,
};

const POLICY: RetryPolicy = RetryPolicy {
    attempts: 3,
    last_broken_attempt: 1,
    busy: &[503],
    first_delay: Duration::from_millis(1),
    longest_delay: Duration::from_millis(2),
};

const GOOD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood";
const BUSY: &str =
    "HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";
const BROKEN: &str = "";

#[track_caller]
fn check(text: &str, expected: Option<&str>) {
    let found = BaseUrl::parse(text);
    assert_eq!(found.as_ref().map(BaseUrl::as_str), expected, "{text}");
}

#[test]
fn takes_plain_http_for_this_machine_only() {
    check("https://example.com/", Some("https://example.com"));
    check("http://127.0.0.1:9050", Some("http://127.0.0.1:9050"));
    check("http://[::1]:9050/x/", Some("http://[::1]:9050/x"));
    check("http://localhost", Some("http://localhost"));
    check("http://example.com", None);
    check("http://localhost.example.com", None);
    check("https://user:word@example.com", None);
    check("https://example.com?key=word", None);
    check("https://example.com#part", None);
    check("ftp://localhost", None);
    check("example.com", None);
}

/// Sends one answer per connection; repeats the last one.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

fn serve(answers: &'static [&'static str]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend_from_slice(&byte);
            }
            let number = counter.fetch_add(1, Ordering::SeqCst);
            let answer = answers.get(number).or(answers.last()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    Server { url, requests }
}

fn direct(redirects: Redirects) -> Client {
    client(ClientSettings {
        tls: tls::client_config().unwrap(),
        proxy: Proxy::for_host("localhost"),
        redirects,
        connect_timeout: Duration::from_secs(10),
        total_timeout: None,
        user_agent: None,
    })
    .unwrap()
}

/// Returns the final status (`None` for a broken connection) and the number of requests.
async fn exchange(answers: &'static [&'static str]) -> (Option<u16>, usize) {
    let server = serve(answers);
    let request = direct(Redirects::None).get(&server.url);
    let response = send(request, &POLICY).await.ok();
    let status = response.map(|response| response.status().as_u16());
    (status, server.requests.load(Ordering::SeqCst))
}

/// The server asks for an hour; the longest delay limits it.
#[tokio::test]
async fn retries_a_busy_server_up_to_the_limit() {
    assert_eq!(exchange(&[BUSY, GOOD]).await, (Some(200), 2));
    assert_eq!(exchange(&[BUSY]).await, (Some(503), 3));
}

#[tokio::test]
async fn sends_again_after_the_first_broken_connection_only() {
    assert_eq!(exchange(&[BROKEN, GOOD]).await, (Some(200), 2));
    assert_eq!(exchange(&[BROKEN, BROKEN, GOOD]).await, (None, 2));
}

#[tokio::test]
async fn reads_no_more_than_the_limit() {
    let server = serve(&[GOOD]);
    let client = direct(Redirects::None);
    let whole = client.get(&server.url).send().await.unwrap();
    assert_eq!(read_body(whole, 4).await.unwrap(), b"good");
    let long = client.get(&server.url).send().await.unwrap();
    assert!(matches!(read_body(long, 3).await, Err(BodyError::TooLong)));
}

#[tokio::test]
async fn follows_redirects_within_one_origin_only() {
    const INSIDE: &str =
        "HTTP/1.1 307 There\r\nConnection: close\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n";
    const OUTSIDE: &str = "HTTP/1.1 307 There\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    async fn status(redirects: Redirects, answers: &'static [&'static str]) -> u16 {
        let server = serve(answers);
        let response = direct(redirects).get(&server.url).send().await.unwrap();
        response.status().as_u16()
    }
    assert_eq!(status(Redirects::SameOrigin, &[INSIDE, GOOD]).await, 200);
    assert_eq!(status(Redirects::SameOrigin, &[OUTSIDE, GOOD]).await, 307);
    assert_eq!(status(Redirects::None, &[INSIDE, GOOD]).await, 307);
}

#[test]
fn names_an_invalid_proxy_url_without_its_password() {
    let settings = ClientSettings {
        tls: tls::client_config().unwrap(),
        proxy: Proxy::Url("http://user:word@".to_owned()),
        redirects: Redirects::None,
        connect_timeout: Duration::from_secs(10),
        total_timeout: None,
        user_agent: None,
    };
    let text = client(settings).unwrap_err().to_string();
    assert!(text.ends_with("is not a proxy URL"), "{text}");
    assert!(!text.contains("word"), "{text}");
}

#[test]
fn a_host_in_another_script_is_read_as_browsers_read_it() {
    let host = |text: &str| BaseUrl::parse(text).map(|url| url.host().to_owned());
    assert_eq!(
        [
            host("https://bücher.example/api"),
            host("https://BÜCHER.example/api"),
            host("https://例え.テスト/api"),
        ],
        [
            Some("xn--bcher-kva.example".to_owned()),
            Some("xn--bcher-kva.example".to_owned()),
            Some("xn--r8jz45g.xn--zckzah".to_owned()),
        ]
    );
}
