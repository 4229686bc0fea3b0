//! Checks sources against their warehouse with bounded, read-only queries.

mod columns;
mod statements;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ktx_diagnostics::{Code, Location};
use ktx_read_only_sql::AllowedFunctions;
use ktx_semantic_layer::{Catalog, Finding, Part, Relation, Source, place_of};
use ktx_warehouse::{Connector, ErrorKind, SchemaSnapshot, Scope, WarehouseError};
use tokio_util::sync::CancellationToken;

use crate::probes::{NotAsked, Probe, probes, relation_probe};
use statements::{Answer, StatementRunner};

/// With at most this many tables, only these are read from the warehouse's catalog.
const FEW: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Queries fail, or numbers are wrong.
    Error,
    Warning,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

#[derive(Debug)]
pub struct LiveFinding {
    pub severity: Severity,
    pub kind: &'static str,
    pub source: String,
    pub location: Location,
    /// Starts with the part of the source.
    pub message: String,
}

#[derive(Debug)]
pub struct SkippedCheck {
    pub source: String,
    /// Such as ``column `id` ``.
    pub about: String,
    pub reason: String,
}

#[derive(Debug, Default)]
pub struct LiveReport {
    pub asked: usize,
    pub sample: u64,
    pub findings: Vec<LiveFinding>,
    pub not_looked_at: Vec<SkippedCheck>,
    /// Not possible yet, although the files are correct.
    pub not_checked: Vec<SkippedCheck>,
    /// Why the check stopped early.
    pub unreachable: Option<WarehouseError>,
}

impl LiveReport {
    pub fn unreachable(sample: u64, reason: WarehouseError) -> Self {
        Self {
            sample,
            unreachable: Some(reason),
            ..Self::default()
        }
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    fn is_unchecked(&self, source: &Source) -> bool {
        let last = self.not_checked.last();
        last.is_some_and(|last| last.source == source.name)
    }

    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }
}

pub struct LiveCheck<'a> {
    pub connector: &'a dyn Connector,
    /// Functions that statements can call.
    pub allowed: AllowedFunctions,
    pub scope: Scope,
    pub catalog: &'a Catalog,
    /// `None` checks all sources.
    pub source: Option<&'a str>,
    /// The validator's errors: their sources are skipped.
    pub refused: &'a [Finding],
    /// Rows per source in which keys are searched.
    pub sample: u64,
    /// For the whole check.
    pub time_limit: Duration,
    pub log: &'a dyn StatementLog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementOutcome {
    Executed { rows: usize },
    Refused { code: Code },
    Failed { code: Code },
}

pub trait StatementLog: Sync {
    fn record(&self, sql: &str, outcome: StatementOutcome);
}

impl std::fmt::Debug for LiveCheck<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LiveCheck")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl LiveCheck<'_> {
    /// Only a cancellation is an error; an unreachable warehouse is part of the report.
    pub async fn run(&self, cancel: &CancellationToken) -> Result<LiveReport, WarehouseError> {
        let mut report = LiveReport {
            sample: self.sample,
            ..LiveReport::default()
        };
        let runner = StatementRunner {
            connector: self.connector,
            allowed: &self.allowed,
            log: self.log,
            cancel,
            until: Instant::now() + self.time_limit,
        };
        let sources = self.sound_sources(&mut report);
        let snapshot = match self.structure(&sources, &runner).await {
            Ok(snapshot) => snapshot,
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                report.unreachable = Some(error);
                return Ok(report);
            }
        };
        for source in sources {
            self.check(source, &snapshot, &runner, &mut report).await?;
            if report.unreachable.is_some() {
                break;
            }
        }
        Ok(report)
    }

    fn sound_sources(&self, report: &mut LiveReport) -> Vec<&Source> {
        let refused: BTreeSet<&str> = self
            .refused
            .iter()
            .filter_map(|finding| finding.source.as_deref())
            .collect();
        let wanted = self
            .catalog
            .sources()
            .iter()
            .filter(|source| self.source.is_none_or(|name| name == source.name));
        let mut sources = Vec::new();
        for source in wanted {
            if source.problem.is_some() || refused.contains(source.name.as_str()) {
                report.not_looked_at.push(SkippedCheck {
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

    /// If the catalog is inaccessible, each table is queried separately.
    async fn structure(
        &self,
        sources: &[&Source],
        runner: &StatementRunner<'_>,
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
        let mut scope = self.scope.clone();
        if tables.len() <= FEW {
            scope.tables = tables.into_iter().collect();
        }
        match runner.structure(&scope).await {
            Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Policy) => {
                Ok(SchemaSnapshot::default())
            }
            other => other,
        }
    }

    async fn check(
        &self,
        source: &Source,
        snapshot: &SchemaSnapshot,
        runner: &StatementRunner<'_>,
        report: &mut LiveReport,
    ) -> Result<(), WarehouseError> {
        let catalog = self.catalog;
        let known = match columns::scanned(source, snapshot) {
            Some(columns) => columns,
            None => match self
                .ask(&relation_probe(catalog, source), source, runner, report)
                .await?
            {
                Some(columns) => columns,
                None => return Ok(()),
            },
        };
        report
            .findings
            .extend(columns::compare(catalog, source, &known));
        let questions = probes(catalog, source, self.sample);
        for NotAsked {
            source: name,
            part,
            reason,
        } in questions.not_asked
        {
            report.not_looked_at.push(SkippedCheck {
                about: in_words(source, &part),
                source: name,
                reason,
            });
        }
        for probe in questions.asked {
            self.ask(&probe, source, runner, report).await?;
            let is_about_source = !matches!(probe.part, Part::Join(_));
            if report.unreachable.is_some() || (is_about_source && report.is_unchecked(source)) {
                break;
            }
        }
        Ok(())
    }

    async fn ask(
        &self,
        probe: &Probe,
        source: &Source,
        runner: &StatementRunner<'_>,
        report: &mut LiveReport,
    ) -> Result<Option<Vec<columns::RelationColumn>>, WarehouseError> {
        let answer = runner.run(probe).await?;
        let mut found = |kind: &'static str, message: String| {
            report.findings.push(LiveFinding {
                severity: Severity::Error,
                kind,
                source: source.name.clone(),
                location: place_of(self.catalog, source, &probe.part),
                message: format!("{}: {message}", in_words(source, &probe.part)),
            });
        };
        match answer {
            Answer::Holds(columns) => {
                report.asked += 1;
                return Ok(Some(columns));
            }
            Answer::Broken(reason) => {
                found(broken(&probe.part), reason);
                report.asked += 1;
            }
            Answer::Repeated { key, rows } => {
                let kind = match probe.part {
                    Part::Grain => "grain_not_unique",
                    _ => "join_finds_several",
                };
                found(kind, format!("{}, but {key} is in {rows}", probe.claim));
                report.asked += 1;
            }
            Answer::Refused(reason) => found("not_read_only", reason),
            Answer::CouldNotLook(reason) => report.not_looked_at.push(SkippedCheck {
                source: source.name.clone(),
                about: in_words(source, &probe.part),
                reason,
            }),
            Answer::NotReady(reason) => report.not_checked.push(SkippedCheck {
                source: source.name.clone(),
                about: in_words(source, &probe.part),
                reason,
            }),
            Answer::Unreachable(error) => report.unreachable = Some(error),
        }
        Ok(None)
    }
}

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
