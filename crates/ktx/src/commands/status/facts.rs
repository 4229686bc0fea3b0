//! Collects the facts of `ktx status`.

use std::path::Path;

use ktx_config::{EmbeddingsBackend, EnrichmentMode, FailureMode, Profile};
use ktx_diagnostics::counted;
use ktx_project_store::SyncState;
use ktx_usage_ledger::{LimitStatus, clock};
use ktx_vocabulary::ModelRole;

use super::ModelProbe;
use super::checks::Checks;
use super::connections::{connections, query_history};
use super::report::{
    CheckResult, ConfigStatus, Embeddings, FileCount, Health, Issue, LocalStats, ModelStatus,
    ModelTrouble, Pipeline, RateLimit, RelationshipsDetail, SourceFiles, StatusReport, Storage,
    SyncStatus, Warning, WikiPages, WorkUnits, with_causes,
};
use super::verdict::{capabilities, limited, verdict};
use crate::compose::{self, BudgetReport};
use crate::invocation::{Invocation, OpenProject};

pub(super) fn status(
    invocation: &Invocation,
    project: &OpenProject,
    probe: &ModelProbe,
    checks: Checks,
) -> StatusReport {
    let connections = connections(invocation, project, &checks);
    let capabilities = capabilities(project, probe, &connections, &checks);
    let local_stats = local_stats(project);
    let verdict = limited(&capabilities, &connections, project, &checks)
        .unwrap_or_else(|| verdict(&capabilities, project, &local_stats));
    StatusReport {
        project_name: project
            .dir
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        project_dir: project.dir.display().to_string(),
        config: config(project),
        llm: llm(invocation, project, probe),
        embeddings: embeddings(project, &checks),
        storage: Storage {
            state: "sqlite",
            search: "sqlite-fts5",
            git_author: "git config",
        },
        connections,
        query_history: query_history(project),
        capabilities,
        pipeline: pipeline(project),
        warnings: warnings(invocation, project, &checks, &local_stats),
        local_stats,
        work_units: WorkUnits {
            step_budget: project.config.ingest.step_budget,
            max_concurrency: project.config.ingest.max_concurrency,
            failure_mode: match project.config.ingest.failure_mode {
                FailureMode::Abort => "abort",
                FailureMode::Continue => "continue",
            },
        },
        relationships_detail: RelationshipsDetail {
            accept_threshold: project.config.scan.relationships.accept_threshold,
            review_threshold: project.config.scan.relationships.review_threshold,
            max_llm_tables_per_batch: project.config.scan.relationships.max_llm_tables_per_batch,
            validation_concurrency: project.config.scan.relationships.validation_concurrency,
        },
        git: CheckResult::new(checks.git.as_ref()),
        local_state: CheckResult::new(checks.state.as_ref()),
        sources: checks.sources_status(),
        proposals: checks.proposals,
        sync: sync(invocation, project),
        not_looked_at: checks.skipped,
        verdict,
    }
}

/// `None` if this machine has never synced.
fn sync(invocation: &Invocation, project: &OpenProject) -> Option<SyncStatus> {
    let SyncState { last, next } = project.store.sync_state();
    let repeats = project.store.repeats_syncs();
    if last.is_none() && !repeats {
        return None;
    }
    let now = invocation.now;
    let next = next.filter(|_| repeats);
    let mut parts = Vec::new();
    parts.extend(last.as_ref().map(|last| {
        let ended = clock(last.ended, now);
        format!("last {ended}, exit code {}", last.exit)
    }));
    parts.push(match next {
        Some(next) if next > now => format!("next {}", clock(next, now)),
        None if !repeats => "no process repeats it (`ktx sync --every 6h`)".to_owned(),
        _ => "one is running".to_owned(),
    });
    Some(SyncStatus {
        last,
        next: next.map(|next| next.to_string()),
        detail: parts.join(" · "),
    })
}

fn config(project: &OpenProject) -> ConfigStatus {
    let issues: Vec<Issue> = project.warnings.iter().map(Issue::from).collect();
    if issues.is_empty() {
        return ConfigStatus {
            status: Health::Ok,
            detail: "valid".to_owned(),
            issues,
        };
    }
    ConfigStatus {
        status: Health::Warn,
        detail: counted(issues.len(), "warning"),
        issues,
    }
}

fn llm(invocation: &Invocation, project: &OpenProject, probe: &ModelProbe) -> ModelStatus {
    let (status, detail) = match probe {
        ModelProbe::None => (
            Health::Off,
            "no model is configured; scanning, searching, querying and serving need none"
                .to_owned(),
        ),
        ModelProbe::Skipped => (Health::Skipped, "not asked (--fast)".to_owned()),
        ModelProbe::Usable(_) => (Health::Ok, "usable".to_owned()),
        ModelProbe::Unusable(failure) => (Health::Fail, with_causes(failure)),
    };
    let report = match probe {
        ModelProbe::Usable(report) => Some(report),
        ModelProbe::None | ModelProbe::Skipped | ModelProbe::Unusable(_) => None,
    };
    let trouble = match probe {
        ModelProbe::Unusable(failure) => Some(ModelTrouble {
            code: failure.code,
            fix: failure.hints.first().cloned(),
        }),
        ModelProbe::None | ModelProbe::Skipped | ModelProbe::Usable(_) => None,
    };
    let model = project.config.model(ModelRole::Default);
    ModelStatus {
        backend: project.config.llm.backend.as_str(),
        model: model.map(str::to_owned),
        status,
        detail,
        facts: report.map(|report| report.facts.iter().cloned().collect()),
        warnings: report.map(|report| report.warnings.clone()),
        trouble,
        rate_limit: rate_limit(invocation, project),
        budget: budget(invocation, project),
    }
}

fn budget(invocation: &Invocation, project: &OpenProject) -> Option<BudgetReport> {
    match compose::day_status(invocation, project) {
        Ok(status) => status.as_ref().map(BudgetReport::from),
        Err(failure) => Some(BudgetReport::unreadable(failure)),
    }
}

fn rate_limit(invocation: &Invocation, project: &OpenProject) -> Option<RateLimit> {
    let limit = compose::known_limit(invocation, project)?;
    Some(RateLimit {
        standing: match limit.status {
            LimitStatus::Allowed => "allowed",
            LimitStatus::Refused => "refused",
        },
        utilization: limit.utilization,
        resets_at: limit.resets_at.map(|at| at.to_string()),
        observed_at: limit.observed_at.to_string(),
        detail: limit.words(invocation.now),
        window: limit.window,
    })
}

fn embeddings(project: &OpenProject, checks: &Checks) -> Embeddings {
    let embeddings = &project.config.ingest.embeddings;
    let (status, detail) = match &checks.vectors {
        _ if embeddings.backend == EmbeddingsBackend::None => (
            Health::Off,
            "search is full-text; `ingest.embeddings` adds search by meaning".to_owned(),
        ),
        None => (Health::Skipped, "not looked at (--fast)".to_owned()),
        Some(Ok(model)) => (Health::Ok, format!("search compares meanings with {model}")),
        Some(Err(reason)) => (Health::Warn, format!("search is full-text only: {reason}")),
    };
    Embeddings {
        backend: match embeddings.backend {
            EmbeddingsBackend::None => "none",
            EmbeddingsBackend::OpenAi => "openai",
            EmbeddingsBackend::SentenceTransformers => "sentence-transformers",
            EmbeddingsBackend::Table => "table",
        },
        model: embeddings.model.clone(),
        dimensions: embeddings.dimensions,
        status,
        detail,
    }
}

fn pipeline(project: &OpenProject) -> Pipeline {
    let config = &project.config;
    Pipeline {
        adapters: config.ingest.adapters.clone(),
        enrichment_mode: match config.scan.mode {
            EnrichmentMode::None => "none",
            EnrichmentMode::Deterministic => "deterministic",
            EnrichmentMode::Llm => "llm",
        },
        relationships_enabled: config.scan.relationships.enabled,
        relationships_llm_proposals: config.scan.relationships.llm_proposals,
        relationships_validation_required: config.scan.relationships.validation_required,
        agent_enabled: config.research.enabled,
        agent_tools: config.research.toolset.clone(),
        agent_max_iterations: config.research.max_iterations,
    }
}

fn warnings(
    invocation: &Invocation,
    project: &OpenProject,
    checks: &Checks,
    local: &LocalStats,
) -> Vec<Warning> {
    let counts = local.semantic_layer.iter();
    let counts = counts.flat_map(|files| [&files.source_count, &files.shard_count]);
    let pages = local.wiki_pages.iter().map(|pages| &pages.count);
    let unreadable = pages.chain(counts).filter_map(FileCount::warning);
    caching_warning(project)
        .into_iter()
        .chain(without_effect(invocation, project))
        .chain(checks.damaged_caches(project))
        .chain(unreadable.cloned())
        .collect()
}

/// KTX-81.
fn caching_warning(project: &OpenProject) -> Option<Warning> {
    compose::ignored_caching_text(&project.config).map(|message| Warning {
        message,
        fix: "remove the fields, or use an HTTP backend".to_owned(),
    })
}

fn without_effect(invocation: &Invocation, project: &OpenProject) -> Vec<Warning> {
    let environment = &invocation.environment;
    let in_file = project.config.ingest.profile != Profile::Off;
    let in_file = in_file.then_some(("`ingest.profile` in ktx.yaml", "remove it"));
    let variables = [
        ("KTX_PROFILE_INGEST", "`KTX_PROFILE_INGEST`"),
        ("KTX_INGEST_TRACE_LEVEL", "`KTX_INGEST_TRACE_LEVEL`"),
    ];
    let in_models = project.config.llm.models.contains_key(&ModelRole::Repair);
    let in_models = in_models.then_some(("`llm.models.repair` in ktx.yaml", "remove it"));
    let set = variables
        .into_iter()
        .filter(|(name, _)| environment.text(name).is_some())
        .map(|(_, shown)| {
            (
                shown,
                "unset it; `KTX_LOG` and traces show what an ingest does",
            )
        });
    in_file
        .into_iter()
        .chain(in_models)
        .chain(set)
        .map(|(name, fix)| Warning {
            message: format!("{name} has no effect: ignored"),
            fix: fix.to_owned(),
        })
        .collect()
}

fn local_stats(project: &OpenProject) -> LocalStats {
    let layout = project.store.layout();
    let yaml = |folder: &Path| count(project, folder, &["yaml", "yml"]);
    LocalStats {
        wiki_pages: vec![WikiPages {
            scope: "GLOBAL",
            count: count(project, &layout.wiki_global(), &["md"]),
        }],
        semantic_layer: project
            .config
            .warehouses()
            .map(|connection| SourceFiles {
                connection_id: connection.id.to_string(),
                source_count: yaml(&layout.sources(&connection.id)),
                shard_count: yaml(&layout.schema_shards(&connection.id)),
            })
            .collect(),
    }
}

/// Zero for a missing folder.
fn count(project: &OpenProject, folder: &Path, extensions: &[&str]) -> FileCount {
    let is_counted = |path: &Path| {
        let extension = path.extension().and_then(|text| text.to_str());
        extension.is_some_and(|text| extensions.contains(&text))
    };
    let counted = std::fs::read_dir(folder).and_then(|entries| {
        entries.into_iter().try_fold(0, |files, entry| {
            Ok(files + usize::from(is_counted(&entry?.path())))
        })
    });
    match counted {
        Ok(files) => FileCount::Files(files),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileCount::Files(0),
        Err(error) => {
            let shown = folder
                .strip_prefix(&project.dir)
                .unwrap_or(folder)
                .display();
            FileCount::Unreadable(Warning {
                message: format!("the files of `{shown}` cannot be counted: {error}"),
                fix: format!("make `{shown}` a folder that can be read"),
            })
        }
    }
}
