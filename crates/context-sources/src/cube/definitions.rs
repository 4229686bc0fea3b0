//! Reads measures, computed dimensions, segments and joins of cubes as definitions.

use serde_yaml::{Mapping, Value};

use super::cubes::{Cube, CubeTable, cubes};
use super::template::Members;
use crate::definitions::{
    Cardinality, ColumnKind, ColumnPair, ComputedColumn, DefinitionKind, Definitions, Fragment,
    MeasureDefinition, MeasureFormula, Model, ModelJoin, Purpose, SegmentDefinition,
    SkippedDefinition, Sql, Unit, WhyLeft, Window,
};
use crate::facts::{TableLocation, Writer, is_secret};
use crate::snapshot::Snapshot;
use crate::yaml::{maps, text};

pub fn definitions(snapshot: &Snapshot) -> Definitions {
    let cubes = cubes(snapshot);
    let mut left = Vec::new();
    let mut placed: Vec<(&Cube, TableLocation)> = Vec::new();
    for cube in cubes.values() {
        match cube.table() {
            CubeTable::At(table) => placed.push((cube, table)),
            CubeTable::Query => {
                let why = WhyLeft::NotATable;
                leave_all(cube, why, "its cube is a query of its own", &mut left);
            }
            CubeTable::Unclear(reason) => {
                leave_all(cube, WhyLeft::NotTranslated, reason, &mut left);
            }
        }
    }
    let members = Members {
        cubes: placed
            .iter()
            .map(|(cube, _)| (cube.name.as_str(), *cube))
            .collect(),
    };
    let models = placed.into_iter().map(|(cube, table)| {
        let mut translation = Translation {
            cube,
            members: &members,
            left: &mut left,
        };
        Model {
            name: cube.name.clone(),
            table,
            time: None,
            columns: translation.columns(),
            joins: translation.joins(),
            measures: translation.measures(),
            segments: translation.segments(),
        }
    });
    let models = models.collect();
    left.sort();
    Definitions {
        writer: Writer::Cube,
        models,
        left,
    }
}

fn leave_all(cube: &Cube, why: WhyLeft, reason: &str, left: &mut Vec<SkippedDefinition>) {
    let kinds = [
        ("measures", DefinitionKind::Measure),
        ("segments", DefinitionKind::Segment),
    ];
    for (list, kind) in kinds {
        left.extend(
            cube.items(list)
                .into_iter()
                .map(|(name, _)| SkippedDefinition {
                    why,
                    kind,
                    spot: cube.spot(&name),
                    name: format!("{}.{name}", cube.name),
                    reason: reason.to_owned(),
                }),
        );
    }
}

struct Translation<'a, 'l> {
    cube: &'a Cube,
    members: &'l Members<'a>,
    left: &'l mut Vec<SkippedDefinition>,
}

impl Translation<'_, '_> {
    fn leave(&mut self, kind: DefinitionKind, name: &str, reason: String) {
        self.left.push(SkippedDefinition {
            why: WhyLeft::NotTranslated,
            kind,
            spot: self.cube.spot(name),
            name: format!("{}.{name}", self.cube.name),
            reason,
        });
    }

    fn columns(&mut self) -> Vec<ComputedColumn> {
        let mut columns = Vec::new();
        for (name, map) in self.cube.items("dimensions") {
            match self.members.dimension(self.cube, &name, map, 0) {
                Ok(sql) if sql.plain_column().is_some() => {}
                Ok(expr) if has_measure(&expr) => {
                    let reason = "a dimension over measures has no counterpart";
                    self.leave(DefinitionKind::Column, &name, reason.to_owned());
                }
                Ok(expr) => columns.push(ComputedColumn {
                    kind: match text(map, "type").as_deref() {
                        Some("number") => ColumnKind::Number,
                        Some("boolean") => ColumnKind::Boolean,
                        Some("time") => ColumnKind::Time,
                        _ => ColumnKind::Text,
                    },
                    expr,
                    description: description(map),
                    spot: self.cube.spot(&name),
                    name,
                }),
                Err(reason) => self.leave(DefinitionKind::Column, &name, reason),
            }
        }
        columns
    }

    fn measures(&mut self) -> Vec<MeasureDefinition> {
        let mut measures = Vec::new();
        for (name, map) in self.cube.items("measures") {
            match self.measure(&name, map) {
                Ok(found) => measures.extend(found),
                Err(reason) => self.leave(DefinitionKind::Measure, &name, reason),
            }
        }
        measures
    }

    /// Returns a measure, preceded by the one that it adds up over time.
    fn measure(&self, name: &str, map: &Mapping) -> Result<Vec<MeasureDefinition>, String> {
        let (formula, mut lost) = self.formula(map)?;
        let mut filters = Vec::new();
        for filter in maps(map, "filters") {
            let sql = text(filter, "sql").ok_or("one of its filters has no `sql`")?;
            filters.push(self.members.sql(self.cube, &sql, 0)?);
        }
        if !filters.is_empty() && has_measure(&formula) {
            return Err("a filter on a measure of other measures has no counterpart".to_owned());
        }
        let is_multi_stage = text(map, "multi_stage").is_some_and(|word| word != "false");
        if is_multi_stage || map.contains_key("time_shift") {
            return Err("a measure over other periods or groups is not translated".to_owned());
        }
        let definition = |name: &str, formula, filters, purpose| MeasureDefinition {
            name: name.to_owned(),
            formula,
            filters,
            description: description(map),
            lost: Vec::new(),
            spot: self.cube.spot(name),
            purpose,
        };
        let formula = MeasureFormula::Expression(formula);
        let Some(window) = map.get("rolling_window") else {
            let whole = definition(name, formula, filters, Purpose::Offered);
            return Ok(vec![MeasureDefinition { lost, ..whole }]);
        };
        let window = window_of(window)?;
        let base = format!("{name}__base");
        let spot = self.cube.spot(name);
        let part = definition(&base, formula, filters, Purpose::Input);
        let formula = MeasureFormula::Cumulative {
            measure: Sql::measure(None, &base),
            window,
        };
        lost.push("a coarser period shows its last value".to_owned());
        let whole = definition(name, formula, Vec::new(), Purpose::Offered);
        Ok(vec![
            MeasureDefinition {
                spot: spot.clone(),
                ..part
            },
            MeasureDefinition {
                lost,
                spot,
                ..whole
            },
        ])
    }

    fn formula(&self, map: &Mapping) -> Result<(Sql, Vec<String>), String> {
        let kind = text(map, "type").ok_or("it has no `type`")?;
        let sql = text(map, "sql");
        let value = || {
            let sql = sql.as_deref().ok_or("it has no `sql`")?;
            self.members.sql(self.cube, sql, 0)
        };
        let (before, behind) = match kind.as_str() {
            "count" if sql.is_none() => return Ok((Sql::text("count(*)"), Vec::new())),
            "count" => ("count(", ")"),
            "sum" => ("sum(", ")"),
            "avg" => ("avg(", ")"),
            "min" => ("min(", ")"),
            "max" => ("max(", ")"),
            "count_distinct" => ("count(distinct ", ")"),
            "count_distinct_approx" => {
                let exactly = "it counts exactly, where Cube estimates".to_owned();
                return Ok((value()?.between("count(distinct ", ")"), vec![exactly]));
            }
            "number" | "string" | "time" | "boolean" => return Ok((value()?, Vec::new())),
            other => return Err(format!("a measure of type `{other}` has no counterpart")),
        };
        let value = value()?;
        if has_measure(&value) {
            return Err("an aggregate of a measure has no counterpart".to_owned());
        }
        Ok((value.between(before, behind), Vec::new()))
    }

    fn segments(&mut self) -> Vec<SegmentDefinition> {
        let mut segments = Vec::new();
        for (name, map) in self.cube.items("segments") {
            let sql = text(map, "sql").ok_or_else(|| "it has no `sql`".to_owned());
            match sql.and_then(|sql| self.members.sql(self.cube, &sql, 0)) {
                Ok(expr) => segments.push(SegmentDefinition {
                    expr,
                    description: description(map),
                    lost: Vec::new(),
                    spot: self.cube.spot(&name),
                    name,
                }),
                Err(reason) => self.leave(DefinitionKind::Segment, &name, reason),
            }
        }
        segments
    }

    fn joins(&mut self) -> Vec<ModelJoin> {
        let mut joins = Vec::new();
        for (name, map) in self.cube.items("joins") {
            match self.join(&name, map) {
                Ok(join) => joins.push(join),
                Err(reason) => self.leave(DefinitionKind::Join, &name, reason),
            }
        }
        joins
    }

    fn join(&self, to: &str, map: &Mapping) -> Result<ModelJoin, String> {
        let cardinality = match text(map, "relationship").unwrap_or_default().as_str() {
            "many_to_one" | "belongs_to" | "belongsTo" => Cardinality::ManyToOne,
            "one_to_many" | "has_many" | "hasMany" => Cardinality::OneToMany,
            "one_to_one" | "has_one" | "hasOne" => Cardinality::OneToOne,
            other => return Err(format!("the relationship `{other}` is not known")),
        };
        if !self.members.cubes.contains_key(to) {
            return Err(format!("the table of the cube `{to}` is not known"));
        }
        let sql = text(map, "sql").ok_or("it has no `sql`")?;
        let resolved = self.members.sql(self.cube, &sql, 0)?;
        Ok(ModelJoin {
            to: to.to_owned(),
            alias: None,
            pairs: pairs(&resolved, to)?,
            cardinality,
            spot: self.cube.spot(to),
        })
    }
}

fn pairs(condition: &Sql, to: &str) -> Result<Vec<ColumnPair>, String> {
    let more = || "its condition is more than equal columns".to_owned();
    let mut pairs = Vec::new();
    let mut sides: Vec<(bool, &str)> = Vec::new();
    for fragment in &condition.0 {
        match fragment {
            Fragment::Column { model, name } => {
                let is_other = model.as_deref() == Some(to);
                if model.is_some() && !is_other {
                    return Err("its condition compares a third cube".to_owned());
                }
                sides.push((is_other, name));
            }
            Fragment::Text(text) => match (text.trim().to_lowercase().as_str(), sides.len()) {
                ("=", 1) => {}
                ("and", 2) => pairs.push(pair(&std::mem::take(&mut sides)).ok_or_else(more)?),
                ("", _) => {}
                _ => return Err(more()),
            },
            Fragment::Measure { .. } => return Err(more()),
        }
    }
    pairs.push(pair(&sides).ok_or_else(more)?);
    Ok(pairs)
}

fn pair(sides: &[(bool, &str)]) -> Option<ColumnPair> {
    let ([(false, own), (true, other)] | [(true, other), (false, own)]) = sides else {
        return None;
    };
    Some(ColumnPair {
        own: (*own).to_owned(),
        other: (*other).to_owned(),
    })
}

fn has_measure(sql: &Sql) -> bool {
    let mut fragments = sql.0.iter();
    fragments.any(|fragment| matches!(fragment, Fragment::Measure { .. }))
}

fn window_of(value: &Value) -> Result<Window, String> {
    let map = value.as_mapping().ok_or("its `rolling_window` is empty")?;
    if let Some(kind) = text(map, "type").filter(|kind| kind != "fixed") {
        let unit = text(map, "granularity").and_then(|word| Unit::parse(&word));
        return match (kind.as_str(), unit) {
            ("to_date", Some(unit)) => Ok(Window::ToDate(unit)),
            _ => Err(format!(
                "a rolling window of type `{kind}` has no counterpart"
            )),
        };
    }
    let is_start = text(map, "offset").is_some_and(|word| word == "start");
    if map.contains_key("leading") || is_start {
        return Err("a rolling window that looks ahead has no counterpart".to_owned());
    }
    let trailing = text(map, "trailing").ok_or("its `rolling_window` has no `trailing`")?;
    if trailing == "unbounded" {
        return Ok(Window::Unbounded);
    }
    let parsed = trailing.split_once(' ').and_then(|(count, unit)| {
        Some(Window::Last {
            count: count.parse().ok()?,
            unit: Unit::parse(unit)?,
        })
    });
    parsed.ok_or_else(|| format!("`{trailing}` is not a number of units"))
}

fn description(map: &Mapping) -> Option<String> {
    let text = text(map, "description")?;
    let text = text.trim();
    let is_plain = !text.is_empty() && !text.contains("{{") && !is_secret(text);
    is_plain.then(|| text.to_owned())
}
