//! The text form of `ktx status`.

use ktx_diagnostics::counted;
use serde::Serialize;

use super::report::{
    CheckResult, ConnectionStatus, Embeddings, FileCount, Health, Issue, ModelStatus, ScannedScope,
    SourceFiles, StatusReport,
};
use crate::proposals::ProposalReport;

struct StatusPage(String);

impl StatusPage {
    fn line(&mut self, label: &str, value: &str) {
        self.0.extend([format!("{label:<13}{value}\n")]);
    }

    fn hint(&mut self, hint: &str) {
        self.line("", &format!("hint: {hint}"));
    }

    fn json(&mut self, label: &str, section: &impl Serialize) {
        let json = serde_json::to_string(section).unwrap_or_default();
        self.line(label, &json);
    }
}

/// How much of the report is printed (`--verbose`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Summary,
    Full,
}

pub(super) fn render(status: &StatusReport, verbosity: Verbosity) -> String {
    let mut page = StatusPage(String::new());
    page.line("Project", &status.project_dir);
    let verdict = &status.verdict;
    let (readiness, reason) = (verdict.readiness.as_str(), &verdict.reason);
    page.line("Verdict", &format!("{readiness} ({reason})"));
    let config = &status.config;
    page.line(
        "Config",
        &format!("{} {}", mark(config.status), config.detail),
    );
    for issue in &config.issues {
        page.line("", &described(issue));
    }
    model(&status.llm, &mut page);
    parts(status, &mut page);
    let capabilities = &status.capabilities;
    let able = [
        ("query", &capabilities.query),
        ("scan", &capabilities.scan),
        ("search", &capabilities.search),
        ("serve", &capabilities.serve),
        ("ingest", &capabilities.ingest),
    ]
    .map(|(name, capability)| format!("{name} {}", capability.able.as_str()));
    page.line("Can", &able.join(" · "));
    for files in &status.local_stats.semantic_layer {
        page.line("Local data", &source_files(files));
    }
    proposals(&status.proposals, &mut page);
    if let Some(sync) = &status.sync {
        page.line("Sync", &sync.detail);
    }
    let skipped: Vec<String> = status
        .not_looked_at
        .iter()
        .map(|check| format!("{} (`{}`)", check.what, check.command))
        .collect();
    if !skipped.is_empty() {
        page.line("Not seen", &skipped.join(" · "));
    }
    for warning in &status.warnings {
        page.line("Warning", &warning.message);
        page.hint(&warning.fix);
    }
    let Embeddings {
        status: health,
        detail,
        ..
    } = &status.embeddings;
    if *health != Health::Off {
        page.line("Embeddings", &format!("{} {detail}", mark(*health)));
    }
    if verbosity == Verbosity::Full {
        if *health == Health::Off {
            page.line("Embeddings", detail);
        }
        page.json("Work units", &status.work_units);
        page.json("Joins", &status.relationships_detail);
        page.json("Pipeline", &status.pipeline);
    }
    for action in &verdict.next_actions {
        page.line("Next", action);
    }
    page.0
}

fn model(llm: &ModelStatus, page: &mut StatusPage) {
    page.line(
        "Model",
        &format!("{} {} · {}", mark(llm.status), llm.backend, llm.detail),
    );
    for (label, value) in llm.facts.iter().flatten() {
        page.line("", &format!("{label}: {value}"));
    }
    for warning in llm.warnings.iter().flatten() {
        page.line("", &format!("warning: {warning}"));
    }
    if let Some(limit) = &llm.rate_limit {
        page.line("", &format!("limit: {}", limit.detail));
    }
    if let Some(budget) = &llm.budget {
        page.line("", &format!("budget of the day: {}", budget.detail));
    }
    let trouble = llm.trouble.as_ref();
    if let Some(fix) = trouble.and_then(|trouble| trouble.fix.as_ref()) {
        page.hint(fix.as_str());
    }
}

fn parts(status: &StatusReport, page: &mut StatusPage) {
    for (index, connection) in status.connections.iter().enumerate() {
        let label = if index == 0 { "Connections" } else { "" };
        let ConnectionStatus { name, driver, .. } = connection;
        let (mark, detail) = (mark(connection.status), &connection.detail);
        page.line(label, &format!("{mark} {name} ({driver}) · {detail}"));
        for line in connection.scope.iter().flat_map(scope) {
            page.line("", &line);
        }
        if let Some(fix) = &connection.fix {
            page.hint(fix);
        }
    }
    for (index, past) in status.query_history.iter().enumerate() {
        let label = if index == 0 { "History" } else { "" };
        let (mark, detail) = (mark(past.status), &past.detail);
        page.line(label, &format!("{mark} {} · {detail}", past.connection));
        page.hint(&past.fix);
    }
    for (label, check) in [("Git", &status.git), ("Local state", &status.local_state)] {
        if let CheckResult::Fail { detail, .. } = check {
            page.line(label, &format!("✗ {detail}"));
        }
    }
    for (index, issue) in status.sources.issues.iter().enumerate() {
        let label = if index == 0 { "Sources" } else { "" };
        page.line(label, &format!("✗ {}", described(issue)));
    }
}

fn proposals(proposals: &[ProposalReport], page: &mut StatusPage) {
    for (index, proposal) in proposals.iter().enumerate() {
        let label = if index == 0 { "Kept back" } else { "" };
        let paths = proposal.paths.join(", ");
        let (source, unit) = (&proposal.connection_id, &proposal.unit_key);
        page.line(label, &format!("! {source} {unit}: {paths}"));
        page.hint(&format!("look with `ktx review show {}`", proposal.id));
    }
}

fn source_files(files: &SourceFiles) -> String {
    let words = |count: &FileCount, noun: &str| match count {
        FileCount::Files(files) => counted(files, noun),
        FileCount::Unreadable(_) => format!("{noun}s not counted"),
    };
    format!(
        "{}: {}, {}",
        files.connection_id,
        words(&files.source_count, "source file"),
        words(&files.shard_count, "manifest shard")
    )
}

fn described(issue: &Issue) -> String {
    let path = issue.path.as_deref().unwrap_or_default();
    format!("{path}: {}", issue.message)
}

fn scope(scope: &ScannedScope) -> Vec<String> {
    let schemas: Vec<String> = scope
        .schemas
        .iter()
        .map(|schema| format!("{} ({})", schema.name, counted(schema.tables, "table")))
        .collect();
    let left_out: Vec<String> = scope
        .left_out
        .iter()
        .map(|schema| {
            let why = match schema.reason.as_str() {
                "not_granted" => "not granted to the login",
                _ => "not named by the connection",
            };
            format!("{} ({why})", schema.name)
        })
        .collect();
    let lines = [("schemas", schemas), ("left out", left_out)].into_iter();
    lines
        .filter(|(_, names)| !names.is_empty())
        .map(|(label, names)| format!("{label}: {}", names.join(", ")))
        .collect()
}

const fn mark(health: Health) -> &'static str {
    match health {
        Health::Ok => "✓",
        Health::Fail => "✗",
        Health::Warn => "!",
        Health::Skipped | Health::Off => "·",
    }
}
