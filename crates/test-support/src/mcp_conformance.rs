//! Runs MCP's official conformance suite over HTTP.
#![expect(
    clippy::disallowed_methods,
    reason = "the suite is a program that tests run"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::services::{Service, ServiceName, service};

/// The scenarios that pass over the fixture of `ktx-mcp-server`, each with the number of its checks.
/// Lines are added, and numbers grow.
pub const PASSED_OVER_FIXTURE: &str = "\
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
server-sse-polling: 3
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

/// The scenarios that no server of ours can pass, each with the reason.
const NOT_APPLICABLE: [(&str, &str); 33] = [
    ("tools-call-image", NO_MEDIA),
    ("tools-call-audio", NO_MEDIA),
    ("tools-call-embedded-resource", NO_MEDIA),
    ("tools-call-mixed-content", NO_MEDIA),
    ("resources-read-binary", NO_MEDIA),
    ("prompts-get-with-image", NO_MEDIA),
    (
        "tools-call-with-logging",
        "a tool writes no lines of a log; the bridge writes one for each call",
    ),
    ("tools-call-sampling", NO_SAMPLING),
    ("tools-call-elicitation", FIXED_QUESTION),
    ("elicitation-sep1034-defaults", FIXED_QUESTION),
    ("elicitation-sep1330-enums", FIXED_QUESTION),
    (
        "server-stateless",
        "two of its checks need a tool that fails without a capability of the client; no tool does",
    ),
    (
        "http-custom-header-server-validation",
        "no argument of a tool is repeated in a header",
    ),
    ("tasks-lifecycle", NO_TASKS),
    ("tasks-capability-negotiation", NO_TASKS),
    ("tasks-wire-fields", NO_TASKS),
    ("tasks-request-state-removal", NO_TASKS),
    ("tasks-mrtr-input", NO_TASKS),
    ("tasks-request-headers", NO_TASKS),
    ("tasks-dispatch-and-envelope", NO_TASKS),
    ("tasks-required-task-error", NO_TASKS),
    ("tasks-mrtr-composition", NO_TASKS),
    ("tasks-status-notifications", NO_TASKS),
    ("input-required-result-basic-elicitation", NO_INPUT),
    ("input-required-result-basic-sampling", NO_INPUT),
    ("input-required-result-basic-list-roots", NO_INPUT),
    ("input-required-result-request-state", NO_INPUT),
    ("input-required-result-multiple-input-requests", NO_INPUT),
    ("input-required-result-multi-round", NO_INPUT),
    ("input-required-result-non-tool-request", NO_INPUT),
    ("input-required-result-result-type", NO_INPUT),
    ("input-required-result-tampered-state", NO_INPUT),
    ("input-required-result-capability-check", NO_INPUT),
];

const NO_MEDIA: &str = "tools, resources and prompts are texts and data";
const NO_SAMPLING: &str = "no tool uses a model of the client";
const FIXED_QUESTION: &str = "the only question to a user is which of several meanings is meant";
const NO_TASKS: &str =
    "tasks are an extension that is not offered; a call is answered when it is done";
const NO_INPUT: &str =
    "in the newer protocol no tool asks in between; a refusal has all that is needed to call again";

/// The scenarios that fail, or have no checks, without a reason in the list.
pub fn unexplained(lines: &[String]) -> Vec<&str> {
    let proved = lines.iter().filter(|line| !proves(line));
    let names = proved.filter_map(|line| line.split_once(' '));
    let names = names.map(|(_, rest)| rest.split_once(':').map_or(rest, |(name, _)| name));
    let has_reason = |name: &&str| NOT_APPLICABLE.iter().any(|(known, _)| known == name);
    names.filter(|name| !has_reason(name)).collect()
}

/// The scenarios that pass, each with the number of its checks.
pub fn passed(lines: &[String]) -> Vec<&str> {
    let proved = lines.iter().filter(|line| proves(line));
    proved
        .filter_map(|line| line.strip_prefix("passed "))
        .collect()
}

/// A scenario without checks proves nothing.
fn proves(line: &str) -> bool {
    line.starts_with("passed ") && !line.ends_with(": 0")
}

/// Runs all scenarios against a server without a token, and returns the lines of the suite's
/// summary, in its order: `passed <scenario>: <checks>`, or `failed <scenario>`. `None` if the
/// suite is not available.
///
/// # Errors
/// If the suite does not start or prints no summary.
pub fn summary(url: &str) -> Result<Option<Vec<String>>> {
    let Service::Available(folder) = service(ServiceName::McpConformance) else {
        return Ok(None);
    };
    let modules = Path::new(&folder).join("node_modules");
    let script = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let output = Command::new(node(&modules))
        .arg(script)
        .args(["server", "--suite", "all", "--url", url])
        .output()
        .context("the suite does not start")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let (_, summary) = printed
        .split_once("=== SUMMARY ===")
        .with_context(|| format!("the suite has no summary: {printed}"))?;
    Ok(Some(summary.lines().filter_map(line).collect()))
}

fn node(modules: &Path) -> PathBuf {
    let system = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        "linux"
    };
    let machine = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "x64"
    };
    modules.join(format!("node-{system}-{machine}/bin/node"))
}

fn line(text: &str) -> Option<String> {
    let (mark, rest) = text.split_once(' ')?;
    let (scenario, counts) = rest.split_once(": ")?;
    let (passed, _) = counts.split_once(" passed")?;
    match mark {
        "✓" => Some(format!("passed {scenario}: {passed}")),
        "✗" => Some(format!("failed {scenario}")),
        _ => None,
    }
}
