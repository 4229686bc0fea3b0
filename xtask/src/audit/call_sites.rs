//! Where the LLM port is called, and for which role.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Line, Purpose, Source};
use crate::repository::TextFile;

const BEHIND_THE_PORT: [&str; 3] = ["llm-runtime", "provider-adapters", "claude-code-adapter"];

/// Maximum lines between a call and its role.
const NEARBY: usize = 25;

static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:(?:\.|::)\s*(generate_text|generate_object|run_agent_loop|start_run|probe|describe)",
        r"|\b(generate_typed))(?:::<[^()]*>)?\(",
        r"|\bLlmRuntime>?::(\w+)"
    ))
    .ok()
});
static ROLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bModelRole::([A-Z]\w*)").ok());

/// A user-set role, such as `role: self.settings.role`.
static SETTING: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*role: [\w.]*\bsettings\.role,").ok());

/// Maximum lines between a call and a user-set role.
const IN_THE_REQUEST: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallSite {
    path: String,
    line: usize,
    operation: String,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    Named(String),
    /// Passes on its caller's role.
    HandedOn,
    /// Uses the default role's model.
    Probe,
    Set,
    /// Calls no model.
    NoModel,
    NotNearby,
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Named(name) => name,
            Self::HandedOn => "handed on",
            Self::Probe => "Default",
            Self::Set => "from the settings",
            Self::NoModel => "no model",
            Self::NotNearby => "no role nearby",
        })
    }
}

impl CallSite {
    /// Independent of line numbers.
    fn entry(&self) -> String {
        let Self {
            path,
            operation,
            role,
            ..
        } = self;
        format!("{path}: {operation} ({role})")
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            operation,
            role,
        } = self;
        write!(out, "{path}:{line}: {operation} ({role})")
    }
}

/// Known calls: path, operation and role.
const LIST: &str = "fixtures/audit/call-sites.txt";

/// Compares calls with the list, so that reviews see new ones, and reports calls far from their
/// role.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    const RULE: &str = "call site";
    let sites = all(files, sources);
    let mut findings: Vec<Finding> = sites
        .iter()
        .filter(|site| site.role == Role::NotNearby)
        .map(|site| {
            let what = format!("`{}` without a role nearby", site.operation);
            let cure = "name the `ModelRole` beside the call";
            Finding::file(&site.path, RULE, what, cure).at(site.line)
        })
        .collect();
    let text = files.iter().find(|file| file.path == LIST);
    let text = text.map_or("", |file| &*file.text);
    let mut known: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    for site in &sites {
        let entry = site.entry();
        if let Some(at) = known.iter().position(|line| *line == entry) {
            known.remove(at);
        } else {
            let what = format!("`{entry}` is not listed");
            let cure = "add the line to `fixtures/audit/call-sites.txt`";
            findings.push(Finding::file(&site.path, RULE, what, cure).at(site.line));
        }
    }
    findings.extend(known.into_iter().map(|entry| {
        let what = format!("`{entry}` is not a call");
        Finding::file(LIST, RULE, what, "delete the line")
    }));
    findings
}

pub(crate) fn all(files: &[TextFile], sources: &[Source]) -> Vec<CallSite> {
    let reaches = |source: &&Source| {
        let manifest = format!("crates/{}/Cargo.toml", source.package());
        let manifest = files.iter().find(|file| file.path == manifest);
        manifest.is_some_and(|file| file.text.contains("ktx-llm-runtime.workspace"))
    };
    sources.iter().filter(reaches).flat_map(of).collect()
}

pub(crate) fn of(source: &Source) -> Vec<CallSite> {
    let (Some(call), Some(role)) = (CALL.as_ref(), ROLE.as_ref()) else {
        return Vec::new();
    };
    if source.purpose() != Purpose::Product || source.is_in(&BEHIND_THE_PORT) {
        return Vec::new();
    }
    let lines: Vec<Line<'_>> = source.product_code().collect();
    let is_runtime = lines
        .iter()
        .any(|line| line.text.contains("impl LlmRuntime for"));
    let mut sites = Vec::new();
    for line in &lines {
        for captures in call.captures_iter(line.text) {
            let operation = captures
                .get(1)
                .or_else(|| captures.get(2))
                .or_else(|| captures.get(3))
                .map(|name| name.as_str().to_owned())
                .unwrap_or_default();
            let role = if is_runtime {
                Role::HandedOn
            } else if operation == "probe" {
                Role::Probe
            } else if operation == "describe" {
                Role::NoModel
            } else if is_set(&lines, line.number) {
                Role::Set
            } else {
                nearest_role(role, &lines, line.number).map_or(Role::NotNearby, Role::Named)
            };
            sites.push(CallSite {
                path: source.path.clone(),
                line: line.number,
                operation,
                role,
            });
        }
    }
    sites
}

fn is_set(lines: &[Line<'_>], call: usize) -> bool {
    let Some(setting) = SETTING.as_ref() else {
        return false;
    };
    lines
        .iter()
        .filter(|line| (call..=call + IN_THE_REQUEST).contains(&line.number))
        .any(|line| setting.is_match(line.text))
}

fn nearest_role(role: &Regex, lines: &[Line<'_>], call: usize) -> Option<String> {
    lines
        .iter()
        .filter(|line| line.number.abs_diff(call) <= NEARBY)
        .filter_map(|line| Some((line.number.abs_diff(call), role.captures(line.text)?)))
        .min_by_key(|(distance, _)| *distance)
        .and_then(|(_, captures)| captures.get(1).map(|name| name.as_str().to_owned()))
}
