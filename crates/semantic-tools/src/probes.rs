//! Probes: bounded, read-only queries that check the declarations of sources.
//!
//! A probe either only has to run (it reads no data), or searches a sample for a counterexample.

use ktx_sql::Dialect;

use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::Part;
use ktx_semantic_layer::QueryError;
use ktx_semantic_layer::authored::{ColumnType, Relationship, Visibility};
use ktx_semantic_layer::compile;
use ktx_semantic_layer::parse_query;
use ktx_semantic_layer::sql::sql_text::{identifier, table_name};
use ktx_semantic_layer::{DimensionRequest, EmptyMembers, MeasureRequest, Query};
use ktx_semantic_layer::{Join, Measure, Relation, Source};
use ktx_sql::deep::deep;

mod keys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The empty result has the columns of the relation or query.
    Runs,
    /// A row would hold keys that occur more than once.
    NoRow { sample: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub source: String,
    pub part: Part,
    pub claim: String,
    pub sql: String,
    pub wanted: Wanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAsked {
    pub source: String,
    pub part: Part,
    /// Lower case, no full stop.
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probes {
    /// Order: grain, joins, computed columns, segments, measures.
    pub asked: Vec<Probe>,
    /// A bounded statement cannot check these claims.
    pub not_asked: Vec<NotAsked>,
}

/// Checks whether a source is readable; the header lists its columns.
pub fn relation_probe(catalog: &Catalog, source: &Source) -> Probe {
    let dialect = catalog.dialect();
    let rows = rows_of(dialect, source);
    let sql = match rows {
        Some(rows) => limited(dialect, "*", &format!("FROM {rows}"), 0),
        // Common table expressions are allowed only at the top.
        None => match &source.relation {
            Relation::Sql(sql) => sql.clone(),
            Relation::Table(table) => table_name(dialect, table),
        },
    };
    Probe {
        source: source.name.clone(),
        part: Part::Relation,
        claim: "the source can be read".to_owned(),
        sql,
        wanted: Wanted::Runs,
    }
}

/// Omits what the validator refuses.
pub fn probes(catalog: &Catalog, source: &Source, sample: u64) -> Probes {
    deep(|| all_probes(catalog, source, sample))
}

fn all_probes(catalog: &Catalog, source: &Source, sample: u64) -> Probes {
    let mut probes = Probes::default();
    keys::grain(catalog, source, sample, &mut probes);
    for at in 0..source.joins.len() {
        keys::join(catalog, source, at, sample, &mut probes);
    }
    let maker = Maker { catalog, source };
    for column in &source.columns {
        if column.expr.is_some() && column.visibility != Visibility::Hidden {
            let query = maker.columns(&[&column.name]);
            let part = Part::Column(column.name.clone());
            maker.add(part, "the expression runs", &query, &mut probes);
        }
    }
    for segment in &source.segments {
        let mut query = maker.counted();
        query.segments = vec![maker.name(&segment.name)];
        let part = Part::Segment(segment.name.clone());
        maker.add(part, "the condition runs", &query, &mut probes);
    }
    for measure in &source.measures {
        maker.measure(measure, &mut probes);
    }
    probes
}

struct Maker<'a> {
    catalog: &'a Catalog,
    source: &'a Source,
}

impl Maker<'_> {
    fn name(&self, member: &str) -> String {
        let quoted = |name: &str| identifier(self.catalog.dialect(), name);
        format!("{}.{}", quoted(&self.source.name), quoted(member))
    }

    fn columns(&self, names: &[&str]) -> Query {
        Query {
            dimensions: names
                .iter()
                .map(|name| DimensionRequest {
                    field: self.name(name),
                    granularity: None,
                    via: Vec::new(),
                })
                .collect(),
            limit: Some(0),
            empty_members: EmptyMembers::Exclude,
            ..Query::default()
        }
    }

    fn counted(&self) -> Query {
        let mut query = self.columns(&[]);
        let column = self.source.columns.first();
        query.measures = column
            .map(|column| MeasureRequest {
                expr: format!("count({})", self.name(&column.name)),
                name: Some("counted".to_owned()),
                via: Vec::new(),
            })
            .into_iter()
            .collect();
        query
    }

    fn add(&self, part: Part, claim: &str, query: &Query, probes: &mut Probes) {
        // The validator reports what does not compile.
        if let Ok(compiled) = compile(self.catalog, query, self.catalog.dialect()) {
            probes.asked.push(self.probe(part, claim, compiled.sql));
        }
    }

    fn probe(&self, part: Part, claim: &str, sql: String) -> Probe {
        Probe {
            source: self.source.name.clone(),
            part,
            claim: claim.to_owned(),
            sql,
            wanted: Wanted::Runs,
        }
    }

    /// A measure that needs a time dimension uses the first possible one.
    fn measure(&self, measure: &Measure, probes: &mut Probes) {
        let part = || Part::Measure(measure.name.clone());
        let mut query = self.columns(&[]);
        query.measures = vec![MeasureRequest {
            expr: self.name(&measure.name),
            name: None,
            via: Vec::new(),
        }];
        let dialect = self.catalog.dialect();
        let first = match compile(self.catalog, &query, dialect) {
            Ok(compiled) => {
                let probe = self.probe(part(), "the measure runs", compiled.sql);
                return probes.asked.push(probe);
            }
            Err(error) => error,
        };
        for granularity in ["day", "month", "year"] {
            for column in self.times() {
                query.dimensions = vec![DimensionRequest {
                    field: self.name(column),
                    granularity: Some(granularity.to_owned()),
                    via: Vec::new(),
                }];
                if let Ok(compiled) = compile(self.catalog, &query, dialect) {
                    let claim = format!("the measure runs by {granularity}");
                    return probes.asked.push(self.probe(part(), &claim, compiled.sql));
                }
            }
        }
        probes.not_asked.push(NotAsked {
            source: self.source.name.clone(),
            part: part(),
            reason: refusal(&first),
        });
    }

    fn times(&self) -> impl Iterator<Item = &str> {
        let columns = self.source.columns.iter();
        let is_time = |column: &&ktx_semantic_layer::Column| {
            column.kind == ColumnType::Time && column.visibility != Visibility::Hidden
        };
        columns.filter(is_time).map(|column| column.name.as_str())
    }
}

fn refusal(error: &QueryError) -> String {
    format!("it does not compile by itself: {}", error.message)
}

/// Returns `None` for an unparsable query, and on SQL Server for one with a common table
/// expression, which must not be nested.
fn rows_of(dialect: Dialect, source: &Source) -> Option<String> {
    let alias = identifier(dialect, "probed");
    match &source.relation {
        Relation::Table(table) => Some(format!("{} AS {alias}", table_name(dialect, table))),
        Relation::Sql(sql) => {
            let query = parse_query(source, sql, dialect).ok()?;
            (dialect != Dialect::SqlServer || query.with.is_none())
                .then(|| format!("({query}) AS {alias}"))
        }
    }
}

fn limited(dialect: Dialect, what: &str, rest: &str, rows: u64) -> String {
    if dialect == Dialect::SqlServer {
        format!("SELECT TOP ({rows}) {what} {rest}")
    } else {
        format!("SELECT {what} {rest} LIMIT {rows}")
    }
}

fn unique_sides(join: &Join) -> &'static [Side] {
    match join.relationship {
        Relationship::ManyToOne => &[Side::Target],
        Relationship::OneToMany => &[Side::Own],
        Relationship::OneToOne => &[Side::Target, Side::Own],
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Own,
    Target,
}

#[cfg(test)]
mod tests;
