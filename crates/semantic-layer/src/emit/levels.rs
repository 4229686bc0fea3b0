//! Writes totals and the rest beyond the limit next to the groups.

use ktx_sql::Dialect;

use super::answer::is_staged;
use super::outer::sort_key;
use super::part::group_clause;
use super::{Body, Writer, Written};
use crate::model::authored::ColumnType;
use crate::model::error::QueryError;
use crate::names::query::Direction;
use crate::plan::levels::{LevelQuery, again_by};
use crate::plan::predicates::Place;
use crate::plan::{ColumnRole, Planned, SortKey, unique};
use crate::sql::sql_text::{identifier, literal, typed_null};

pub(crate) struct Level<'l, 'a> {
    pub(crate) query: &'l LevelQuery,
    pub(crate) planned: &'l Planned<'a>,
}

pub(crate) fn write_levels(
    planned: &Planned<'_>,
    levels: &[Level<'_, '_>],
) -> Result<Written, QueryError> {
    let mut writer = Writer::new(planned, Vec::new())?;
    let mut body = writer.body()?;
    let mut taken = std::mem::take(&mut writer.inner.taken);
    let dialect = writer.dialect;
    let mut fresh = |wanted: &str| unique(wanted.to_owned(), wanted, &mut taken);
    let stage = Stage {
        dialect,
        shown: fresh("shown"),
        rows: fresh("all_rows"),
        level: identifier(dialect, &fresh("row_level")),
        numbered: fresh("numbered"),
        place: identifier(dialect, &fresh("place")),
        rest: fresh("the_rest"),
        count: identifier(dialect, &fresh("group_count")),
        mark: identifier(dialect, planned.mark.as_deref().unwrap_or_default()),
        dimensions: quoted(dialect, planned.dimensions.iter().map(|one| &one.name)),
        measures: quoted(dialect, planned.measures.iter().map(|one| &one.name)),
    };
    let mut tables = std::mem::take(&mut body.tables);
    let mut selects: Vec<String> = Vec::new();
    let first = if planned.has_rest() { 2 } else { 1 };
    if planned.is_numbered() {
        tables.push((stage.numbered.clone(), writer.numbered(&body, &stage)));
        tables.push((stage.shown.clone(), writer.first_rows(&body, &stage)));
        if planned.has_rest() {
            tables.push((stage.rest.clone(), writer.rest(&body, &stage)));
        }
    } else {
        let outer = writer.outer(&body.from, &body.measures, &body.filters);
        tables.push((stage.shown.clone(), outer));
    }
    if planned.mark.is_some() {
        selects.push(stage.groups());
    }
    if planned.has_rest() {
        let own = writer.inner.dimensions.iter();
        let own: Vec<String> = own.map(|name| identifier(dialect, name)).collect();
        selects.push(stage.others(&own, &planned.limit_per, &body.measures));
    }
    for (number, level) in levels.iter().enumerate() {
        let mut writer = Writer::new(level.planned, taken)?;
        let body = writer.body()?;
        taken = std::mem::take(&mut writer.inner.taken);
        tables.extend(body.tables.iter().cloned());
        let own = writer.inner.dimensions.iter();
        let own: Vec<String> = own.map(|name| identifier(dialect, name)).collect();
        selects.push(stage.total(level.query, &own, &body, first + number));
    }
    if planned.mark.is_some() {
        tables.push((stage.rows.clone(), selects.join("\nUNION ALL\n")));
    }
    let tables: Vec<String> = tables
        .iter()
        .map(|(name, sql)| format!("{} AS (\n{sql}\n)", identifier(dialect, name)))
        .collect();
    let sql = format!(
        "WITH {}\n{}",
        tables.join(",\n"),
        stage.last(planned, first)
    );
    Ok(Written {
        sql,
        ..writer.written(body)
    })
}

fn quoted<'n>(dialect: Dialect, names: impl Iterator<Item = &'n String>) -> Vec<String> {
    names.map(|name| identifier(dialect, name)).collect()
}

/// Tables raw, columns as written in SQL.
struct Stage {
    dialect: Dialect,
    shown: String,
    rows: String,
    level: String,
    numbered: String,
    place: String,
    rest: String,
    count: String,
    mark: String,
    dimensions: Vec<String>,
    measures: Vec<String>,
}

impl Stage {
    fn absent(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Postgres | Dialect::Redshift | Dialect::SqlServer => {
                let shown = self.table(&self.shown);
                format!("(SELECT {column} FROM {shown} WHERE 1 = 0)")
            }
            _ => "NULL".to_owned(),
        }
    }

    fn no_mark(&self) -> String {
        match self.dialect {
            Dialect::ClickHouse => "NULL".to_owned(),
            dialect => typed_null(dialect, Some(ColumnType::String)),
        }
    }

    fn groups(&self) -> String {
        let columns: Vec<&str> = self
            .dimensions
            .iter()
            .chain(&self.measures)
            .map(String::as_str)
            .collect();
        format!(
            "SELECT {}, 0 AS {}, {} AS {}\nFROM {}",
            columns.join(", "),
            self.level,
            self.no_mark(),
            self.mark,
            self.table(&self.shown)
        )
    }

    fn others(&self, own: &[String], limit_per: &[usize], measures: &[String]) -> String {
        let dimensions = self.dimensions.iter().zip(own).enumerate();
        let dimensions = dimensions.map(|(at, (name, own))| {
            if limit_per.contains(&at) {
                format!("{own} AS {name}")
            } else {
                format!("{} AS {name}", self.absent(name))
            }
        });
        let values = measures.iter().zip(&self.measures);
        let values = values.map(|(sql, name)| format!("{sql} AS {name}"));
        let columns: Vec<String> = dimensions.chain(values).collect();
        format!(
            "SELECT {}, 1 AS {}, {} AS {}\nFROM {}\nWHERE {} > 0",
            columns.join(", "),
            self.level,
            literal(self.dialect, "others"),
            self.mark,
            self.table(&self.rest),
            self.count
        )
    }

    fn total(&self, level: &LevelQuery, own: &[String], body: &Body, number: usize) -> String {
        let dimensions = self.dimensions.iter().enumerate();
        let dimensions = dimensions.map(|(at, name)| match own.get(at) {
            Some(own) => format!("{own} AS {name}"),
            None => format!("{} AS {name}", self.absent(name)),
        });
        let values = self.measures.iter().zip(&level.measures);
        let values = values.map(|(name, at)| {
            let sql = at.and_then(|at| body.measures.get(at));
            let sql = sql.cloned().unwrap_or_else(|| self.absent(name));
            format!("{sql} AS {name}")
        });
        let columns: Vec<String> = dimensions.chain(values).collect();
        format!(
            "SELECT {}, {number} AS {}, {} AS {}\nFROM {}",
            columns.join(", "),
            self.level,
            literal(self.dialect, &level.over),
            self.mark,
            identifier(self.dialect, &body.from)
        )
    }

    fn table(&self, name: &str) -> String {
        identifier(self.dialect, name)
    }

    /// Totals follow their groups; if the query has its own order or a rest, they come last.
    fn last(&self, planned: &Planned<'_>, first: usize) -> String {
        let columns: Vec<&str> = self
            .dimensions
            .iter()
            .chain(&self.measures)
            .chain(planned.mark.as_ref().map(|_| &self.mark))
            .map(String::as_str)
            .collect();
        let count = self.dimensions.len();
        let mut keys: Vec<String> = Vec::new();
        if planned.is_ordered || planned.is_numbered() {
            if planned.mark.is_some() && !planned.limit_per.is_empty() {
                keys.push(format!(
                    "CASE WHEN {} >= {first} THEN 1 ELSE 0 END",
                    self.level
                ));
            }
            let apart = planned.limit_per.iter();
            let apart = apart.filter_map(|at| {
                let (name, own) = (self.dimensions.get(*at)?, planned.dimensions.get(*at)?);
                let key = planned.order.iter().find(|key| key.name == own.name);
                Some(match key.map(|key| key.direction) {
                    Some(Direction::Descending) => format!("{name} DESC"),
                    _ => name.clone(),
                })
            });
            keys.extend(apart);
            if planned.mark.is_some() {
                keys.push(self.level.clone());
            }
            let is_apart = |key: &&SortKey| {
                let mut apart = planned.limit_per.iter();
                apart.any(|at| {
                    let own = planned.dimensions.get(*at);
                    own.is_some_and(|one| one.name == key.name)
                })
            };
            let order = planned.order.iter().filter(|key| !is_apart(key));
            keys.extend(order.map(|key| {
                let name = identifier(self.dialect, &key.name);
                let measure = (key.role == ColumnRole::Measure).then_some(name.as_str());
                sort_key(self.dialect, key, measure)
            }));
        } else {
            for (at, name) in self.dimensions.iter().enumerate() {
                let kept = count - 1 - at;
                keys.push(format!(
                    "CASE WHEN {} >= {} THEN 1 ELSE 0 END",
                    self.level,
                    kept + first
                ));
                keys.push(name.clone());
            }
        }
        format!(
            "SELECT {}\nFROM {}\nORDER BY {}",
            columns.join(", "),
            self.table(planned.mark.as_ref().map_or(&self.shown, |_| &self.rows)),
            keys.join(", ")
        )
    }
}

impl Writer<'_, '_> {
    fn numbered(&self, body: &Body, stage: &Stage) -> String {
        let planned = self.planned;
        let dimensions = self.inner.dimensions.iter();
        let dimensions: Vec<String> = dimensions
            .map(|name| identifier(self.dialect, name))
            .collect();
        let mut keys: Vec<String> = Vec::new();
        for key in &planned.order {
            let direction = match key.direction {
                Direction::Ascending => "",
                Direction::Descending => " DESC",
            };
            let places = planned.measures.iter().zip(&body.measures);
            let measure = places
                .filter(|(one, _)| key.role == ColumnRole::Measure && one.name == key.name)
                .map(|(_, sql)| sql);
            let own = planned.dimensions.iter().zip(&dimensions);
            let own = own
                .filter(|(one, _)| one.name == key.name)
                .map(|(_, sql)| sql);
            if let Some(sql) = measure.chain(own).next() {
                keys.push(format!("CASE WHEN {sql} IS NULL THEN 1 ELSE 0 END"));
                keys.push(format!("{sql}{direction}"));
            }
        }
        keys.extend(dimensions.iter().cloned());
        let apart = self.limited_apart().collect::<Vec<_>>();
        let apart = if apart.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {} ", apart.join(", "))
        };
        // If groups are compared, the last stage has whole measures.
        let values: Vec<String> = if is_staged(planned) {
            body.measures.clone()
        } else {
            let values = quoted(self.dialect, body.values.iter());
            let marks = self.inner.marks.values().filter(|_| body.is_merged);
            let marks = marks.map(|mark| identifier(self.dialect, &mark.merged));
            values.into_iter().chain(marks).collect()
        };
        let columns: Vec<String> = dimensions.into_iter().chain(values).collect();
        let filters = match body.filters.as_slice() {
            [] => String::new(),
            filters => format!("\nWHERE {}", filters.join(" AND ")),
        };
        format!(
            "SELECT {}, ROW_NUMBER() OVER ({apart}ORDER BY {}) AS {}\nFROM {}{filters}",
            columns.join(", "),
            keys.join(", "),
            stage.place,
            identifier(self.dialect, &body.from)
        )
    }

    fn first_rows(&self, body: &Body, stage: &Stage) -> String {
        let dimensions = self.inner.dimensions.iter().zip(&stage.dimensions);
        let dimensions =
            dimensions.map(|(own, name)| format!("{} AS {name}", identifier(self.dialect, own)));
        let values = body.measures.iter().zip(&stage.measures);
        let values = values.map(|(sql, name)| format!("{sql} AS {name}"));
        let columns: Vec<String> = dimensions.chain(values).collect();
        format!(
            "SELECT {}\nFROM {}\nWHERE {} <= {}",
            columns.join(", "),
            stage.table(&stage.numbered),
            stage.place,
            self.planned.limit
        )
    }

    fn rest(&self, body: &Body, stage: &Stage) -> String {
        let numbered = &stage.table(&stage.numbered);
        let values = body.values.iter().zip(&self.planned.atoms);
        let values = values.map(|(name, atom)| {
            let name = identifier(self.dialect, name);
            let function = again_by(&atom.call).unwrap_or("MAX");
            format!("{function}({numbered}.{name}) AS {name}")
        });
        let marks = self.inner.marks.values();
        let marks = marks.map(|mark| {
            let name = identifier(self.dialect, &mark.merged);
            format!("MAX({numbered}.{name}) AS {name}")
        });
        let apart: Vec<String> = self
            .limited_apart()
            .map(|name| format!("{numbered}.{name}"))
            .collect();
        let columns: Vec<String> = apart
            .iter()
            .cloned()
            .chain(values)
            .chain(marks.filter(|_| body.is_merged))
            .chain([format!("COUNT(*) AS {}", stage.count)])
            .collect();
        format!(
            "SELECT {}\nFROM {}\nWHERE {}.{} > {}{}",
            columns.join(", "),
            numbered,
            numbered,
            stage.place,
            self.planned.limit,
            group_clause(&apart)
        )
    }

    fn limited_apart(&self) -> impl Iterator<Item = String> {
        let all = self.planned.limit_per.iter();
        all.filter_map(|at| self.inner.dimensions.get(*at))
            .map(|name| identifier(self.dialect, name))
    }

    pub(super) fn written(&self, body: Body) -> Written {
        Written {
            sql: String::new(),
            parts: body.parts,
            measures: self
                .planned
                .measures
                .iter()
                .map(|measure| self.scalar(&measure.tree, Place::Value, &body.values))
                .collect(),
            lifted: body.lifted,
            dimensions: quoted(self.dialect, self.inner.dimensions.iter()),
            is_staged: body.is_merged || is_staged(self.planned),
        }
    }
}
