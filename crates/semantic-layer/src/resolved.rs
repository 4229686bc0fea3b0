//! Sources as the planner sees them: typed, joined by parsed conditions, every name in place.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::authored::{Relationship, Role, Visibility};
use crate::formula::{Formula, Snapshot};
use crate::{ColumnType, ErrorKind, Granularity};

/// Where a source's rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// A table or view by its dotted name, as written.
    Table(String),
    /// A query of the warehouse.
    Sql(String),
}

/// Where a source is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In a file of its own.
    Standalone,
    /// In a manifest shard only.
    Manifest,
    /// In a manifest shard, with additions in a file.
    Overlay,
}

/// One column of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in queries and, without `expr`, in the warehouse.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// What it is for.
    pub role: Role,
    /// Who may use it.
    pub visibility: Visibility,
    /// The expression of a computed column, over the source's own columns.
    pub expr: Option<String>,
    /// The best description.
    pub description: Option<String>,
    /// The type as the warehouse calls it, when a scan has told.
    pub native_type: Option<String>,
    /// The unit in which times come, when the file says so.
    pub natural_granularity: Option<Granularity>,
    /// Whether its constraints or tests say that no value stands in it twice.
    pub is_unique: bool,
}

/// One declared join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The source joined to.
    pub to: String,
    /// The role's name, when the join has one.
    pub alias: Option<String>,
    /// How many rows belong together, read from this source.
    pub relationship: Relationship,
    /// The condition as written.
    pub on: String,
    /// Pairs of local and target column names.
    pub pairs: Vec<(String, String)>,
    /// Who says so.
    pub said_by: SaidBy,
    /// How many of a hundred rows of this source find a row there, as a scan has measured it; 100 where
    /// nothing was measured.
    pub coverage: u8,
}

/// Who says that a join finds as many rows as it is declared to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SaidBy {
    /// The author of a file.
    Author,
    /// A scan: the warehouse declares the key, or its values were counted.
    Scan,
}

/// One predefined measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The name in queries.
    pub name: String,
    /// How it comes about.
    pub formula: Formula,
    /// An aggregate, or arithmetic over other measures; of every other formula a text in words.
    pub expr: String,
    /// Of which moment's rows its aggregates are, when not of all.
    pub snapshot: Option<Snapshot>,
    /// A predicate for this measure only.
    pub filter: Option<String>,
    /// Names of the source's own segments, AND-ed to the filter.
    pub segments: Vec<String>,
    /// For people.
    pub description: Option<String>,
}

/// One named predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The name in queries, after the source's.
    pub name: String,
    /// The predicate.
    pub expr: String,
    /// For people.
    pub description: Option<String>,
}

/// One semantic source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name: identity of the source within its connection.
    pub name: String,
    /// The file that declares it, with `#entry` for manifest entries.
    pub path: String,
    /// Where it is written down.
    pub origin: Origin,
    /// Where its rows come from.
    pub relation: Relation,
    /// The columns that tell its rows apart.
    pub grain: Vec<String>,
    /// Whether anybody has said so: a scanned table without a key is taken to need all its columns.
    pub has_declared_grain: bool,
    /// The primary key of the scanned table behind it; empty where none is known.
    pub scanned_key: Vec<String>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its own joins.
    pub joins: Vec<Join>,
    /// Its measures, in order.
    pub measures: Vec<Measure>,
    /// Its segments, in order.
    pub segments: Vec<Segment>,
    /// Texts by who wrote them.
    pub descriptions: BTreeMap<String, String>,
    /// What is wrong with it, when something is: queries that need it are refused with this.
    pub problem: Option<(ErrorKind, String)>,
    /// Where `measures` has each name.
    pub(crate) measure_places: MeasurePlaces,
}

/// The places of measures by their names in lower case. Made when first needed: a source with thousands of
/// measures that are built on one another is searched as often.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeasurePlaces(OnceLock<BTreeMap<String, Vec<usize>>>);

impl MeasurePlaces {
    fn of(&self, measures: &[Measure], name: &str) -> Option<&[usize]> {
        let places = self.0.get_or_init(|| {
            let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, measure) in measures.iter().enumerate() {
                let name = measure.name.to_ascii_lowercase();
                places.entry(name).or_default().push(place);
            }
            places
        });
        places.get(&name.to_ascii_lowercase()).map(Vec::as_slice)
    }
}

/// They follow from the measures.
impl PartialEq for MeasurePlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for MeasurePlaces {}

/// The description shown when several people wrote one.
pub(crate) fn best_description(descriptions: &BTreeMap<String, String>) -> Option<String> {
    let filled = |text: &&String| !text.trim().is_empty();
    crate::shape::WRITERS
        .iter()
        .filter_map(|key| descriptions.get(*key))
        .find(filled)
        .or_else(|| descriptions.values().find(filled))
        .cloned()
}

impl Source {
    /// The best description.
    pub fn description(&self) -> Option<String> {
        best_description(&self.descriptions)
    }

    /// Whether these columns find at most one of its rows, by all that is declared: they hold its
    /// grain, the scanned table's primary key, or a column that is unique by itself.
    pub fn is_told_apart_by(&self, columns: &[&str]) -> bool {
        let has = |name: &String| columns.iter().any(|one| one.eq_ignore_ascii_case(name));
        let holds = |key: &[String]| !key.is_empty() && key.iter().all(has);
        let is_unique = |name: &&str| {
            let column = self.column(name);
            column.is_some_and(|(_, column)| column.is_unique)
        };
        holds(&self.grain) || holds(&self.scanned_key) || columns.iter().any(is_unique)
    }

    /// Why these columns are not known to find at most one of its rows, in words.
    pub(crate) fn doubt_about(&self, columns: &[&str]) -> String {
        let columns = columns.join("`, `");
        if self.has_declared_grain {
            let (name, grain) = (&self.name, self.grain.join("`, `"));
            format!("`{columns}` of `{name}` does not hold its grain `{grain}`")
        } else {
            format!("nothing says that `{columns}` is a key of `{}`", self.name)
        }
    }

    /// The column called `name`: exactly, else the only one that differs in case.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        find_named(&self.columns, name, |column| &column.name)
    }

    /// The measure called `name`: exactly, else the only one that differs in case.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        let places = self.measure_places.of(&self.measures, name)?;
        let named = || places.iter().filter_map(|place| self.measures.get(*place));
        let exact = named().find(|measure| measure.name == name);
        exact.or_else(|| match places {
            [_] => named().next(),
            _ => None,
        })
    }

    /// The segment called `name`: exactly, else the only one that differs in case.
    pub fn segment(&self, name: &str) -> Option<&Segment> {
        find_named(&self.segments, name, |segment| &segment.name).map(|(_, segment)| segment)
    }
}

/// Finds by exact name, else by the only name that is equal when case is ignored.
fn find_named<'a, T>(
    items: &'a [T],
    wanted: &str,
    name: impl Fn(&T) -> &String,
) -> Option<(usize, &'a T)> {
    if let Some(found) = items
        .iter()
        .enumerate()
        .find(|(_, item)| name(item) == wanted)
    {
        return Some(found);
    }
    let mut loose = items
        .iter()
        .enumerate()
        .filter(|(_, item)| name(item).eq_ignore_ascii_case(wanted));
    match (loose.next(), loose.next()) {
        (Some(found), None) => Some(found),
        _ => None,
    }
}

/// The type of a warehouse's column by the name that the warehouse gives its type.
pub fn column_type(native: &str) -> ColumnType {
    let mut text = native.trim().to_ascii_lowercase();
    let unwrapped = |text: &str| {
        let inner = text
            .strip_prefix("nullable(")
            .or_else(|| text.strip_prefix("lowcardinality("));
        inner.map(|inner| inner.trim_end_matches(')').to_owned())
    };
    while let Some(inner) = unwrapped(&text) {
        text = inner;
    }
    let name = text.split('(').next().unwrap_or_default().trim();
    let name = name
        .trim_end_matches(" unsigned")
        .trim_end_matches(" identity");
    match name {
        "number" | "integer" | "bigint" | "smallint" | "numeric" | "decimal" | "float"
        | "double" | "real" | "int" | "int2" | "int4" | "int8" | "float4" | "float8"
        | "double precision" | "tinyint" | "mediumint" | "int16" | "int32" | "int64" | "int128"
        | "int256" | "uint8" | "uint16" | "uint32" | "uint64" | "uint128" | "uint256"
        | "hugeint" | "uhugeint" | "utinyint" | "usmallint" | "uinteger" | "ubigint"
        | "float32" | "float64" | "bfloat16" | "bignumeric" | "bigdecimal" | "byteint"
        | "money" | "smallmoney" | "serial" | "bigserial" | "smallserial" | "long" | "short"
        | "byte" | "dec" | "fixed" | "year" | "decimal32" | "decimal64" | "decimal128"
        | "decimal256" | "oid" => ColumnType::Number,
        "time" | "timestamp" | "timestamptz" | "timestamp_ntz" | "timestamp_ltz"
        | "timestamp_tz" | "datetime" | "date" | "timetz" | "datetime2" | "datetimeoffset"
        | "smalldatetime" | "date32" | "datetime64" | "timestamp_s" | "timestamp_ms"
        | "timestamp_ns" | "time64" => ColumnType::Time,
        "boolean" | "bool" | "bit" => ColumnType::Boolean,
        name if name.starts_with("timestamp ") || name.starts_with("time ") => ColumnType::Time,
        _ => match text.as_str() {
            text if text.ends_with("with time zone") || text.ends_with("without time zone") => {
                ColumnType::Time
            }
            _ => ColumnType::String,
        },
    }
}

#[cfg(test)]
mod tests;
