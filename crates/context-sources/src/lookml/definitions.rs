//! Reads measures, computed dimensions and joins of LookML as definitions.

use super::explores::read_explores;
use super::fields::{Field, FieldKind, FieldView, Resolver};
use super::filter_words::{DimensionType, predicate};
use super::inheritance::{ViewTable, Views, elsewhere};
use super::project::LookmlProject;
use super::syntax::{LookmlEntry, Value};
use crate::definitions::{
    ColumnKind, ComputedColumn, DefinitionKind, Definitions, Fragment, MeasureDefinition,
    MeasureFormula, Model, Purpose, SkippedDefinition, Sql, WhyLeft,
};
use crate::facts::{TableLocation, Writer, is_secret};
use crate::snapshot::Snapshot;

/// Returns the definitions of views and explores. Skips models of a Looker connection other than
/// `expected`, which are about another warehouse.
pub fn definitions(snapshot: &Snapshot, expected: Option<&str>) -> Definitions {
    let project = LookmlProject::of(snapshot, expected);
    let elsewhere = elsewhere(&project);
    let views = Views::of(&project, &elsewhere);
    let mut tables: Vec<(&str, TableLocation)> = Vec::new();
    let mut left = Vec::new();
    let mut resolver = Resolver {
        project: &project,
        views: std::collections::BTreeMap::new(),
    };
    for chain in views.chains() {
        let view = FieldView::of(&chain, &views, &project);
        match chain.table(&project) {
            ViewTable::At(place) if !resolver.views.contains_key(view.name) => {
                tables.push((view.name, place));
                resolver.views.insert(view.name, view);
            }
            ViewTable::At(_) => {}
            ViewTable::Derived => leave_all(&view, "its view is a query of its own", &mut left),
            ViewTable::Unclear { .. } => {
                leave_all(&view, "only Looker knows the table of its view", &mut left);
            }
        }
    }
    let mut explored = read_explores(&resolver, &elsewhere);
    left.append(&mut explored.left);
    let mut models = Vec::new();
    for (name, table) in tables {
        let Some(view) = resolver.views.get(name) else {
            continue;
        };
        models.push(Model {
            name: name.to_owned(),
            table,
            time: None,
            columns: columns(view, &resolver, &mut left),
            joins: explored.joins.remove(name).unwrap_or_default(),
            measures: measures(view, &resolver, &mut left),
            segments: explored.segments.remove(name).unwrap_or_default(),
        });
    }
    left.sort();
    Definitions {
        writer: Writer::LookMl,
        models,
        left,
    }
}

fn leave_all(view: &FieldView<'_>, reason: &str, left: &mut Vec<SkippedDefinition>) {
    let measures = view
        .fields
        .iter()
        .filter(|(_, field)| field.kind == FieldKind::Measure);
    left.extend(measures.map(|(name, field)| SkippedDefinition {
        why: WhyLeft::NotATable,
        kind: DefinitionKind::Measure,
        name: format!("{}.{name}", view.name),
        spot: field.spot.clone(),
        reason: reason.to_owned(),
    }));
}

fn columns(
    view: &FieldView<'_>,
    resolver: &Resolver<'_>,
    left: &mut Vec<SkippedDefinition>,
) -> Vec<ComputedColumn> {
    let mut columns = Vec::new();
    for (name, field) in &view.fields {
        let group = format!("{name}_raw");
        let (of, kind) = match field.kind {
            FieldKind::Measure => continue,
            FieldKind::TimeGroup if field.text("type") == Some("duration") => {
                left.push(SkippedDefinition {
                    why: WhyLeft::NotTranslated,
                    kind: DefinitionKind::Column,
                    name: format!("{}.{name}", view.name),
                    spot: field.spot.clone(),
                    reason: "only Looker computes a duration".to_owned(),
                });
                continue;
            }
            FieldKind::TimeGroup => (group.as_str(), ColumnKind::Time),
            FieldKind::Dimension => (*name, column_kind(field)),
        };
        match resolver.dimension(view.name, of) {
            Ok(sql) if sql.plain_column().is_some() => {}
            Ok(expr) => columns.push(ComputedColumn {
                name: (*name).to_owned(),
                kind,
                expr,
                description: description(field, resolver.project),
                spot: field.spot.clone(),
            }),
            Err(reason) => left.push(SkippedDefinition {
                why: WhyLeft::NotTranslated,
                kind: DefinitionKind::Column,
                name: format!("{}.{name}", view.name),
                spot: field.spot.clone(),
                reason,
            }),
        }
    }
    columns
}

fn column_kind(field: &Field<'_>) -> ColumnKind {
    match field.text("type").unwrap_or("string") {
        "number" => ColumnKind::Number,
        "yesno" => ColumnKind::Boolean,
        kind if kind.starts_with("date") => ColumnKind::Time,
        _ => ColumnKind::Text,
    }
}

fn measures(
    view: &FieldView<'_>,
    resolver: &Resolver<'_>,
    left: &mut Vec<SkippedDefinition>,
) -> Vec<MeasureDefinition> {
    let mut measures = Vec::new();
    let own = view
        .fields
        .iter()
        .filter(|(_, field)| field.kind == FieldKind::Measure);
    for (name, field) in own {
        match measure(view.name, field, resolver) {
            Ok((formula, filters)) => measures.push(MeasureDefinition {
                name: (*name).to_owned(),
                formula: MeasureFormula::Expression(formula),
                filters,
                description: description(field, resolver.project),
                lost: Vec::new(),
                spot: field.spot.clone(),
                purpose: Purpose::Offered,
            }),
            Err(reason) => left.push(SkippedDefinition {
                why: WhyLeft::NotTranslated,
                kind: DefinitionKind::Measure,
                name: format!("{}.{name}", view.name),
                spot: field.spot.clone(),
                reason,
            }),
        }
    }
    measures
}

fn measure(
    view: &str,
    field: &Field<'_>,
    resolver: &Resolver<'_>,
) -> Result<(Sql, Vec<Sql>), String> {
    let filters = filters(view, field, resolver)?;
    let kind = field.text("type").unwrap_or("string");
    let value = || {
        let sql = field.text("sql").ok_or("it has no `sql`")?;
        resolver.sql(view, sql, 0)
    };
    let (before, behind) = match kind {
        "count" => return Ok((Sql::text("count(*)"), filters)),
        "sum" => ("sum(", ")"),
        "average" => ("avg(", ")"),
        "min" => ("min(", ")"),
        "max" => ("max(", ")"),
        "median" => ("median(", ")"),
        "count_distinct" if field.text("sql_distinct_key").is_none() => ("count(distinct ", ")"),
        "percentile" => {
            let share = field.text("percentile").ok_or("it has no `percentile`")?;
            let share: f64 = share
                .parse()
                .map_err(|_| format!("its percentile `{share}` is not a number"))?;
            let behind = format!(", {})", share / 100.0);
            return Ok((value()?.between("percentile(", &behind), filters));
        }
        "number" | "string" | "yesno" | "date" | "date_time" => {
            let formula = value()?;
            let is_built = formula
                .0
                .iter()
                .any(|fragment| matches!(fragment, Fragment::Measure { .. }));
            if !filters.is_empty() && is_built {
                return Err("Looker does not filter a measure of other measures".to_owned());
            }
            return Ok((formula, filters));
        }
        other => return Err(format!("a measure of type `{other}` has no counterpart")),
    };
    Ok((value()?.between(before, behind), filters))
}

fn filters(view: &str, field: &Field<'_>, resolver: &Resolver<'_>) -> Result<Vec<Sql>, String> {
    let mut predicates = Vec::new();
    for entry in field.entries("filters") {
        for (name, words) in conditions(entry) {
            predicates.extend(filter(view, name, words, resolver)?);
        }
    }
    Ok(predicates)
}

/// Parses `[name: "words"]` or `{field: name value: "words"}`.
fn conditions(entry: &LookmlEntry) -> Vec<(&str, &str)> {
    match &entry.value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| match item {
                Value::Block(None, entries) => entries.first(),
                _ => None,
            })
            .filter_map(|entry| Some((entry.key.as_str(), entry.value.text()?)))
            .collect(),
        Value::Block(None, entries) => {
            let of = |key: &str| {
                let mut entries = entries.iter();
                entries.find(|entry| entry.key == key)?.value.text()
            };
            of("field").zip(of("value")).into_iter().collect()
        }
        Value::Block(Some(_), _) | Value::Text(_) => Vec::new(),
    }
}

fn filter(
    view: &str,
    name: &str,
    words: &str,
    resolver: &Resolver<'_>,
) -> Result<Option<Sql>, String> {
    let (owner, name) = name.split_once('.').unwrap_or((view, name));
    let field = resolver
        .field(owner, name)
        .filter(|field| field.kind == FieldKind::Dimension)
        .ok_or_else(|| format!("its filter on `{owner}.{name}` has no counterpart"))?;
    let kind = match field.text("type").unwrap_or("string") {
        "string" | "zipcode" => DimensionType::Text,
        "number" => DimensionType::Number,
        "yesno" => DimensionType::Boolean,
        other => {
            return Err(format!(
                "a filter on a dimension of type `{other}` has no counterpart"
            ));
        }
    };
    let words = resolver
        .project
        .written_out(words)
        .ok_or("only Looker can write its filter out")?;
    let sql = resolver.dimension(owner, name)?;
    let column = match (owner == view, sql.plain_column()) {
        (true, Some(_)) => sql,
        (true, None) => sql.between("(", ")"),
        (false, column) => Sql(vec![Fragment::Column {
            model: Some(owner.to_owned()),
            name: column.unwrap_or(name).to_owned(),
        }]),
    };
    predicate(&column, kind, &words)
}

fn description(field: &Field<'_>, project: &LookmlProject<'_>) -> Option<String> {
    let text = project.written_out(field.text("description")?.trim())?;
    (!text.is_empty() && !is_secret(&text)).then_some(text)
}
