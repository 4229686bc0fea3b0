//! Sources for the planner: typed, with resolved names and joins.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::model::authored::{ColumnType, Relationship, Role, Visibility};
use crate::model::error::ErrorKind;
use crate::model::formula::{Formula, Snapshot};
use crate::model::granularity::Granularity;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// A dotted name, as written.
    Table(String),
    Sql(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Standalone,
    /// Only in a manifest shard.
    Manifest,
    Overlay,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: ColumnType,
    pub role: Role,
    pub visibility: Visibility,
    /// Over the source's own columns.
    pub expr: Option<String>,
    pub description: Option<String>,
    /// The warehouse's type name, if scanned.
    pub native_type: Option<String>,
    pub natural_granularity: Option<Granularity>,
    pub is_unique: bool,
    pub is_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    pub to: String,
    pub alias: Option<String>,
    /// Read from this source.
    pub relationship: Relationship,
    pub on: String,
    /// Local, then target column.
    pub pairs: Vec<(String, String)>,
    pub origin: JoinOrigin,
    /// The part of a row that belongs to each of several groups.
    pub weight: Option<String>,
    pub counted: Counted,
}

/// Counts of a scan over the rows from which a join is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counted {
    /// Percentage of rows with a key that find a match; `None` if not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<u8>,
    /// True if no row lacks the key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_keyed: bool,
}

impl Counted {
    pub(crate) fn percent(self) -> u8 {
        self.coverage.unwrap_or(Self::ALL)
    }

    /// The coverage of a complete or uncounted join.
    pub(crate) const ALL: u8 = 100;

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        let both = self.coverage.zip(other.coverage);
        Self {
            coverage: both.map_or(self.coverage.or(other.coverage), |(one, other)| {
                Some(one.min(other))
            }),
            is_keyed: self.is_keyed || other.is_keyed,
        }
    }
}

/// Most trusted first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum JoinOrigin {
    /// The warehouse declares the key.
    #[default]
    Declared,
    /// The user or another tool wrote it.
    Written,
    /// Inferred, and confirmed by the user or a context source.
    Confirmed,
    /// Inferred from values, and used by past queries.
    Queried,
    /// Inferred from values and names.
    Measured,
    /// Inferred from names alone.
    Named,
}

/// How far a path of joins is trusted, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Trust {
    #[default]
    Declared,
    Queried,
    Measured,
    Named,
}

impl JoinOrigin {
    pub const fn is_scanned(self) -> bool {
        !matches!(self, Self::Written)
    }

    /// True if a scan found it and the warehouse does not declare it.
    pub const fn is_inferred(self) -> bool {
        !matches!(self, Self::Declared | Self::Written)
    }

    pub const fn trust(self) -> Trust {
        match self {
            Self::Declared | Self::Written | Self::Confirmed => Trust::Declared,
            Self::Queried => Trust::Queried,
            Self::Measured => Trust::Measured,
            Self::Named => Trust::Named,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    pub name: String,
    pub formula: Formula,
    /// An aggregate or arithmetic over measures; for other formulas a description.
    pub expr: String,
    /// The moment whose rows it uses, if not all.
    pub snapshot: Option<Snapshot>,
    pub filter: Option<String>,
    /// The source's own segments, AND-ed to the filter.
    pub segments: Vec<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub name: String,
    pub expr: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    /// Has `#entry` for manifest entries.
    pub path: String,
    pub origin: Origin,
    pub relation: Relation,
    pub grain: Vec<String>,
    /// If not, a scanned table's grain is all its columns.
    pub has_declared_grain: bool,
    /// The scanned table's primary key; empty if unknown.
    pub scanned_key: Vec<String>,
    pub columns: Vec<Column>,
    pub joins: Vec<Join>,
    pub measures: Vec<Measure>,
    pub segments: Vec<Segment>,
    pub descriptions: BTreeMap<String, String>,
    /// Queries that need the source are refused with this error.
    pub problem: Option<(ErrorKind, String)>,
    pub(crate) measure_places: MeasurePlaces,
}

/// Built on first use: a source with thousands of nested measures is searched thousands of times.
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

/// Positions follow from the measures.
impl PartialEq for MeasurePlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for MeasurePlaces {}

pub fn best_description(descriptions: &BTreeMap<String, String>) -> Option<String> {
    let filled = |text: &&String| !text.trim().is_empty();
    crate::model::shape::WRITERS
        .iter()
        .filter_map(|key| descriptions.get(*key))
        .find(filled)
        .or_else(|| descriptions.values().find(filled))
        .cloned()
}

impl Source {
    pub fn description(&self) -> Option<String> {
        best_description(&self.descriptions)
    }

    /// Returns true if these columns include the grain, the scanned primary key, or a unique
    /// column.
    pub fn is_told_apart_by(&self, columns: &[&str]) -> bool {
        let has = |name: &String| columns.iter().any(|one| one.eq_ignore_ascii_case(name));
        let holds = |key: &[String]| !key.is_empty() && key.iter().all(has);
        let is_unique = |name: &&str| {
            let column = self.column(name);
            column.is_some_and(|(_, column)| column.is_unique)
        };
        holds(&self.grain) || holds(&self.scanned_key) || columns.iter().any(is_unique)
    }

    /// Why they may find several rows.
    pub(crate) fn doubt_about(&self, columns: &[&str]) -> String {
        let columns = columns.join("`, `");
        if self.has_declared_grain {
            let (name, grain) = (&self.name, self.grain.join("`, `"));
            format!("`{columns}` of `{name}` does not hold its grain `{grain}`")
        } else {
            format!("nothing says that `{columns}` is a key of `{}`", self.name)
        }
    }

    /// Finds a column by exact name, else by the only name that differs in case.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        find_named(&self.columns, name, |column| &column.name)
    }

    /// Like [`Self::column`].
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        let places = self.measure_places.of(&self.measures, name)?;
        let named = || places.iter().filter_map(|place| self.measures.get(*place));
        let exact = named().find(|measure| measure.name == name);
        exact.or_else(|| match places {
            [_] => named().next(),
            _ => None,
        })
    }

    /// Like [`Self::column`].
    pub fn segment(&self, name: &str) -> Option<&Segment> {
        find_named(&self.segments, name, |segment| &segment.name).map(|(_, segment)| segment)
    }
}

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
