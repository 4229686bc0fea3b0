//! Runs MCP's official conformance suite over HTTP.
#![expect(
    clippy::disallowed_methods,
    reason = "the suite is a program that tests run"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::services::{Service, ServiceName, service};

/// Runs all scenarios without a token. Returns lines `passed <scenario>: <checks>` or `failed
/// <scenario>`; `None` without the suite.
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
