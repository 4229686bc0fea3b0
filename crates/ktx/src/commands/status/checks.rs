//! The facts of `ktx status` as one JSON value; the text form is rendered from it.

use std::path::Path;

use ktx_config::{Connection, Driver, DriverKind, EnrichmentMode, FailureMode, Profile};
use ktx_diagnostics::{Code, Diagnostic, counted};
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, ModelRole};
use serde_json::{Value, json};

use super::Probe;
use super::looks::{Looks, source_errors};
use crate::compose;
use crate::scanning::reads_history;
use crate::session::{Opened, Session};

/// Returns all facts.
pub(crate) fn status(session: &Session, opened: &Opened, probe: &Probe, looks: &Looks) -> Value {
    let config = &opened.config;
    let mut connections = connections(session, opened);
    for connection in &mut connections {
        let scope = looks.scope(connection["name"].as_str().unwrap_or_default());
        if let (false, Value::Object(connection)) = (scope.is_null(), connection) {
            connection.insert("scope".to_owned(), scope);
        }
    }
    let broken: Vec<String> = connections
        .iter()
        .filter(|connection| connection["status"] != "ok")
        .filter_map(|connection| connection["name"].as_str().map(str::to_owned))
        .collect();
    let mut llm = llm(opened, probe);
    if let Some(limit) = compose::known_limit(session, opened) {
        llm["rateLimit"] = compose::limit_json(&limit, session.now);
    }
    match compose::day_status(session, opened) {
        Ok(None) => {}
        Ok(Some(budget)) => llm["budget"] = compose::day_json(&budget),
        Err(failure) => llm["budget"] = json!({ "detail": failure.message }),
    }
    let capabilities = capabilities(opened, probe, &broken, looks);
    let local = local_stats(opened);
    let verdict = match limited(&capabilities, &broken, opened, looks) {
        Some(limited) => limited,
        None => verdict(&capabilities, opened, is_scanned(&local)),
    };
    let issues: Vec<Value> = opened.warnings.iter().map(issue).collect();
    let mut status = json!({
        "projectName": opened.dir.file_name().map(|name| name.to_string_lossy().into_owned()),
        "projectDir": opened.dir.display().to_string(),
        "config": {
            "status": if issues.is_empty() { "ok" } else { "warn" },
            "detail": if issues.is_empty() { "valid".to_owned() } else { counted(issues.len(), "warning") },
            "issues": issues,
        },
        "llm": llm,
        "embeddings": embeddings(opened),
        "storage": { "state": "sqlite", "search": "sqlite-fts5", "gitAuthor": "git config" },
        "connections": connections,
        "queryHistory": query_history(opened),
        "capabilities": capabilities,
        "pipeline": {
            "adapters": config.ingest.adapters,
            "enrichmentMode": match config.scan.mode {
                EnrichmentMode::None => "none",
                EnrichmentMode::Deterministic => "deterministic",
                EnrichmentMode::Llm => "llm",
            },
            "relationshipsEnabled": config.scan.relationships.enabled,
            "relationshipsLlmProposals": config.scan.relationships.llm_proposals,
            "relationshipsValidationRequired": config.scan.relationships.validation_required,
            "agentEnabled": config.research.enabled,
            "agentTools": config.research.toolset,
            "agentMaxIterations": config.research.max_iterations,
        },
        "warnings": warnings(session, opened, looks),
        "localStats": local,
        "workUnits": {
            "stepBudget": config.ingest.step_budget,
            "maxConcurrency": config.ingest.max_concurrency,
            "failureMode": match config.ingest.failure_mode {
                FailureMode::Abort => "abort",
                FailureMode::Continue => "continue",
            },
        },
        "relationshipsDetail": {
            "acceptThreshold": config.scan.relationships.accept_threshold,
            "reviewThreshold": config.scan.relationships.review_threshold,
            "maxLlmTablesPerBatch": config.scan.relationships.max_llm_tables_per_batch,
            "validationConcurrency": config.scan.relationships.validation_concurrency,
        },
    });
    if let (Value::Object(map), Value::Object(verdict)) = (&mut status, verdict) {
        looks.add_to(map);
        map.extend(verdict);
    }
    status
}

/// Formats a finding about `ktx.yaml` for `config.issues`.
pub(crate) fn issue(diagnostic: &Diagnostic) -> Value {
    json!({
        "path": diagnostic.location.as_ref().map(ToString::to_string),
        "message": diagnostic.message,
        "severity": diagnostic.severity.to_string(),
        "fix": diagnostic.hints.first().map(ToString::to_string),
    })
}

fn llm(opened: &Opened, probe: &Probe) -> Value {
    let backend = opened.config.llm.backend;
    let model = opened.config.model(ModelRole::Default);
    let mut llm = json!({ "backend": backend.as_str(), "model": model });
    let add = match probe {
        Probe::None => json!({
            "status": "off",
            "detail": "no model is configured; scanning, searching, querying and serving need none",
        }),
        Probe::Skipped => json!({ "status": "skipped", "detail": "not asked (--fast)" }),
        Probe::Usable(report) => {
            let facts: serde_json::Map<String, Value> = report
                .facts
                .iter()
                .map(|(label, value)| (label.clone(), Value::String(value.clone())))
                .collect();
            json!({ "status": "ok", "detail": "usable", "facts": facts, "warnings": report.warnings })
        }
        Probe::Unusable(failure) => json!({
            "status": "fail",
            "detail": std::iter::once(&failure.message)
                .chain(&failure.causes)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(": "),
            "code": failure.code,
            "fix": failure.hints.first(),
        }),
    };
    if let (Value::Object(llm), Value::Object(add)) = (&mut llm, add) {
        llm.extend(add);
    }
    llm
}

fn embeddings(opened: &Opened) -> Value {
    let embeddings = &opened.config.ingest.embeddings;
    json!({
        "backend": match embeddings.backend {
            ktx_config::EmbeddingsBackend::None => "none",
            ktx_config::EmbeddingsBackend::OpenAi => "openai",
            ktx_config::EmbeddingsBackend::SentenceTransformers => "sentence-transformers",
        },
        "model": embeddings.model,
        "dimensions": embeddings.dimensions,
        "status": "off",
        "detail": "search is full-text; embeddings are not used by this version",
    })
}

/// Returns the warehouses whose past queries scans read, by their settings alone.
fn query_history(opened: &Opened) -> Vec<Value> {
    let mut connections: Vec<&Connection> = opened.config.warehouses().collect();
    connections.retain(|connection| reads_history(connection));
    connections.sort_by(|left, right| left.id.cmp(&right.id));
    let item = |connection: &Connection| {
        let keeps = matches!(
            connection.driver,
            Driver::Postgres | Driver::BigQuery | Driver::ClickHouse | Driver::Snowflake
        );
        let id = &connection.id;
        let (status, detail, fix) = if keeps {
            let detail = "read by the next scan".to_owned();
            (
                "ok",
                detail,
                format!("run `ktx connection test {id}` to try it"),
            )
        } else {
            let detail = format!(
                "{} keeps no record of queries that ktx can read",
                connection.driver
            );
            let path = format!("connections.{id}.context.queryHistory");
            (
                "fail",
                detail,
                format!(
                    "set `{path}.enabled` to false, or name a file of queries with `{path}.file`"
                ),
            )
        };
        let dialect = compose::dialect(connection.driver);
        json!({
            "connection": id.as_str(),
            "driver": connection.driver.as_str(),
            "dialect": dialect.map(ktx_sql::Dialect::name),
            "status": status,
            "detail": detail,
            "fix": fix,
        })
    };
    connections.into_iter().map(item).collect()
}

fn connections(session: &Session, opened: &Opened) -> Vec<Value> {
    let mut connections: Vec<&Connection> = opened.config.connections.values().collect();
    connections.sort_by(|left, right| left.id.cmp(&right.id));
    connections
        .into_iter()
        .map(|connection| connection_status(session, opened, connection))
        .collect()
}

/// Judges a connection by its settings alone, without reaching it.
fn connection_status(session: &Session, opened: &Opened, connection: &Connection) -> Value {
    let secrets = session.secrets(&opened.dir);
    let unresolved = connection.fields.iter().find_map(|(field, value)| {
        let reference = value.as_str().map(SecretRef::parse)?;
        match reference {
            SecretRef::Literal(_) => None,
            // `file:` is also the beginning of SQLite URLs.
            SecretRef::File(_) if connection.driver == Driver::Sqlite => None,
            SecretRef::Env(_) | SecretRef::File(_) => reference
                .resolve(&secrets)
                .err()
                .map(|error| format!("{field}: {error}")),
        }
    });
    let required: &[&str] = match connection.driver {
        Driver::Postgres
        | Driver::Redshift
        | Driver::MySql
        | Driver::MariaDb
        | Driver::ClickHouse
        | Driver::SqlServer => &["url", "host"],
        Driver::Sqlite | Driver::DuckDb => &["path", "url"],
        Driver::Snowflake => &["account"],
        Driver::BigQuery => &["credentials_json", "credentials", "project_id"],
        Driver::Dbt => &["repo_url", "repoUrl", "source_dir"],
        Driver::MetricFlow => &["metricflow", "repoUrl"],
        Driver::LookMl => &["repoUrl", "repo_url", "source_dir"],
        Driver::Looker => &["base_url"],
        Driver::Metabase => &["api_url"],
        Driver::Notion => &["auth_token", "auth_token_ref"],
    };
    let missing = !required
        .iter()
        .any(|field| connection.fields.contains_key(*field));
    let (status, detail, fix) = if let Some(problem) = unresolved {
        (
            "warn",
            problem,
            Some("set it in the shell that runs ktx, or use a `file:` reference".to_owned()),
        )
    } else if missing {
        let fields = required.join("` or `");
        (
            "warn",
            format!("`{fields}` is missing"),
            Some(format!("add it under connections.{}", connection.id)),
        )
    } else if let Err(error) = compose::look_at_file(connection, &secrets) {
        ("fail", error.message, error.hint)
    } else {
        ("ok", "configured".to_owned(), None)
    };
    json!({
        "name": connection.id.as_str(),
        "driver": connection.driver.as_str(),
        "status": status,
        "detail": detail,
        "fix": fix,
    })
}

/// Returns what the project can do now.
fn capabilities(opened: &Opened, probe: &Probe, broken: &[String], looks: &Looks) -> Value {
    let warehouses: Vec<&Connection> = opened
        .config
        .connections
        .values()
        .filter(|connection| connection.driver.kind() == DriverKind::Warehouse)
        .collect();
    let usable = warehouses
        .iter()
        .any(|warehouse| !broken.iter().any(|id| id == warehouse.id.as_str()));
    let query = if warehouses.is_empty() {
        ("no", "no warehouse connection")
    } else if usable {
        ("yes", "a warehouse is configured")
    } else {
        ("no", "no warehouse connection can be used")
    };
    // A scan stores its results in commits.
    let scan = match looks.git_problem().or_else(|| looks.state_problem()) {
        Some(problem) if query.0 == "yes" => ("no", problem.message.as_str()),
        _ => query,
    };
    let ingest = match probe {
        _ if scan.0 == "no" => scan,
        Probe::None => ("no", "no model is configured"),
        Probe::Skipped => ("unknown", "the model was not asked"),
        Probe::Usable(_) => ("yes", "the model can be used"),
        Probe::Unusable(_) => ("no", "the model cannot be used"),
    };
    let say = |(able, reason): (&str, &str)| json!({ "able": able, "reason": reason });
    json!({
        "query": say(query),
        "scan": say(scan),
        "search": say(("yes", "needs nothing")),
        "serve": say(("yes", "needs nothing")),
        "ingest": say(ingest),
    })
}

fn is_scanned(local: &Value) -> bool {
    let sources = local["semanticLayer"].as_array().into_iter().flatten();
    sources.into_iter().any(|source| source["shardCount"] != 0)
}

/// Returns the verdict on a project with an unusable part; `None` if there is none.
fn limited(
    capabilities: &Value,
    broken: &[String],
    opened: &Opened,
    looks: &Looks,
) -> Option<Value> {
    if capabilities["query"]["able"] != "yes" {
        return None;
    }
    let mut reasons = Vec::new();
    let mut next = Vec::new();
    for problem in looks.git_problem().into_iter().chain(looks.state_problem()) {
        reasons.push(problem.message.clone());
        next.extend(problem.hints.first().map(ToString::to_string));
    }
    if looks.wrong_sources() > 0 {
        reasons.push(source_errors(looks.wrong_sources()));
        next.push("correct the files that are named; `ktx sl validate` checks them".to_owned());
    }
    let is_misspelled = |warning: &&Diagnostic| warning.code == Code::MisspelledKey;
    if let Some(warning) = opened.warnings.iter().find(is_misspelled) {
        reasons.push("a misspelled key in ktx.yaml is not read".to_owned());
        next.push(format!("correct it: {warning}"));
    }
    if !broken.is_empty() {
        reasons.push(format!("not usable: {}", broken.join(", ")));
        next.push("see the connection that is marked for what to do".to_owned());
    }
    (!reasons.is_empty()).then(|| {
        json!({
            "verdict": "partial",
            "verdictReason": reasons.join("; "),
            "nextActions": next,
        })
    })
}

fn verdict(capabilities: &Value, opened: &Opened, is_scanned: bool) -> Value {
    let able = |name: &str| capabilities[name]["able"].as_str() == Some("yes");
    let backend = opened.config.llm.backend;
    let mut next = Vec::new();
    let (verdict, reason) = if !able("query") {
        next.push(if opened.config.warehouses().next().is_none() {
            "add a warehouse under `connections:` in ktx.yaml, then run `ktx connection test`"
        } else {
            "complete the connection that is marked, then run `ktx connection test`"
        });
        (
            "blocked",
            capabilities["query"]["reason"].as_str().unwrap_or_default(),
        )
    } else if able("ingest") {
        next.push("run `ktx ingest`, or attach an agent with `ktx mcp stdio`");
        ("ready", "everything works")
    } else if capabilities["ingest"]["able"] == "unknown" {
        next.push("run `ktx status` without `--fast` to ask the model");
        ("ready", "the configuration is complete")
    } else if backend == Backend::None {
        next.push(if is_scanned {
            "attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions"
        } else {
            "run `ktx scan`, or set `llm.provider.backend` for descriptions"
        });
        ("ready", "everything works that needs no model")
    } else {
        next.push("see the model's line for what to do");
        (
            "partial",
            "the configured model cannot be used; everything else works",
        )
    };
    json!({ "verdict": verdict, "verdictReason": reason, "nextActions": next })
}

/// Returns warnings about ignored settings and about unusable local files.
fn warnings(session: &Session, opened: &Opened, looks: &Looks) -> Vec<Value> {
    [
        caching_warning(opened),
        without_effect(session, opened),
        looks.made_anew(opened),
    ]
    .concat()
}

/// KTX-81: the caching fields that the backend ignores, by name.
fn caching_warning(opened: &Opened) -> Vec<Value> {
    let Some(message) = ignored_caching_text(opened) else {
        return Vec::new();
    };
    vec![json!({ "message": message, "fix": "remove the fields, or use an HTTP backend" })]
}

/// Returns set variables and settings of earlier versions that have no effect.
fn without_effect(session: &Session, opened: &Opened) -> Vec<Value> {
    let environment = &session.environment;
    let in_file = opened.config.ingest.profile != Profile::Off;
    let in_file = in_file.then_some(("`ingest.profile` in ktx.yaml", "remove it"));
    let variables = [
        ("KTX_PROFILE_INGEST", "`KTX_PROFILE_INGEST`"),
        ("KTX_INGEST_TRACE_LEVEL", "`KTX_INGEST_TRACE_LEVEL`"),
    ];
    let in_models = opened.config.llm.models.contains_key(&ModelRole::Repair);
    let in_models = in_models.then_some(("`llm.models.repair` in ktx.yaml", "remove it"));
    let set = variables
        .into_iter()
        .filter(|(name, _)| environment.text(name).is_some())
        .map(|(_, shown)| {
            (
                shown,
                "unset it; `KTX_LOG` and traces tell what an ingest does",
            )
        });
    in_file
        .into_iter()
        .chain(in_models)
        .chain(set)
        .map(|(name, fix)| json!({ "message": format!("{name} has no effect: ignored"), "fix": fix }))
        .collect()
}

/// KTX-81: describes the ignored caching fields; `None` if there are none.
pub(crate) fn ignored_caching_text(opened: &Opened) -> Option<String> {
    if opened.config.llm.backend != compose::CLAUDE_CODE {
        return None;
    }
    let ignored = compose::ignored_caching(opened.config.llm.prompt_caching);
    (!ignored.is_empty()).then(|| {
        format!(
            "the local Claude Code session decides on caching itself; ignored: {}",
            ignored.join(", ")
        )
    })
}

fn local_stats(opened: &Opened) -> Value {
    let layout = opened.store.layout();
    let sources: Vec<Value> = opened
        .config
        .warehouses()
        .map(|connection| {
            json!({
                "connectionId": connection.id.as_str(),
                "sourceCount": count(&layout.sources(&connection.id), &["yaml", "yml"]),
                "shardCount": count(&layout.schema_shards(&connection.id), &["yaml", "yml"]),
            })
        })
        .collect();
    json!({
        "wikiPages": [{ "scope": "GLOBAL", "count": count(&layout.wiki_global(), &["md"]) }],
        "semanticLayer": sources,
    })
}

/// Counts files with one of these extensions, directly in a folder.
fn count(folder: &Path, extensions: &[&str]) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| {
            let path = entry.path();
            path.extension()
                .and_then(|text| text.to_str())
                .is_some_and(|text| extensions.contains(&text))
        })
        .count()
}
