//! Semantic models of MetricFlow as typed values.

use serde_yaml::{Mapping, Value};

use super::embedded;
use crate::definitions::{Fragment, Moment, SourcePosition, Sql, spot_of};
use crate::facts::TableLocation;
use crate::names;
use crate::yaml::{maps, text, texts};

#[derive(Debug)]
pub(super) struct SemanticModel {
    pub(super) name: String,
    pub(super) table: TableLocation,
    pub(super) entities: Vec<Entity>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) measures: Vec<Measure>,
    pub(super) time: Option<String>,
}

#[derive(Debug)]
pub(super) struct Entity {
    pub(super) name: String,
    pub(super) kind: EntityKind,
    pub(super) expr: Sql,
    pub(super) spot: SourcePosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityKind {
    /// At most one row has each value: primary, unique or natural.
    Unique,
    Foreign,
}

#[derive(Debug)]
pub(super) struct Dimension {
    pub(super) name: String,
    pub(super) is_time: bool,
    pub(super) granularity: Option<String>,
    pub(super) expr: Sql,
    pub(super) description: Option<String>,
    pub(super) spot: SourcePosition,
}

#[derive(Debug)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) aggregation: Aggregation,
    pub(super) time: Option<String>,
    pub(super) description: Option<String>,
    pub(super) spot: SourcePosition,
    /// Whether the measure implies a metric of the same name.
    pub(super) is_metric: bool,
}

#[derive(Debug)]
pub(super) struct Aggregation {
    pub(super) sql: Result<Sql, String>,
    pub(super) snapshot: Option<NonAdditive>,
}

#[derive(Debug)]
pub(super) struct NonAdditive {
    pub(super) dimension: String,
    pub(super) at: Moment,
    pub(super) per: Vec<String>,
}

impl SemanticModel {
    pub(super) fn parse(
        path: &str,
        body: &str,
        map: &Mapping,
        table: TableLocation,
    ) -> Option<Self> {
        let name = text(map, "name")?;
        let spot = |name: &str| spot_of(path, body, embedded::section(map), name);
        let defaults = map.get("defaults").and_then(Value::as_mapping);
        let entities = maps(map, "entities").into_iter().filter_map(|map| {
            let name = text(map, "name")?;
            let kind = match text(map, "type")?.to_lowercase().as_str() {
                "primary" | "unique" | "natural" => EntityKind::Unique,
                _ => EntityKind::Foreign,
            };
            Some(Entity {
                kind,
                expr: expression(map, &name),
                spot: spot(&name),
                name,
            })
        });
        let mut entities: Vec<Entity> = entities.collect();
        // An entity without a column only provides the prefix of dimensions.
        if let Some(name) = text(map, "primary_entity")
            && !entities.iter().any(|entity| entity.name == name)
        {
            entities.push(Entity {
                kind: EntityKind::Unique,
                expr: Sql::default(),
                spot: spot(&name),
                name,
            });
        }
        let dimensions = maps(map, "dimensions").into_iter().filter_map(|map| {
            let name = text(map, "name")?;
            let params = map.get("type_params").and_then(Value::as_mapping);
            Some(Dimension {
                is_time: text(map, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("time")),
                granularity: params.and_then(|params| text(params, "time_granularity")),
                expr: expression(map, &name),
                description: described(map),
                spot: spot(&name),
                name,
            })
        });
        let measures = maps(map, "measures").into_iter().filter_map(|map| {
            let name = text(map, "name")?;
            Some(Measure {
                aggregation: Aggregation::parse(map, &name),
                time: text(map, "agg_time_dimension"),
                description: described(map),
                spot: spot(&name),
                is_metric: text(map, "create_metric").is_some_and(|word| word == "true"),
                name,
            })
        });
        Some(Self {
            table,
            dimensions: dimensions.collect(),
            measures: measures.collect(),
            time: defaults.and_then(|defaults| text(defaults, "agg_time_dimension")),
            entities,
            name,
        })
    }

    pub(super) fn embedded(
        path: &str,
        body: &str,
        map: &Mapping,
        table: TableLocation,
    ) -> Option<Self> {
        Self::parse(path, body, &embedded::semantic_model(map)?, table)
    }

    pub(super) fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    pub(super) fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions
            .iter()
            .find(|dimension| dimension.name == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AggregateBasis {
    /// Rows: 0 without rows.
    Rows,
    /// Values: NULL without values.
    Values,
}

impl Aggregation {
    pub(super) fn counts(&self) -> AggregateBasis {
        let begins = |text: &str| text.starts_with("count(");
        match self.sql.as_ref().map(|sql| sql.0.as_slice()) {
            Ok([Fragment::Text(text), ..]) if begins(text) => AggregateBasis::Rows,
            _ => AggregateBasis::Values,
        }
    }

    /// Without `expr`, the column has the name of the measure.
    pub(super) fn parse(map: &Mapping, name: &str) -> Self {
        let snapshot = map
            .get("non_additive_dimension")
            .and_then(Value::as_mapping)
            .and_then(|map| {
                Some(NonAdditive {
                    dimension: text(map, "name")?,
                    // MetricFlow takes the first moment by default.
                    at: match either(map, "window_choice", "window_agg")
                        .unwrap_or_default()
                        .to_lowercase()
                        .as_str()
                    {
                        "max" => Moment::Last,
                        _ => Moment::First,
                    },
                    per: texts(map, "window_groupings")
                        .or_else(|| texts(map, "group_by"))
                        .unwrap_or_default(),
                })
            });
        Self {
            sql: aggregate(map, name),
            snapshot,
        }
    }
}

fn aggregate(map: &Mapping, name: &str) -> Result<Sql, String> {
    let value = expression(map, name);
    let word = text(map, "agg").unwrap_or_default().to_lowercase();
    let (before, behind) = match word.as_str() {
        "sum" => ("sum(", ")"),
        "min" => ("min(", ")"),
        "max" => ("max(", ")"),
        "average" | "avg" => ("avg(", ")"),
        "median" => ("median(", ")"),
        "count" if is_constant(map) => return Ok(Sql::text("count(*)")),
        "count" => ("count(", ")"),
        "count_distinct" => ("count(distinct ", ")"),
        "sum_boolean" => ("sum(case when ", " then 1 else 0 end)"),
        "percentile" => return percentile(map, value),
        "" => return Err("it has no `agg`".to_owned()),
        other => return Err(format!("the aggregation `{other}` has no counterpart")),
    };
    Ok(value.between(before, behind))
}

fn is_constant(map: &Mapping) -> bool {
    text(map, "expr").is_some_and(|expr| ["1", "*"].contains(&expr.trim()))
}

fn either(map: &Mapping, older: &str, newer: &str) -> Option<String> {
    text(map, older).or_else(|| text(map, newer))
}

fn percentile(map: &Mapping, value: Sql) -> Result<Sql, String> {
    // The newer spelling omits this level.
    let params = map.get("agg_params").and_then(Value::as_mapping);
    let params = params.unwrap_or(map);
    let share = text(params, "percentile").ok_or("it has no `percentile`")?;
    let says = |key: &str, word: &str| text(params, key).is_some_and(|found| found == word);
    if says("use_discrete_percentile", "true") || says("percentile_type", "discrete") {
        return Err("a discrete percentile has no counterpart".to_owned());
    }
    Ok(value.between("percentile(", &format!(", {share})")))
}

pub(super) fn expression(map: &Mapping, name: &str) -> Sql {
    match text(map, "expr") {
        None => Sql::column(name),
        Some(expr) => match names::column(&expr) {
            Some(column) => Sql::column(column),
            None => Sql::text(expr.trim()),
        },
    }
}

pub(super) fn described(map: &Mapping) -> Option<String> {
    let found = text(map, "description")?;
    let found = found.trim();
    let is_plain = !found.contains("{{") && !found.contains("{%");
    let is_told = is_plain && !found.is_empty() && !crate::facts::is_secret(found);
    is_told.then(|| found.to_owned())
}
