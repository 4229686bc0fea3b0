//! Writes the SQL of a plan: one common table expression per part, a merge, and the outer SELECT.

mod answer;
mod bridge;
pub(crate) mod compile;
pub(crate) mod levels;
mod outer;
mod overall;
mod part;
mod per_entity;
mod periods;
pub(crate) mod query_plan;
mod relation;
pub(crate) mod remarks;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};

use ktx_sql::Dialect;
use periods::PeriodNames;
pub use relation::parse_query;
use sqlparser::ast::Expr;

use crate::catalog::graph::NodeId;
use crate::model::authored::ColumnType;
use crate::model::error::QueryError;
use crate::names::aggregates::{self, Call};
use crate::names::bound::{self, Printer};
use crate::plan::predicates::{Place, placed};
use crate::plan::{Part, PartKind, Planned, sanitized, scalars, unique};
use crate::sql::sql_text::{identifier, is_boxed, only_element, only_value, typed_null};

const UNLIMITED: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) sql: String,
    pub(crate) parts: Vec<(String, String)>,
    pub(crate) measures: Vec<String>,
    /// Names and texts of the expressions before the parts.
    pub(crate) lifted: Vec<(String, String)>,
    pub(crate) dimensions: Vec<String>,
    /// True if the measures are computed in a stage after the parts.
    pub(crate) is_staged: bool,
}

struct Body {
    tables: Vec<(String, String)>,
    from: String,
    values: Vec<String>,
    measures: Vec<String>,
    filters: Vec<String>,
    is_merged: bool,
    parts: Vec<(String, String)>,
    lifted: Vec<(String, String)>,
}

/// Names inside the SQL; none is also a table or a result column.
struct Inner {
    dimensions: Vec<String>,
    atoms: Vec<String>,
    merged: Vec<String>,
    parts: Vec<String>,
    marks: BTreeMap<usize, Mark>,
    periods: PeriodNames,
    stacked: String,
    all: String,
    answer: answer::AnswerNames,
    taken: Vec<String>,
}

struct Mark {
    own: String,
    merged: String,
}

struct Writer<'p, 'a> {
    planned: &'p Planned<'a>,
    dialect: Dialect,
    inner: Inner,
    /// Expressions of SQL sources that cannot stay nested.
    lifted: Vec<(String, String)>,
    /// By source and lower-case original name.
    lifted_names: BTreeMap<(String, String), String>,
    /// An expression per look-up that is never NULL in a found row.
    keys: BTreeMap<NodeId, Expr>,
    at: usize,
}

pub(crate) fn write(planned: &Planned<'_>) -> Result<Written, QueryError> {
    if planned.is_numbered() {
        return levels::write_levels(planned, &[]);
    }
    Writer::new(planned, Vec::new())?.whole()
}

fn names(planned: &Planned<'_>, mut taken: Vec<String>) -> Result<Inner, QueryError> {
    taken.extend(relation::words(planned)?);
    taken.extend(planned.mark.iter().map(|name| name.to_lowercase()));
    taken.extend(planned.dimensions.iter().map(|one| one.name.to_lowercase()));
    taken.extend(planned.measures.iter().map(|one| one.name.to_lowercase()));
    let short = |text: &str| -> String {
        sanitized(text)
            .chars()
            .filter(char::is_ascii)
            .take(40)
            .collect()
    };
    let mut fresh = |wanted: String| unique(wanted.clone(), &wanted, &mut taken);
    let dimensions = planned
        .dimensions
        .iter()
        .enumerate()
        .map(|(at, one)| fresh(format!("d{}_{}", at + 1, short(&one.name))))
        .collect();
    let label = |at: usize| {
        let own = planned
            .measures
            .iter()
            .find(|one| bound::atom_of(&one.tree) == Some(at));
        own.map_or_else(|| atom_label(planned, at), |measure| short(&measure.name))
    };
    let count = planned.atoms.len();
    let atoms = (0..count)
        .map(|at| fresh(format!("a{}_{}", at + 1, label(at))))
        .collect();
    let merged = (0..count)
        .map(|at| fresh(format!("v{}_{}", at + 1, label(at))))
        .collect();
    let part_name = |part: &Part| {
        let node = short(planned.names.node_name(part.home));
        match part.kind {
            PartKind::Groups if !part.frame.shifts.is_empty() => format!("{node}_earlier"),
            PartKind::Groups if !part.frame.is_plain() => format!("{node}_window"),
            PartKind::Groups => format!("{node}_part"),
            PartKind::Ranked => format!("{node}_ranked"),
            PartKind::Members => format!("{node}_members"),
            PartKind::Present => format!("{node}_present"),
            PartKind::Snapshot => format!("{node}_snapshot"),
        }
    };
    let parts = planned
        .parts
        .iter()
        .map(|part| fresh(part_name(part)))
        .collect();
    let marks = marked(planned).into_iter().enumerate();
    let marks = marks.map(|(number, at)| {
        let home = planned.parts.get(at).map(|part| part.home);
        let home = short(home.map_or("", |home| planned.names.node_name(home)));
        let mark = Mark {
            own: fresh(format!("p{}_{home}", number + 1)),
            merged: fresh(format!("has{}_{home}", number + 1)),
        };
        (at, mark)
    });
    let marks = marks.collect();
    let stacked = fresh("stacked".to_owned());
    let all = fresh("merged".to_owned());
    let answer = answer::AnswerNames::new(planned, &mut fresh);
    Ok(Inner {
        dimensions,
        atoms,
        merged,
        parts,
        marks,
        periods: PeriodNames::new(&mut fresh),
        stacked,
        all,
        answer,
        taken,
    })
}

fn marked(planned: &Planned<'_>) -> BTreeSet<usize> {
    let values = planned.measures.iter().map(|measure| &measure.tree);
    let filters = planned.group_filters.iter().map(|(_, tree)| tree);
    let trees = values.chain(filters);
    trees
        .flat_map(|tree| bound::marks(&scalars::finish(tree, planned)))
        .collect()
}

fn atom_label(planned: &Planned<'_>, at: usize) -> String {
    match planned.atoms.get(at).map(|atom| &atom.call) {
        Some(Call::Function(function)) => sanitized(&function.name.to_string()),
        Some(Call::Percentile { .. }) => "percentile".to_owned(),
        Some(Call::Rows) | None => "rows".to_owned(),
    }
}

impl<'p, 'a> Writer<'p, 'a> {
    fn new(planned: &'p Planned<'a>, taken: Vec<String>) -> Result<Self, QueryError> {
        Ok(Self {
            planned,
            dialect: planned.names.dialect,
            inner: names(planned, taken)?,
            keys: BTreeMap::new(),
            at: 0,
            lifted: Vec::new(),
            lifted_names: BTreeMap::new(),
        })
    }
}

impl Writer<'_, '_> {
    fn whole(&mut self) -> Result<Written, QueryError> {
        let body = self.body()?;
        let outer = self.outer(&body.from, &body.measures, &body.filters);
        let written: Vec<String> = body
            .tables
            .iter()
            .map(|(name, sql)| format!("{} AS (\n{sql}\n)", identifier(self.dialect, name)))
            .collect();
        let sql = format!("WITH {}\n{outer}", written.join(",\n"));
        Ok(Written {
            sql,
            ..self.written(body)
        })
    }

    fn body(&mut self) -> Result<Body, QueryError> {
        let mut parts: Vec<(String, String)> = Vec::new();
        for (at, part) in self.planned.parts.iter().enumerate() {
            self.at = at;
            let sql = self.part(part)?;
            parts.push((self.inner.parts.get(at).cloned().unwrap_or_default(), sql));
        }
        let lifted = std::mem::take(&mut self.lifted);
        let mut tables: Vec<(String, String)> = lifted.clone();
        let plain = self.planned.parts.iter();
        let plain = plain.filter(|part| part.frame.is_plain()).count();
        tables.extend(parts.iter().take(plain).cloned());
        if let Some(time) = &self.planned.time {
            tables.extend(self.periods(time));
        }
        tables.extend(parts.iter().skip(plain).cloned());
        let spine = self
            .planned
            .time
            .as_ref()
            .filter(|time| time.spine.is_some());
        let is_merged = self.planned.parts.len() > 1 || spine.is_some();
        let from = if is_merged {
            tables.push((self.inner.stacked.clone(), self.stacked()));
            if let Some(time) = spine {
                tables.push((self.inner.periods.filled.clone(), self.filled(time)));
            }
            let merged =
                self.merged(spine.map_or(&self.inner.stacked, |_| &self.inner.periods.filled));
            tables.push((self.inner.all.clone(), merged));
            self.inner.all.clone()
        } else {
            self.inner.parts.first().cloned().unwrap_or_default()
        };
        let values = if is_merged {
            &self.inner.merged
        } else {
            &self.inner.atoms
        };
        let measures: Vec<String> = self
            .planned
            .measures
            .iter()
            .map(|measure| self.scalar(&measure.tree, Place::Value, values))
            .collect();
        let filters = self.group_filters(values);
        let values = values.clone();
        let body = Body {
            tables,
            from,
            values,
            measures,
            filters,
            is_merged,
            parts,
            lifted,
        };
        Ok(if answer::is_staged(self.planned) {
            self.staged(body)
        } else {
            body
        })
    }

    fn scalar(&self, tree: &Expr, place: Place, values: &[String]) -> String {
        let tree = scalars::finish(tree, self.planned);
        let tree = placed(&tree, place, self.planned.names);
        let printer = Printer {
            dialect: self.dialect,
            node: &|_| String::new(),
            atom: &|at| identifier(self.dialect, values.get(at).map_or("", String::as_str)),
            mark: &|part| {
                let mark = self.inner.marks.get(&part);
                identifier(self.dialect, mark.map_or("", |mark| mark.merged.as_str()))
            },
        };
        printer.print(&self.with_windows(tree, &printer))
    }

    fn group_filters(&self, values: &[String]) -> Vec<String> {
        let filters = self.planned.group_filters.iter();
        filters
            .map(|(_, tree)| format!("({})", self.scalar(tree, Place::Condition, values)))
            .collect()
    }

    fn stacked(&self) -> String {
        let selects = self
            .planned
            .parts
            .iter()
            .zip(&self.inner.parts)
            .enumerate()
            .map(|(number, (part, name))| {
                let mut columns: Vec<String> = self
                    .inner
                    .dimensions
                    .iter()
                    .map(|one| identifier(self.dialect, one))
                    .collect();
                for (at, atom) in self.planned.atoms.iter().enumerate() {
                    let column = identifier(
                        self.dialect,
                        self.inner.atoms.get(at).map_or("", String::as_str),
                    );
                    columns.push(if !part.atoms.contains(&at) {
                        format!("{} AS {column}", self.absent(at, atom.kind))
                    } else if is_boxed(self.dialect, atom.kind) {
                        let part = identifier(self.dialect, name);
                        format!("array({part}.{column}) AS {column}")
                    } else {
                        column
                    });
                }
                columns.extend(self.inner.marks.iter().map(|(of, mark)| {
                    let column = identifier(self.dialect, &mark.own);
                    if *of == number {
                        column
                    } else {
                        format!("{} AS {column}", self.no_mark())
                    }
                }));
                format!(
                    "SELECT {}\nFROM {}",
                    columns.join(", "),
                    identifier(self.dialect, name)
                )
            });
        selects.collect::<Vec<_>>().join("\nUNION ALL\n")
    }

    fn no_mark(&self) -> String {
        typed_null(self.dialect, Some(ColumnType::Number))
    }

    fn mark_column(&self) -> Option<String> {
        let mark = self.inner.marks.get(&self.at)?;
        let one = match self.dialect {
            // ClickHouse aggregates over no rows are 0 unless nullable.
            Dialect::ClickHouse => "toNullable(1)",
            _ => "1",
        };
        let column = identifier(self.dialect, &mark.own);
        Some(format!("MAX({one}) AS {column}"))
    }

    /// An untyped NULL is text in PostgreSQL and a number in SQL Server, and would change the type
    /// of all parts.
    pub(super) fn absent(&self, at: usize, kind: Option<ColumnType>) -> String {
        let is_strict = matches!(
            self.dialect,
            Dialect::Postgres | Dialect::Redshift | Dialect::SqlServer
        );
        let home = self
            .planned
            .parts
            .iter()
            .zip(&self.inner.parts)
            .find(|(part, _)| part.atoms.contains(&at));
        match (home, self.inner.atoms.get(at)) {
            (Some((_, part)), Some(column)) if is_strict => format!(
                "(SELECT {} FROM {} WHERE 1 = 0)",
                identifier(self.dialect, column),
                identifier(self.dialect, part)
            ),
            _ => typed_null(self.dialect, kind),
        }
    }

    fn merged(&self, from: &str) -> String {
        let dimensions: Vec<String> = self
            .inner
            .dimensions
            .iter()
            .map(|one| identifier(self.dialect, one))
            .collect();
        let values = self.planned.atoms.iter().enumerate().map(|(at, atom)| {
            let column = identifier(
                self.dialect,
                self.inner.atoms.get(at).map_or("", String::as_str),
            );
            let name = identifier(
                self.dialect,
                self.inner.merged.get(at).map_or("", String::as_str),
            );
            let value = match &atom.call {
                Call::Function(function) if aggregates::has_no_maximum(function, self.dialect) => {
                    only_element(&column)
                }
                _ => only_value(self.dialect, &column, atom.kind),
            };
            if aggregates::is_count(&atom.call) {
                format!("COALESCE({value}, 0) AS {name}")
            } else {
                format!("{value} AS {name}")
            }
        });
        let marks = self.inner.marks.values().map(|mark| {
            let own = identifier(self.dialect, &mark.own);
            let merged = identifier(self.dialect, &mark.merged);
            format!("MAX({own}) AS {merged}")
        });
        let columns = dimensions.iter().cloned().chain(values).chain(marks);
        let columns: Vec<String> = columns.collect();
        let stacked = identifier(self.dialect, from);
        let group = match dimensions.as_slice() {
            [] => String::new(),
            keys => format!("\nGROUP BY {}", keys.join(", ")),
        };
        format!("SELECT {}\nFROM {stacked}{group}", columns.join(", "))
    }
}
