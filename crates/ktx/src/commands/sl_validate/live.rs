//! Checks sources against their warehouse: read-only questions through the gate, bounded in rows
//! and time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_config::Connection;
use ktx_context_tools::{ProjectContext, Runner};
use ktx_diagnostics::{Failure, Location};
use ktx_semantic_layer::{Catalog, Finding, Part, Relation, Source, place_of};
use ktx_semantic_tools::{NotAsked, Probe, probes, relation_probe};
use ktx_warehouse::{ErrorKind, SchemaSnapshot, Scope, WarehouseError};
use tokio_util::sync::CancellationToken;

use super::answers::{Answer, Asking};
use super::relations;
use crate::report::Outcome;

/// With at most this many tables, only these are read from the catalog of the warehouse.
const FEW: usize = 50;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Queries fail, or numbers are wrong.
    Error,
    /// It may be intended.
    Warning,
}

impl Weight {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A contradiction between a source and the warehouse.
pub(super) struct LiveFinding {
    pub(super) weight: Weight,
    pub(super) kind: &'static str,
    pub(super) source: String,
    /// The position within the connection's folder.
    pub(super) location: Location,
    pub(super) message: String,
}

pub(super) struct Skipped {
    pub(super) source: String,
    pub(super) about: String,
    pub(super) reason: String,
}

/// The results from a warehouse.
#[derive(Default)]
pub(super) struct Live {
    pub(super) asked: usize,
    pub(super) sample: u64,
    pub(super) findings: Vec<LiveFinding>,
    pub(super) not_looked_at: Vec<Skipped>,
    /// Checks that are not possible yet, although the files are correct.
    pub(super) not_checked: Vec<Skipped>,
    /// Why no further question could be asked.
    pub(super) unreachable: Option<WarehouseError>,
}

impl Live {
    pub(super) fn count(&self, weight: Weight) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.weight == weight)
            .count()
    }

    /// Returns whether the last skipped check was about this source.
    fn is_unchecked(&self, source: &Source) -> bool {
        let last = self.not_checked.last();
        last.is_some_and(|last| last.source == source.name)
    }

    pub(super) fn has_errors(&self) -> bool {
        self.count(Weight::Error) > 0
    }
}

/// The scope of a validation of one connection.
pub(super) struct Question<'a> {
    pub(super) connection: &'a Connection,
    pub(super) scope: Scope,
    pub(super) catalog: &'a Catalog,
    /// The only source to check.
    pub(super) source: Option<&'a str>,
    /// The validator's errors: their sources are skipped.
    pub(super) refused: &'a [Finding],
    pub(super) sample: u64,
    /// Total time limit.
    pub(super) time: Duration,
}

pub(super) async fn ask(
    question: &Question<'_>,
    context: &dyn ProjectContext,
    cancel: &CancellationToken,
) -> Outcome<Live> {
    let mut live = Live {
        sample: question.sample,
        ..Live::default()
    };
    let connector = match context.runner(question.connection).await {
        Ok(Runner::Ready(connector)) => connector,
        Ok(Runner::CompileOnly { reason }) => {
            live.unreachable = Some(WarehouseError::new(ErrorKind::Config, reason));
            return Ok(live);
        }
        Err(failure) => {
            let mut error = WarehouseError::new(ErrorKind::Config, failure.message);
            error.hint = failure.hints.first().map(ToString::to_string);
            live.unreachable = Some(error);
            return Ok(live);
        }
    };
    let asking = Asking {
        context,
        connection: question.connection,
        connector: Arc::clone(&connector),
        cancel,
        until: Instant::now() + question.time,
    };
    let sources = chosen(question, &mut live);
    let snapshot = match structure(question, &sources, &asking).await {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(Failure::from(error)),
        Err(error) => {
            live.unreachable = Some(error);
            return Ok(live);
        }
    };
    for source in sources {
        about(question, source, &snapshot, &asking, &mut live).await?;
        if live.unreachable.is_some() {
            break;
        }
    }
    Ok(live)
}

fn chosen<'a>(question: &Question<'a>, live: &mut Live) -> Vec<&'a Source> {
    let refused: BTreeSet<&str> = question
        .refused
        .iter()
        .filter_map(|finding| finding.source.as_deref())
        .collect();
    let wanted = question
        .catalog
        .sources()
        .iter()
        .filter(|source| question.source.is_none_or(|name| name == source.name));
    let mut sources = Vec::new();
    for source in wanted {
        if source.problem.is_some() || refused.contains(source.name.as_str()) {
            live.not_looked_at.push(Skipped {
                source: source.name.clone(),
                about: "everything".to_owned(),
                reason: "its files have errors".to_owned(),
            });
        } else {
            sources.push(source);
        }
    }
    sources
}

/// Reads the structure of the checked tables. If the catalog must not be read, each table is
/// queried separately.
async fn structure(
    question: &Question<'_>,
    sources: &[&Source],
    asking: &Asking<'_>,
) -> Result<SchemaSnapshot, WarehouseError> {
    let tables: BTreeSet<String> = sources
        .iter()
        .filter_map(|source| match &source.relation {
            Relation::Table(table) => Some(table.clone()),
            Relation::Sql(_) => None,
        })
        .collect();
    if tables.is_empty() {
        return Ok(SchemaSnapshot::default());
    }
    let mut scope = question.scope.clone();
    if tables.len() <= FEW {
        scope.tables = tables.into_iter().collect();
    }
    match asking.structure(&scope).await {
        Err(error) if error.kind == ErrorKind::Permission => Ok(SchemaSnapshot::default()),
        other => other,
    }
}

async fn about(
    question: &Question<'_>,
    source: &Source,
    snapshot: &SchemaSnapshot,
    asking: &Asking<'_>,
    live: &mut Live,
) -> Outcome<()> {
    let catalog = question.catalog;
    let known = match relations::scanned(source, snapshot) {
        Some(columns) => columns,
        None => match put(
            &relation_probe(catalog, source),
            source,
            question,
            asking,
            live,
        )
        .await?
        {
            Some(columns) => columns,
            None => return Ok(()),
        },
    };
    live.findings
        .extend(relations::compare(catalog, source, &known));
    let questions = probes(catalog, source, question.sample);
    for NotAsked {
        source: name,
        part,
        reason,
    } in questions.not_asked
    {
        live.not_looked_at.push(Skipped {
            about: in_words(source, &part),
            source: name,
            reason,
        });
    }
    for probe in questions.asked {
        put(&probe, source, question, asking, live).await?;
        let is_about_source = !matches!(probe.part, Part::Join(_));
        if live.unreachable.is_some() || (is_about_source && live.is_unchecked(source)) {
            break;
        }
    }
    Ok(())
}

/// Runs one question and records its answer; returns the columns of the result.
async fn put(
    probe: &Probe,
    source: &Source,
    question: &Question<'_>,
    asking: &Asking<'_>,
    live: &mut Live,
) -> Outcome<Option<Vec<relations::Known>>> {
    let answer = asking.put(probe).await?;
    let mut found = |kind: &'static str, message: String| {
        live.findings.push(LiveFinding {
            weight: Weight::Error,
            kind,
            source: source.name.clone(),
            location: place_of(question.catalog, source, &probe.part),
            message: format!("{}: {message}", in_words(source, &probe.part)),
        });
    };
    match answer {
        Answer::Holds(columns) => {
            live.asked += 1;
            return Ok(Some(columns));
        }
        Answer::Broken(reason) => {
            found(broken(&probe.part), reason);
            live.asked += 1;
        }
        Answer::Repeated { key, rows } => {
            let kind = match probe.part {
                Part::Grain => "grain_not_unique",
                _ => "join_finds_several",
            };
            found(kind, format!("{}, but {key} stands in {rows}", probe.claim));
            live.asked += 1;
        }
        Answer::Refused(reason) => found("not_read_only", reason),
        Answer::CouldNotLook(reason) => live.not_looked_at.push(Skipped {
            source: source.name.clone(),
            about: in_words(source, &probe.part),
            reason,
        }),
        Answer::NotReady(reason) => live.not_checked.push(Skipped {
            source: source.name.clone(),
            about: in_words(source, &probe.part),
            reason,
        }),
        Answer::Unreachable(error) => live.unreachable = Some(error),
    }
    Ok(None)
}

/// Returns the code of a question that does not run.
const fn broken(part: &Part) -> &'static str {
    match part {
        Part::Relation => "relation_not_readable",
        Part::Column(_) => "column_fails",
        Part::Grain => "grain_fails",
        Part::Join(_) => "join_fails",
        Part::Measure(_) => "measure_fails",
        Part::Segment(_) => "segment_fails",
    }
}

fn in_words(source: &Source, part: &Part) -> String {
    match part {
        Part::Relation => match &source.relation {
            Relation::Table(table) => format!("table `{table}`"),
            Relation::Sql(_) => "the query".to_owned(),
        },
        Part::Column(name) => format!("column `{name}`"),
        Part::Grain => "grain".to_owned(),
        Part::Join(at) => {
            let join = source.joins.get(*at);
            let name = join.map(|join| join.alias.as_ref().unwrap_or(&join.to));
            format!("join to `{}`", name.map_or("", String::as_str))
        }
        Part::Measure(name) => format!("measure `{name}`"),
        Part::Segment(name) => format!("segment `{name}`"),
    }
}
