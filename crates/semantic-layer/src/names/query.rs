//! Semantic queries, parsed from JSON or from command-line words.

mod wire;

use std::collections::BTreeSet;

use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::references::{Reference, references, renamed};

/// The row limit of a query without one.
pub const DEFAULT_LIMIT: u64 = 1000;

/// Whether members without facts get a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyMembers {
    /// They do, unless the query requests the first rows by a measure.
    #[default]
    UnlessRanked,
    /// Members of the dimensions' own source without facts get a row.
    Include,
    /// Only groups with facts get a row.
    Exclude,
}

/// Whether periods without rows get a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingPeriods {
    /// Only periods with rows appear.
    #[default]
    LeaveOut,
    /// Every period between the bounds of the filters appears.
    Fill,
}

/// Whether totals over the last dimensions get rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Totals {
    /// Only groups get a row.
    #[default]
    LeaveOut,
    /// So do the totals over the last dimension, over the last two, and so on, up to the grand total.
    Include,
}

/// Whether the groups beyond the limit get a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// They do not appear.
    #[default]
    LeaveOut,
    /// All of them together get one row.
    OneRow,
}

/// What happens to a row that belongs to several groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Across {
    /// Only counts over a table of pairs are answered; each row counts in every group that it belongs to.
    #[default]
    Counts,
    /// Each row counts once in every group that it belongs to.
    CountEach,
    /// Each row is divided among its groups by weights.
    Allocate,
}

/// A requested measure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasureRequest {
    /// A predefined measure, an aggregate, or arithmetic over both.
    pub expr: String,
    /// The requested result name; derived from the expression if absent.
    pub name: Option<String>,
    /// The sources through which other sources are looked up for it, in order.
    pub via: Vec<String>,
}

/// A requested dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DimensionRequest {
    /// `source.column`, `alias.column` or a bare column that one source has.
    pub field: String,
    /// The unit to truncate a time column to, as written.
    pub granularity: Option<String>,
    /// The sources through which the column is looked up, in order.
    pub via: Vec<String>,
}

/// Sort direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Smallest first.
    #[default]
    Ascending,
    /// Largest first.
    Descending,
}

/// One requested sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRequest {
    /// A measure, its expression, a dimension, or a result name.
    pub field: String,
    /// Sort direction.
    pub direction: Direction,
}

/// A semantic query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// The measures; if empty, the query returns the distinct dimension tuples.
    pub measures: Vec<MeasureRequest>,
    /// The grouping.
    pub dimensions: Vec<DimensionRequest>,
    /// Predicates, AND-ed.
    pub filters: Vec<String>,
    /// `source.segment` names, AND-ed to the measures of their source.
    pub segments: Vec<String>,
    /// Sort keys; empty sorts by the dimensions.
    pub order_by: Vec<OrderRequest>,
    /// Row limit; absent means [`DEFAULT_LIMIT`].
    pub limit: Option<u64>,
    /// Whether members without facts get a row.
    pub empty_members: EmptyMembers,
    /// Whether periods without rows get a row.
    pub missing_periods: MissingPeriods,
    /// What happens to a row that belongs to several groups.
    pub across: Across,
    /// The part of a row that belongs to each of its groups, if `across` is [`Across::Allocate`] and no join says it.
    pub weight: Option<String>,
    /// Whether totals over the last dimensions get rows.
    pub totals: Totals,
    /// Whether the groups beyond the limit get a row.
    pub others: Others,
    /// The dimensions of which each combination of values has a limit of its own; empty for one limit.
    pub limit_per: Vec<String>,
}

/// The words of a command line, before parsing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryWords {
    /// `--measure`
    pub measures: Vec<String>,
    /// `--dimension`, with an optional `:granularity`
    pub dimensions: Vec<String>,
    /// `--filter`
    pub filters: Vec<String>,
    /// `--segment`
    pub segments: Vec<String>,
    /// `--order-by`, with an optional `:asc` or `:desc`
    pub order_by: Vec<String>,
    /// `--limit`
    pub limit: Option<u64>,
    /// Whether members without facts get a row.
    pub empty_members: EmptyMembers,
    /// Whether periods without rows get a row.
    pub missing_periods: MissingPeriods,
    /// What happens to a row that belongs to several groups.
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

/// Splits a field from the word after its last colon. The two colons of a cast are part of the
/// field, as is a colon within parentheses or quotes.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let (field, word) = text.rsplit_once(':')?;
    let is_word = !field.ends_with(':') && !word.contains(['(', ')', '[', ']', '\'', '"', '`']);
    is_word.then(|| (field.trim(), word.trim()))
}

/// Splits the sources after the word `via` from a text.
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
    /// Parses an expression, also with `via source, source`.
    pub fn parse(text: &str) -> Self {
        let (expr, via) = split_via(text);
        Self {
            expr: expr.to_owned(),
            name: None,
            via,
        }
    }

    /// Returns the text form, without the result name.
    pub fn text(&self) -> String {
        with_via(self.expr.clone(), &self.via)
    }
}

impl OrderRequest {
    /// Parses `field:asc`, `field desc` or a plain field.
    ///
    /// # Errors
    ///
    /// An `invalid_query` for a word after the colon that is not a direction.
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
    /// Parses `field:granularity` or a plain field, each also with `via source, source`.
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

    /// Returns the text form.
    pub fn text(&self) -> String {
        let mut text = self.field.clone();
        if let Some(unit) = &self.granularity {
            text = format!("{text}:{unit}");
        }
        with_via(text, &self.via)
    }
}

impl Query {
    /// Returns the dotted names in its texts.
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
        // A role path that a query goes through has no column behind it.
        let through = through.map(|name| format!("{name}.via"));
        let through: Vec<Reference> = through.flat_map(|name| references(&name)).collect();
        texts.flat_map(references).chain(through).collect()
    }

    /// Returns the names that may be sources: what precedes the last part of each dotted name.
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

    /// Parses the JSON form; refuses unknown keys.
    pub fn from_json(text: &str) -> Result<Self, QueryError> {
        let value: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| invalid(format!("the query is not valid JSON: {error}")))?;
        Self::from_value(&value)
    }

    /// Reads the JSON form from a parsed value; refuses unknown keys.
    pub fn from_value(value: &serde_json::Value) -> Result<Self, QueryError> {
        wire::read(value)
    }

    /// Returns the JSON form.
    pub fn to_value(&self) -> serde_json::Value {
        wire::write(self)
    }

    /// Returns the query with another name in place of a source's, wherever a dotted name begins with it.
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

    /// Returns whether the answer has rows beside the groups, which its limit does not count.
    pub fn has_other_rows(&self) -> bool {
        self.totals == Totals::Include
            || self.others == Others::OneRow
            || !self.limit_per.is_empty()
    }

    /// Returns the query without one of its dimensions, and without what names it.
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

    /// Returns the query with a way to the dimensions of a source that have none; without such dimensions, with a way for
    /// its measures, whose filters then follow it.
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

    /// Parses the words of a command line.
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
