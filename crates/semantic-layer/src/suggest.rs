//! Suggests measures, a time dimension and hidden columns from names, types and scanned values,
//! without a model.

mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::authored::{ColumnType, Visibility};
use crate::model::resolved::{Column, Source};

use names::Meaning;

#[derive(Debug, Clone)]
pub struct SourceFacts<'a> {
    pub source: &'a Source,
    pub time_dimension: Declared,
    /// Scanned values by column, most frequent first.
    pub values: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    Yes,
    No,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    #[serde(flatten)]
    pub item: SuggestedItem,
    /// Lower case, no full stop.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SuggestedItem {
    Measure {
        name: String,
        /// An aggregate, or arithmetic over suggested measures.
        expr: String,
    },
    TimeDimension {
        name: String,
    },
    HiddenColumn {
        name: String,
    },
}

/// Numerator, denominator, name of the rate.
const RATES: &[Rate] = &[
    Rate::new("clicks", "impressions", "click_through_rate"),
    Rate::new("conversions", "clicks", "conversion_rate"),
    Rate::new("conversions", "sessions", "session_conversion_rate"),
    Rate::new("conversions", "visits", "visit_conversion_rate"),
];

struct Rate {
    numerator: &'static str,
    denominator: &'static str,
    name: &'static str,
}

impl Rate {
    const fn new(numerator: &'static str, denominator: &'static str, name: &'static str) -> Self {
        Self {
            numerator,
            denominator,
            name,
        }
    }
}

pub fn suggest(facts: &SourceFacts<'_>) -> Vec<Suggestion> {
    let source = facts.source;
    let mut draft = Draft {
        taken: taken_names(source),
        suggestions: Vec::new(),
    };
    let has_count = source.measures.iter().any(|measure| {
        let expr = measure.expr.replace(' ', "").to_lowercase();
        expr == "count(*)"
    });
    if !has_count {
        draft.measure(
            "row_count",
            "count(*)",
            "rows can always be counted".to_owned(),
        );
    }
    let keys = keys(source);
    let numbers = source.columns.iter().filter(|column| {
        column.kind == ColumnType::Number
            && is_public(column)
            && !keys.contains(&column.name.to_lowercase())
    });
    for column in numbers {
        let seen = facts
            .values
            .get(&column.name)
            .map_or(&[][..], Vec::as_slice);
        draft.aggregates(source, column, seen);
    }
    draft.rates(source);
    if facts.time_dimension == Declared::No {
        draft.time_dimension(source);
    }
    draft.hidden_columns(source);
    draft.suggestions
}

fn taken_names(source: &Source) -> BTreeSet<String> {
    let columns = source.columns.iter().map(|column| &column.name);
    let measures = source.measures.iter().map(|measure| &measure.name);
    let segments = source.segments.iter().map(|segment| &segment.name);
    let all = columns.chain(measures).chain(segments);
    all.map(|name| name.to_lowercase()).collect()
}

fn keys(source: &Source) -> BTreeSet<String> {
    let grain = source.grain.iter().filter(|_| source.has_declared_grain);
    let joined = source.joins.iter().flat_map(|join| &join.pairs);
    let unique = source.columns.iter().filter(|column| column.is_unique);
    grain
        .chain(&source.scanned_key)
        .chain(joined.map(|(local, _)| local))
        .chain(unique.map(|column| &column.name))
        .map(|name| name.to_lowercase())
        .collect()
}

struct Draft {
    taken: BTreeSet<String>,
    suggestions: Vec<Suggestion>,
}

impl Draft {
    fn measure(&mut self, name: &str, expr: &str, reason: String) {
        if self.taken.insert(name.to_lowercase()) {
            let (name, expr) = (name.to_owned(), expr.to_owned());
            let item = SuggestedItem::Measure { name, expr };
            self.suggestions.push(Suggestion { item, reason });
        }
    }

    fn aggregates(&mut self, source: &Source, column: &Column, seen: &[String]) {
        let name = &column.name;
        if !is_plain(name) || is_flag(seen) || names::is_technical(name) {
            return;
        }
        match meaning(source, column) {
            meant @ (Meaning::Additive | Meaning::Extent) => {
                let sum = prefixed("total", "sum", name);
                let reason = if meant == Meaning::Additive {
                    format!("the name `{name}` says an amount or a quantity")
                } else {
                    format!("the name `{name}` says how much each row has of something")
                };
                self.measure(&sum, &format!("sum({name})"), reason.clone());
                let average = prefixed("average", "mean", name);
                self.measure(&average, &format!("avg({name})"), reason);
            }
            Meaning::Level => {
                let reason =
                    format!("the values of `{name}` do not add up; their average means something");
                let average = prefixed("average", "mean", name);
                self.measure(&average, &format!("avg({name})"), reason);
            }
            Meaning::Excluded | Meaning::Unknown => {}
        }
    }

    fn rates(&mut self, source: &Source) {
        for rate in RATES {
            let sum = |part: &str| {
                let column = source.columns.iter().find(|column| {
                    column.kind == ColumnType::Number && column.name.eq_ignore_ascii_case(part)
                })?;
                is_plain(&column.name).then(|| format!("sum({})", column.name))
            };
            let (Some(numerator), Some(denominator)) = (sum(rate.numerator), sum(rate.denominator))
            else {
                continue;
            };
            let reason = format!("`{}` and `{}` are counts", rate.numerator, rate.denominator);
            self.measure(rate.name, &format!("{numerator} / {denominator}"), reason);
        }
    }

    fn time_dimension(&mut self, source: &Source) {
        let times = source
            .columns
            .iter()
            .filter(|column| is_public(column) && column.kind == ColumnType::Time);
        let ranked = times.filter_map(|column| Some((names::time_rank(&column.name)?, column)));
        if let Some((_, column)) = ranked.min_by_key(|(rank, _)| *rank) {
            let name = column.name.clone();
            let reason = "its name says best when a row happened".to_owned();
            let item = SuggestedItem::TimeDimension { name };
            self.suggestions.push(Suggestion { item, reason });
        }
    }

    fn hidden_columns(&mut self, source: &Source) {
        let keys = keys(source);
        let technical = source.columns.iter().filter(|column| {
            is_public(column)
                && names::is_technical(&column.name)
                && !keys.contains(&column.name.to_lowercase())
        });
        for column in technical {
            let name = column.name.clone();
            let reason = "a loader of data keeps its own notes in it".to_owned();
            let item = SuggestedItem::HiddenColumn { name };
            self.suggestions.push(Suggestion { item, reason });
        }
    }
}

/// A weight next to a height is that of a body.
fn meaning(source: &Source, column: &Column) -> Meaning {
    let meant = names::meaning(&column.name);
    let is_height = |other: &Column| {
        let words = names::words(&other.name);
        words.iter().any(|word| word == "height")
    };
    let is_weight = || {
        names::words(&column.name)
            .iter()
            .any(|word| word == "weight")
    };
    let is_money = |native: &str| native.to_lowercase().contains("money");
    match meant {
        Meaning::Extent if is_weight() && source.columns.iter().any(is_height) => Meaning::Level,
        Meaning::Unknown if column.native_type.as_deref().is_some_and(is_money) => {
            Meaning::Additive
        }
        meant => meant,
    }
}

fn is_public(column: &Column) -> bool {
    column.visibility == Visibility::Public
}

/// A column that contains the prefix gets the other one.
fn prefixed(prefix: &str, other: &str, column: &str) -> String {
    let says_it = names::words(column).iter().any(|word| word == prefix);
    format!("{}_{column}", if says_it { other } else { prefix })
}

fn is_plain(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_alphabetic)
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// True if all seen values are 0 or 1.
fn is_flag(seen: &[String]) -> bool {
    seen.len() > 1 && seen.iter().all(|value| value == "0" || value == "1")
}

const AUTHOR: &str = "suggested";

/// Writes an overlay. Each measure says that it was suggested.
pub fn overlay(source: &str, suggestions: &[Suggestion]) -> Result<String, serde_yaml::Error> {
    let mut overlay = wire::Overlay {
        name: source,
        column_overrides: Vec::new(),
        measures: Vec::new(),
        default_time_dimension: None,
    };
    for Suggestion { item, reason } in suggestions {
        match item {
            SuggestedItem::Measure { name, expr } => overlay.measures.push(wire::Measure {
                name,
                expr,
                description: format!("Suggested by ktx: {reason}."),
            }),
            SuggestedItem::TimeDimension { name } => {
                overlay.default_time_dimension = Some(BTreeMap::from([(AUTHOR, name.as_str())]));
            }
            SuggestedItem::HiddenColumn { name } => {
                let why = format!("Suggested by ktx: {reason}.");
                overlay.column_overrides.push(wire::ColumnOverride {
                    name,
                    visibility: Visibility::Hidden,
                    descriptions: BTreeMap::from([(AUTHOR, why)]),
                });
            }
        }
    }
    serde_yaml::to_string(&overlay)
}

mod wire {

    use std::collections::BTreeMap;

    use serde::Serialize;

    use crate::model::authored::Visibility;

    #[derive(Serialize)]
    pub(super) struct Overlay<'a> {
        pub(super) name: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub(super) column_overrides: Vec<ColumnOverride<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub(super) measures: Vec<Measure<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) default_time_dimension: Option<BTreeMap<&'static str, &'a str>>,
    }

    #[derive(Serialize)]
    pub(super) struct ColumnOverride<'a> {
        pub(super) name: &'a str,
        pub(super) visibility: Visibility,
        pub(super) descriptions: BTreeMap<&'static str, String>,
    }

    #[derive(Serialize)]
    pub(super) struct Measure<'a> {
        pub(super) name: &'a str,
        pub(super) expr: &'a str,
        pub(super) description: String,
    }
}
