//! Abilities of the project and the verdict.

use ktx_config::DriverKind;
use ktx_diagnostics::{Code, Diagnostic};
use ktx_vocabulary::Backend;

use super::ModelProbe;
use super::checks::{Checks, source_errors};
use super::report::{
    Availability, Capabilities, Capability, ConnectionStatus, FileCount, Health, LocalStats,
    Readiness, StatusVerdict,
};
use crate::invocation::OpenProject;

fn broken(connections: &[ConnectionStatus]) -> Vec<&str> {
    connections
        .iter()
        .filter(|connection| connection.status != Health::Ok)
        .map(|connection| connection.name.as_str())
        .collect()
}

pub(super) fn capabilities(
    project: &OpenProject,
    probe: &ModelProbe,
    connections: &[ConnectionStatus],
    checks: &Checks,
) -> Capabilities {
    let broken = broken(connections);
    let mut warehouses = project
        .config
        .connections
        .values()
        .filter(|connection| connection.driver.kind() == DriverKind::Warehouse)
        .peekable();
    let query = if warehouses.peek().is_none() {
        Capability::new(Availability::No, "no warehouse connection")
    } else if warehouses.any(|warehouse| !broken.contains(&warehouse.id.as_str())) {
        Capability::new(Availability::Yes, "a warehouse is configured")
    } else {
        Capability::new(Availability::No, "no warehouse connection can be used")
    };
    // A scan commits its results.
    let scan = match checks.git_problem().or_else(|| checks.state_problem()) {
        Some(problem) if query.able == Availability::Yes => {
            Capability::new(Availability::No, problem.message.as_str())
        }
        _ => query.clone(),
    };
    let ingest = match probe {
        _ if scan.able == Availability::No => scan.clone(),
        ModelProbe::None => Capability::new(Availability::No, "no model is configured"),
        ModelProbe::Skipped => Capability::new(Availability::Unknown, "the model was not asked"),
        ModelProbe::Usable(_) => Capability::new(Availability::Yes, "the model can be used"),
        ModelProbe::Unusable(_) => Capability::new(Availability::No, "the model cannot be used"),
    };
    Capabilities {
        query,
        scan,
        search: Capability::new(Availability::Yes, "needs nothing"),
        serve: Capability::new(Availability::Yes, "needs nothing"),
        ingest,
    }
}

pub(super) fn limited(
    capabilities: &Capabilities,
    connections: &[ConnectionStatus],
    project: &OpenProject,
    checks: &Checks,
) -> Option<StatusVerdict> {
    if capabilities.query.able != Availability::Yes {
        return None;
    }
    let mut reasons = Vec::new();
    let mut next = Vec::new();
    let problems = checks.git_problem().into_iter();
    for problem in problems.chain(checks.state_problem()) {
        reasons.push(problem.message.clone());
        next.extend(problem.hints.first().map(ToString::to_string));
    }
    if checks.wrong_sources() > 0 {
        reasons.push(source_errors(checks.wrong_sources()));
        next.push("correct the files that are named; `ktx sl validate` checks them".to_owned());
    }
    let is_misspelled = |warning: &&Diagnostic| warning.code == Code::MisspelledKey;
    if let Some(warning) = project.warnings.iter().find(is_misspelled) {
        reasons.push("a misspelled key in ktx.yaml is not read".to_owned());
        next.push(format!("correct it: {warning}"));
    }
    if checks.vectors_problem().is_some() {
        reasons.push("search compares no meanings".to_owned());
        next.push(
            "correct `ingest.embeddings` in ktx.yaml, or set its backend to `none`".to_owned(),
        );
    }
    let broken = broken(connections);
    if !broken.is_empty() {
        reasons.push(format!("not usable: {}", broken.join(", ")));
        next.push("see the connection that is marked for what to do".to_owned());
    }
    (!reasons.is_empty()).then(|| StatusVerdict {
        readiness: Readiness::Partial,
        reason: reasons.join("; "),
        next_actions: next,
    })
}

pub(super) fn verdict(
    capabilities: &Capabilities,
    project: &OpenProject,
    local: &LocalStats,
) -> StatusVerdict {
    let (readiness, reason, next) = if capabilities.query.able != Availability::Yes {
        let next = if project.config.warehouses().next().is_none() {
            "add a warehouse under `connections:` in ktx.yaml, then run `ktx connection test`"
        } else {
            "complete the connection that is marked, then run `ktx connection test`"
        };
        let reason = capabilities.query.reason.as_str();
        (Readiness::Blocked, reason, next)
    } else if capabilities.ingest.able == Availability::Yes {
        (
            Readiness::Ready,
            "everything works",
            "run `ktx ingest`, or attach an agent with `ktx mcp stdio`",
        )
    } else if capabilities.ingest.able == Availability::Unknown {
        (
            Readiness::Ready,
            "the configuration is complete",
            "run `ktx status` without `--fast` to ask the model",
        )
    } else if project.config.llm.backend == Backend::None {
        let next = if is_scanned(local) {
            "attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions"
        } else {
            "run `ktx scan`, or set `llm.provider.backend` for descriptions"
        };
        let reason = "everything works that needs no model";
        (Readiness::Ready, reason, next)
    } else {
        (
            Readiness::Partial,
            "the configured model cannot be used; everything else works",
            "see the model's line for what to do",
        )
    };
    StatusVerdict {
        readiness,
        reason: reason.to_owned(),
        next_actions: vec![next.to_owned()],
    }
}

fn is_scanned(local: &LocalStats) -> bool {
    let mut sources = local.semantic_layer.iter();
    sources.any(|source| matches!(source.shard_count, FileCount::Files(files) if files > 0))
}
