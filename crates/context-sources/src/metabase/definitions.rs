//! Reads metrics and models of the query builder as definitions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::MetabaseCrawl;
use super::card::Card;
use super::mbql::{Clauses, TableField};
use crate::definitions::{
    ColumnKind, ComputedColumn, DefinitionKind, Definitions, Fragment, MeasureDefinition,
    MeasureFormula, Model, Purpose, SegmentDefinition, SkippedDefinition, SourcePosition, Sql,
    WhyLeft,
};
use crate::facts::{TableLocation, Writer, is_secret};

const DEEPEST: usize = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    tables: BTreeMap<u64, TableLocation>,
    fields: BTreeMap<u64, TableField>,
}

impl Fields {
    /// Parses the answer of `/api/database/:id/metadata`.
    pub(super) fn parse(answer: &Value) -> Self {
        let mut known = Self::default();
        let list = |value: &Value, key: &str| {
            let list = value.get(key).and_then(Value::as_array).cloned();
            list.unwrap_or_default()
        };
        for table in list(answer, "tables") {
            let text = |key: &str| {
                let text = table.get(key).and_then(Value::as_str).map(str::to_owned);
                text.filter(|text| !text.is_empty())
            };
            let (Some(id), Some(name)) = (table.get("id").and_then(Value::as_u64), text("name"))
            else {
                continue;
            };
            let place = TableLocation {
                name,
                schema: text("schema"),
                ..TableLocation::default()
            };
            known.tables.insert(id, place);
            for field in list(&table, "fields") {
                let text = |key: &str| field.get(key).and_then(Value::as_str);
                let own = field.get("id").and_then(Value::as_u64).zip(text("name"));
                if let Some((own, name)) = own {
                    let field = TableField {
                        name: name.to_owned(),
                        table: id,
                        kind: text("base_type").unwrap_or_default().to_owned(),
                        is_nested: field.get("parent_id").is_some_and(|id| !id.is_null()),
                        is_cast: field
                            .get("coercion_strategy")
                            .is_some_and(|how| !how.is_null()),
                    };
                    known.fields.insert(own, field);
                }
            }
        }
        known
    }

    pub(super) fn has_columns(&self, table: u64) -> bool {
        let mut fields = self.fields.values();
        self.tables.contains_key(&table) && fields.any(|field| field.table == table)
    }
}

struct TableQuery<'c> {
    table: u64,
    aggregations: Vec<&'c Value>,
    filters: Vec<&'c Value>,
    expressions: BTreeMap<&'c str, &'c Value>,
    breakouts: Vec<&'c Value>,
    chooses: bool,
}

pub fn definitions(crawl: &MetabaseCrawl, database: u64) -> Definitions {
    let fields = crawl.fields.get(&database).cloned().unwrap_or_default();
    let mut translation = Translation {
        cards: &crawl.cards,
        fields: &fields,
        metrics: BTreeMap::new(),
        taken: BTreeSet::new(),
        models: BTreeMap::new(),
        left: Vec::new(),
    };
    let own = || {
        crawl
            .cards
            .values()
            .filter(|card| card.database == database)
    };
    let mut open: Vec<&Card> = own().filter(|card| card.kind == "metric").collect();
    let mut reasons: BTreeMap<u64, String> = BTreeMap::new();
    loop {
        let before = open.len();
        open.retain(|card| match translation.metric(card) {
            Ok(()) => false,
            Err(reason) => {
                reasons.insert(card.id, reason);
                true
            }
        });
        if open.len() == before {
            break;
        }
    }
    for card in open {
        let reason = reasons.remove(&card.id).unwrap_or_default();
        translation.leave(DefinitionKind::Measure, card, reason);
    }
    for card in own().filter(|card| card.kind == "model") {
        if let Err(reason) = translation.model(card) {
            translation.leave(DefinitionKind::Segment, card, reason);
        }
    }
    for card in own().filter(|card| card.kind == "question") {
        let reason = "the semantic layer has no place for questions that are asked again";
        translation.leave(DefinitionKind::SavedQuery, card, reason.to_owned());
    }
    translation.left.sort();
    Definitions {
        writer: Writer::Metabase,
        models: translation.models.into_values().collect(),
        left: translation.left,
    }
}

struct Translation<'a> {
    cards: &'a BTreeMap<u64, Card>,
    fields: &'a Fields,
    metrics: BTreeMap<u64, BTreeMap<u64, String>>,
    taken: BTreeSet<u64>,
    models: BTreeMap<u64, Model>,
    left: Vec<SkippedDefinition>,
}

impl<'a> Translation<'a> {
    fn leave(&mut self, kind: DefinitionKind, card: &Card, reason: String) {
        let why = match kind {
            DefinitionKind::SavedQuery => WhyLeft::NoPlace,
            _ if self.taken.contains(&card.id) => WhyLeft::Taken,
            _ => WhyLeft::NotTranslated,
        };
        self.left.push(SkippedDefinition {
            why,
            kind,
            name: card.name.clone(),
            spot: card.path(),
            reason,
        });
    }

    fn metric(&mut self, card: &'a Card) -> Result<(), String> {
        let query = self.query(card, 0)?;
        let [aggregation] = query.aggregations.as_slice() else {
            return Err("it has more than one aggregation, or none".to_owned());
        };
        self.check_listed(&query)?;
        let none = BTreeMap::new();
        let clauses = self.clauses(&query, self.metrics.get(&query.table).unwrap_or(&none));
        let lost = grouping(&clauses, &query)?;
        let formula = clauses.aggregation(aggregation, 0)?;
        let is_built = |one: &Fragment| matches!(one, Fragment::Measure { .. });
        if !query.filters.is_empty() && formula.0.iter().any(is_built) {
            return Err("it filters the rows of other metrics".to_owned());
        }
        let measure = MeasureDefinition {
            name: identifier(&card.name)?,
            formula: MeasureFormula::Expression(formula),
            filters: conditions(&clauses, &query)?,
            description: description(card),
            lost,
            spot: card.path(),
            purpose: Purpose::Offered,
        };
        let table = query.table;
        let known = &mut self.table(table)?.measures;
        if let Some(spot) = taken(&measure, known).cloned() {
            self.taken.insert(card.id);
            return Err(format!("`{spot}` defines another one of this name"));
        }
        known.push(measure.clone());
        let names = self.metrics.entry(table).or_default();
        names.insert(card.id, measure.name);
        Ok(())
    }

    /// Its rows become a segment, and its custom columns computed ones.
    fn model(&mut self, card: &'a Card) -> Result<(), String> {
        let query = self.query(card, 0)?;
        if !query.aggregations.is_empty() {
            return Err("it is a table of aggregates".to_owned());
        }
        if !query.breakouts.is_empty() {
            return Err("it groups its rows".to_owned());
        }
        self.check_listed(&query)?;
        let none = BTreeMap::new();
        let clauses = self.clauses(&query, &none);
        let mut columns = Vec::new();
        for (name, value) in &query.expressions {
            columns.push(ComputedColumn {
                name: identifier(name)?,
                kind: card.kind_of(name).unwrap_or(ColumnKind::Text),
                expr: clauses.value(value, 0)?,
                description: None,
                spot: card.path(),
            });
        }
        let filters = conditions(&clauses, &query)?;
        let mut segment = None;
        if !filters.is_empty() {
            let all = filters.into_iter().map(|filter| filter.between("(", ")"));
            let expr =
                all.reduce(|left, right| Sql([left.between("", " and ").0, right.0].concat()));
            segment = expr.map(|expr| (identifier(&card.name), expr));
        } else if columns.is_empty() {
            return Err("it has all rows of its table and no columns of its own".to_owned());
        }
        let lost = if query.chooses {
            vec!["it shows only some columns".to_owned()]
        } else {
            Vec::new()
        };
        let table = query.table;
        if let Some((name, expr)) = segment {
            let segment = SegmentDefinition {
                name: name?,
                expr,
                description: description(card),
                lost,
                spot: card.path(),
            };
            self.table(table)?.segments.push(segment);
        }
        self.table(table)?.columns.extend(columns);
        Ok(())
    }

    fn check_listed(&self, query: &TableQuery<'_>) -> Result<(), String> {
        if self.fields.has_columns(query.table) {
            return Ok(());
        }
        Err("the server does not list the columns of its table".to_owned())
    }

    fn clauses<'q>(
        &'q self,
        query: &TableQuery<'q>,
        metrics: &'q BTreeMap<u64, String>,
    ) -> Clauses<'q> {
        Clauses {
            fields: &self.fields.fields,
            table: query.table,
            expressions: query.expressions.clone(),
            metrics,
        }
    }

    fn table(&mut self, id: u64) -> Result<&mut Model, String> {
        let place = self.fields.tables.get(&id);
        let place = place.ok_or("it names a table that the server does not list")?;
        Ok(self.models.entry(id).or_insert_with(|| Model {
            name: format!("table {id}"),
            table: place.clone(),
            time: None,
            columns: Vec::new(),
            joins: Vec::new(),
            measures: Vec::new(),
            segments: Vec::new(),
        }))
    }

    /// Returns the query over one table, with the filters of the models that the card builds on.
    fn query(&self, card: &'a Card, depth: usize) -> Result<TableQuery<'a>, String> {
        let stage = card.only_stage()?;
        if depth == DEEPEST {
            return Err("it is built on itself".to_owned());
        }
        let list = |key: &str| {
            let list = stage.get(key).and_then(Value::as_array);
            list.map(|list| list.iter().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        if !list("joins").is_empty() {
            return Err("it joins tables".to_owned());
        }
        if stage.get("limit").is_some_and(|limit| !limit.is_null()) {
            return Err("it has a limit".to_owned());
        }
        let mut query = TableQuery {
            table: 0,
            aggregations: list("aggregation"),
            filters: stage
                .get("filter")
                .into_iter()
                .chain(list("filters"))
                .collect(),
            expressions: expressions(stage),
            breakouts: list("breakout"),
            chooses: stage.get("fields").is_some(),
        };
        let source = stage.get("source-table");
        let other = source.and_then(|source| source.as_str()?.strip_prefix("card__")?.parse().ok());
        let other = other.or_else(|| stage.get("source-card")?.as_u64());
        match (source.and_then(Value::as_u64), other) {
            (Some(table), _) => query.table = table,
            (None, Some(id)) => {
                let other = self
                    .cards
                    .get(&id)
                    .filter(|other| other.database == card.database);
                let other = other.ok_or("it is built on a card that was not read")?;
                let below = self.query(other, depth + 1)?;
                if !below.aggregations.is_empty() || !below.expressions.is_empty() {
                    return Err("it is built on another card that computes columns".to_owned());
                }
                if !below.breakouts.is_empty() {
                    return Err("it is built on another card that groups its rows".to_owned());
                }
                query.table = below.table;
                query.filters.extend(below.filters);
            }
            (None, None) => return Err("it names no table".to_owned()),
        }
        Ok(query)
    }
}

fn conditions(clauses: &Clauses<'_>, query: &TableQuery<'_>) -> Result<Vec<Sql>, String> {
    let filters = query.filters.iter();
    filters.map(|filter| clauses.condition(filter, 0)).collect()
}

/// Returns what is lost of a metric's grouping. Metabase groups by one time only for display.
fn grouping(clauses: &Clauses<'_>, query: &TableQuery<'_>) -> Result<Vec<String>, String> {
    match query.breakouts.as_slice() {
        [] => Ok(Vec::new()),
        [only] if clauses.is_period(only) => Ok(vec![
            "it is shown by periods, which a query has to name".to_owned(),
        ]),
        _ => Err("it groups its rows".to_owned()),
    }
}

fn taken<'m>(
    measure: &MeasureDefinition,
    known: &'m [MeasureDefinition],
) -> Option<&'m SourcePosition> {
    let mut others = known.iter();
    let other = others.find(|other| other.name == measure.name)?;
    let is_same = other.formula == measure.formula && other.filters == measure.filters;
    (!is_same).then_some(&other.spot)
}

/// Reads the map of the older format and the list of the newer one.
fn expressions(stage: &Value) -> BTreeMap<&str, &Value> {
    match stage.get("expressions") {
        Some(Value::Object(named)) => named
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        Some(Value::Array(list)) => {
            let named = list.iter().filter_map(|clause| {
                let name = clause.get(1)?.get("lib/expression-name")?.as_str()?;
                Some((name, clause))
            });
            named.collect()
        }
        _ => BTreeMap::new(),
    }
}

fn description(card: &Card) -> Option<String> {
    card.description.clone().filter(|text| !is_secret(text))
}

/// Converts a display name: `Net revenue (EUR)` becomes `net_revenue_eur`.
fn identifier(shown: &str) -> Result<String, String> {
    let mut name = String::new();
    for letter in shown.chars() {
        if letter.is_alphanumeric() {
            name.extend(letter.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_').to_owned();
    if name.starts_with(|letter: char| letter.is_alphabetic()) {
        Ok(name)
    } else {
        Err(format!("`{shown}` cannot be the name of a measure"))
    }
}
