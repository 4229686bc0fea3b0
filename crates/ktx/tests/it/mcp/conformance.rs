//! The official conformance suite.

use ktx_test_support::mcp_conformance::{PASSED_OVER_FIXTURE, passed, summary, unexplained};

use super::served::Server;
use crate::support::shop;

/// The passing scenarios, each with the number of its checks. Lines may be added, never removed.
/// The other scenarios need tools, resources or prompts with fixed names, which only the fixture of
/// `ktx-mcp-server` has, or have a reason in the list.
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
    let expected: Vec<&str> = PASSED.lines().collect();
    assert_eq!(passed(&lines), expected, "{}", lines.join("\n"));
    let over_fixture = |name: &str| {
        let mut known = PASSED_OVER_FIXTURE.lines();
        known.any(|line| line.split_once(':').is_some_and(|(known, _)| known == name))
    };
    let mut unexplained = unexplained(&lines);
    unexplained.retain(|name| !over_fixture(name));
    assert_eq!(unexplained, Vec::<&str>::new());
}
