//! The official conformance suite against the fixture.

use ktx_mcp_bridge::{HttpTools, ServerIdentity};
use ktx_mcp_server::{Access, HttpServer};
use ktx_test_support::mcp_conformance::summary;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::fixture::offer;

/// With the number of checks. Lines are added, never removed.
const PASSED: &str = "\
server-initialize: 3
server-session-lifecycle: 3
logging-set-level: 2
ping: 2
completion-complete: 2
tools-list: 3
tools-call-simple-text: 2
tools-call-error: 2
tools-call-with-progress: 2
json-schema-2020-12: 8
server-sse-multiple-streams: 2
resources-list: 2
resources-read-text: 2
resources-templates-read: 2
resources-subscribe: 2
resources-unsubscribe: 2
sep-2164-resource-not-found: 3
sep-2640-skills-directory: 1
sep-2640-skills-enumeration: 1
sep-2640-skills-manifest: 1
prompts-list: 2
prompts-get-simple: 2
prompts-get-with-args: 2
prompts-get-embedded-resource: 2
dns-rebinding-protection: 2
caching: 8
http-header-validation: 14
input-required-result-missing-input-response: 1
input-required-result-unsupported-methods: 2
input-required-result-ignore-extra-params: 2
input-required-result-validate-input: 1
";

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
    let tools = HttpTools::new(offer(), identity, shutdown.child_token());
    let access = Access::new(&[], &[], None);
    let server = HttpServer::serving(listener, access, "{}".to_owned(), tools, |_| {});
    let served = tokio::spawn(server.serve(shutdown.clone()));
    let lines = tokio::task::spawn_blocking(move || summary(&url)).await;
    shutdown.cancel();
    served.await.unwrap();
    let Some(lines) = lines.unwrap().unwrap() else {
        return;
    };
    let passed = lines.iter().filter_map(|line| line.strip_prefix("passed "));
    // A scenario without checks proves nothing.
    let passed: Vec<&str> = passed.filter(|line| !line.ends_with(": 0")).collect();
    assert_eq!(
        passed,
        PASSED.lines().collect::<Vec<_>>(),
        "{}",
        lines.join("\n")
    );
}
