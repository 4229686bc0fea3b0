//! The official conformance suite.

use ktx_test_support::mcp_conformance::summary;

use super::served::Server;
use crate::support::shop;

/// Passing scenarios with checks; never remove lines. Other scenarios need fixed names that only
/// `ktx-mcp-server` has.
const PASSED: &str = "\
server-initialize: 3
server-session-lifecycle: 3
logging-set-level: 2
ping: 2
tools-list: 3
tools-call-simple-text: 2
tools-call-error: 2
server-sse-multiple-streams: 2
resources-list: 2
sep-2164-resource-not-found: 3
sep-2640-skills-directory: 1
sep-2640-skills-enumeration: 1
sep-2640-skills-manifest: 1
prompts-list: 2
dns-rebinding-protection: 2
caching: 8
http-header-validation: 14
input-required-result-missing-input-response: 1
input-required-result-unsupported-methods: 2
input-required-result-ignore-extra-params: 2
input-required-result-validate-input: 1
";

#[test]
fn the_official_suite_passes_as_far_as_it_concerns_ktx() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "--no-token");
    let Some(lines) = summary(&server.url()).unwrap() else {
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
