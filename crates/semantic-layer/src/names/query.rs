//! Semantic queries, parsed from JSON or from command-line words.

mod wire;

use std::collections::BTreeSet;

use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::references::{Reference, references, renamed};

/// The row limit of a query without one.
pub const DEFAULT_LIMIT: u64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyMembers {
    /// Yes, unless the query requests the first rows by a measure.
    #[default]
    UnlessRanked,
    /// Members of the dimensions' source get a row.
    Include,
    Exclude,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingPeriods {
    #[default]
    LeaveOut,
    /// All periods between the bounds of the filters.
    Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Totals {
    #[default]
    LeaveOut,
    /// Over the last dimension, the last two, and so on.
    Include,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    #[default]
    LeaveOut,
    OneRow,
}

/// What happens to a row that belongs to several groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Across {
    /// Only counts over a table of pairs are answered.
    #[default]
    Counts,
    /// The row counts once in every group.
    CountEach,
    /// Weights divide the row among its groups.
    Allocate,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasureRequest {
    /// A predefined measure, an aggregate, or arithmetic over both.
    pub expr: String,
    pub name: Option<String>,
    /// Sources on the way to other sources, in order.
    pub via: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DimensionRequest {
    /// `source.column`, `alias.column` or a bare column that one source has.
    pub field: String,
    pub granularity: Option<String>,
    /// Sources on the way to the column, in order.
    pub via: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    #[default]
    Ascending,
    Descending,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRequest {
    /// A measure, its expression, a dimension, or a result name.
    pub field: String,
    pub direction: Direction,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// If empty, the query returns the distinct dimension tuples.
    pub measures: Vec<MeasureRequest>,
    pub dimensions: Vec<DimensionRequest>,
    /// AND-ed.
    pub filters: Vec<String>,
    /// `source.segment` names, AND-ed to the measures of their source.
    pub segments: Vec<String>,
    /// If empty, sorts by the dimensions.
    pub order_by: Vec<OrderRequest>,
    /// [`DEFAULT_LIMIT`] if absent.
    pub limit: Option<u64>,
    pub empty_members: EmptyMembers,
    pub missing_periods: MissingPeriods,
    pub across: Across,
    /// The part of a row that belongs to each group, if no join has a weight.
    pub weight: Option<String>,
    pub totals: Totals,
    pub others: Others,
    /// Each combination of their values has its own limit.
    pub limit_per: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryWords {
    pub measures: Vec<String>,
    /// With an optional `:granularity`.
    pub dimensions: Vec<String>,
    pub filters: Vec<String>,
    pub segments: Vec<String>,
    /// With an optional `:asc` or `:desc`.
    pub order_by: Vec<String>,
    pub limit: Option<u64>,
    pub empty_members: EmptyMembers,
    pub missing_periods: MissingPeriods,
    pub across: Across,
}

fn invalid(message: impl Into<String>) -> QueryError {
    QueryError::new(ErrorKind::InvalidQuery, message)
}

fn direction(text: &str) -> Result<Direction, QueryError> {
    if text.eq_ignore_ascii_case("asc") {
        Ok(Direction::Ascending)
    } else if text.eq_ignore_ascii_case("desc") {
        Ok(Direction::Descending)
    } else {
        Err(invalid(format!("unknown sort direction `{text}`"))
            .about(text)
            .suggest(["asc", "desc"]))
    }
}

fn split_word(text: &str) -> Option<(&str, &str)> {
    let (field, word) = text.rsplit_once(':')?;
    let is_word = !field.ends_with(':') && !word.contains(['(', ')', '[', ']', '\'', '"', '`']);
    is_word.then(|| (field.trim(), word.trim()))
}

fn split_via(text: &str) -> (&str, Vec<String>) {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.contains(|letter: char| letter.is_whitespace() || "()'".contains(letter))
    };
    let Some((front, rest)) = text.rsplit_once(" via ") else {
        return (text, Vec::new());
    };
    let names: Vec<String> = rest.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().all(|name| is_name(name)) {
        (front.trim(), names)
    } else {
        (text, Vec::new())
    }
}

fn with_via(text: String, via: &[String]) -> String {
    if via.is_empty() {
        text
    } else {
        format!("{text} via {}", via.join(", "))
    }
}

impl MeasureRequest {
    /// Also parses `via source, source`.
    pub fn parse(text: &str) -> Self {
        let (expr, via) = split_via(text);
        Self {
            expr: expr.to_owned(),
            name: None,
            via,
        }
    }

    pub fn text(&self) -> String {
        with_via(self.expr.clone(), &self.via)
    }
}

impl OrderRequest {
    /// Parses `field:asc`, `field desc` or a plain field.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if let Some((field, word)) = text.trim().rsplit_once(char::is_whitespace)
            && let Ok(direction) = direction(word)
        {
            let field = field.trim();
            return Ok(Self {
                field: field.strip_suffix(':').unwrap_or(field).trim().to_owned(),
                direction,
            });
        }
        if let Some((field, word)) = split_word(text)
            && Granularity::parse(word).is_none()
        {
            return Ok(Self {
                field: field.to_owned(),
                direction: direction(word)?,
            });
        }
        Ok(Self {
            field: text.trim().to_owned(),
            direction: Direction::default(),
        })
    }
}

impl DimensionRequest {
    /// Parses `field:granularity via source` with optional parts.
    pub fn parse(text: &str) -> Self {
        let (text, via) = split_via(text);
        match split_word(text) {
            Some((field, unit)) => Self {
                field: field.to_owned(),
                granularity: Some(unit.to_owned()),
                via,
            },
            None => Self {
                field: text.trim().to_owned(),
                granularity: None,
                via,
            },
        }
    }

    pub fn text(&self) -> String {
        let mut text = self.field.clone();
        if let Some(unit) = &self.granularity {
            text = format!("{text}:{unit}");
        }
        with_via(text, &self.via)
    }
}

impl Query {
    pub(crate) fn references(&self) -> Vec<Reference> {
        let measures = self.measures.iter().map(|measure| measure.expr.as_str());
        let dimensions = self
            .dimensions
            .iter()
            .map(|dimension| dimension.field.as_str());
        let order = self.order_by.iter().map(|order| order.field.as_str());
        let texts = measures.chain(dimensions).chain(order);
        let texts = texts.chain(self.filters.iter().map(String::as_str));
        let texts = texts.chain(self.limit_per.iter().map(String::as_str));
        let texts = texts.chain(self.weight.as_deref());
        let through = self.measures.iter().flat_map(|measure| &measure.via);
        let through = through.chain(self.dimensions.iter().flat_map(|one| &one.via));
        let through = through.map(|name| format!("{name}.via"));
        let through: Vec<Reference> = through.flat_map(|name| references(&name)).collect();
        texts.flat_map(references).chain(through).collect()
    }

    /// Names without their last part.
    pub fn mentioned(&self) -> BTreeSet<String> {
        let mut mentioned = BTreeSet::new();
        for reference in self.references() {
            let parts = reference.names();
            let fronts = (1..parts.len()).filter_map(|count| parts.get(..count));
            mentioned.extend(fronts.map(|front| front.join(".")));
        }
        let segments = self
            .segments
            .iter()
            .filter_map(|text| text.rsplit_once('.'));
        mentioned.extend(segments.map(|(front, _)| front.trim().to_owned()));
        mentioned
    }

    /// Refuses unknown keys.
    pub fn from_json(text: &str) -> Result<Self, QueryError> {
        let value: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| invalid(format!("the query is not valid JSON: {error}")))?;
        Self::from_value(&value)
    }

    pub fn from_value(value: &serde_json::Value) -> Result<Self, QueryError> {
        wire::read(value)
    }

    pub fn to_value(&self) -> serde_json::Value {
        wire::write(self)
    }

    pub(crate) fn renamed(&self, from: &str, to: &str) -> Self {
        let text = |text: &str| renamed(text, from, to);
        let mut query = self.clone();
        for measure in &mut query.measures {
            measure.expr = text(&measure.expr);
        }
        for dimension in &mut query.dimensions {
            dimension.field = text(&dimension.field);
        }
        for order in &mut query.order_by {
            order.field = text(&order.field);
        }
        let others = query.limit_per.iter_mut().chain(&mut query.weight);
        for filter in query.filters.iter_mut().chain(others) {
            *filter = text(filter);
        }
        query
    }

    /// Returns true if the answer has rows that its limit does not count.
    pub fn has_other_rows(&self) -> bool {
        self.totals == Totals::Include
            || self.others == Others::OneRow
            || !self.limit_per.is_empty()
    }

    pub(crate) fn without(&self, dimension: usize) -> Self {
        let mut query = self.clone();
        if dimension < query.dimensions.len() {
            let gone = query.dimensions.remove(dimension);
            let names_it = |text: &str| text.contains(gone.field.as_str());
            query.order_by.retain(|order| !names_it(&order.field));
            query.limit_per.retain(|text| !names_it(text));
        }
        query
    }

    /// Else to its measures and their filters.
    pub(crate) fn through(&self, to: &str, through: &[String]) -> Self {
        let mut query = self.clone();
        for dimension in &mut query.dimensions {
            let parts = crate::sql::sql_text::table_parts(&dimension.field);
            let front = parts.split_last().map(|(_, front)| front.join("."));
            let is_there = front.is_some_and(|front| front.eq_ignore_ascii_case(to));
            if is_there && dimension.via.is_empty() {
                dimension.via = through.to_vec();
            }
        }
        if query == *self {
            let measures = query.measures.iter_mut();
            for measure in measures.filter(|measure| measure.via.is_empty()) {
                measure.via = through.to_vec();
            }
        }
        query
    }

    pub fn from_words(words: QueryWords) -> Result<Self, QueryError> {
        Ok(Self {
            measures: words
                .measures
                .iter()
                .map(|text| MeasureRequest::parse(text))
                .collect(),
            dimensions: words
                .dimensions
                .iter()
                .map(|text| DimensionRequest::parse(text))
                .collect(),
            filters: words.filters,
            segments: words.segments,
            order_by: words
                .order_by
                .iter()
                .map(|text| OrderRequest::parse(text))
                .collect::<Result<_, _>>()?,
            limit: words.limit,
            empty_members: words.empty_members,
            missing_periods: words.missing_periods,
            across: words.across,
            totals: Totals::default(),
            others: Others::default(),
            limit_per: Vec::new(),
            weight: None,
        })
    }
}
