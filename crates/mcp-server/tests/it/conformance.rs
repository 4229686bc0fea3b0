//! The official conformance suite against the fixture.

use std::time::Duration;

use ktx_mcp_bridge::{HttpTools, ServerIdentity};
use ktx_mcp_server::{Access, HttpServer};
use ktx_test_support::mcp_conformance::{PASSED_OVER_FIXTURE, passed, summary, unexplained};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::fixture::offer;

/// Shorter than the tool that the suite reads on.
const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn the_official_suite_passes_over_the_fixture() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let shutdown = CancellationToken::new();
    let identity = ServerIdentity {
        name: "fixture".to_owned(),
        title: "Fixture".to_owned(),
        version: "1.0.0".to_owned(),
        instructions: String::new(),
    };
    let tools = HttpTools::polled(offer(), identity, SHORT, shutdown.child_token());
    let access = Access::new(&[], &[], None);
    let server = HttpServer::serving(listener, access, "{}".to_owned(), tools, |_| {});
    let served = tokio::spawn(server.serve(shutdown.clone()));
    let lines = tokio::task::spawn_blocking(move || summary(&url)).await;
    shutdown.cancel();
    served.await.unwrap();
    let Some(lines) = lines.unwrap().unwrap() else {
        return;
    };
    let expected: Vec<&str> = PASSED_OVER_FIXTURE.lines().collect();
    assert_eq!(passed(&lines), expected, "{}", lines.join("\n"));
    assert_eq!(unexplained(&lines), Vec::<&str>::new());
}
