//! Sources for the planner: typed, with parsed join conditions and resolved names.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::model::authored::{ColumnType, Relationship, Role, Visibility};
use crate::model::error::ErrorKind;
use crate::model::formula::{Formula, Snapshot};
use crate::model::granularity::Granularity;

/// The origin of a source's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// A table or view by its dotted name, as written.
    Table(String),
    /// A SQL query for the warehouse.
    Sql(String),
}

/// Where a source is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In its own file.
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
    /// The type of its values.
    pub kind: ColumnType,
    /// The role.
    pub role: Role,
    /// Where it may be used.
    pub visibility: Visibility,
    /// The expression of a computed column, over the source's own columns.
    pub expr: Option<String>,
    /// The description with the highest priority.
    pub description: Option<String>,
    /// The warehouse's type name, if scanned.
    pub native_type: Option<String>,
    /// The granularity of its times, if declared.
    pub natural_granularity: Option<Granularity>,
    /// True if its constraints or tests declare it unique.
    pub is_unique: bool,
    /// True if the warehouse never leaves it without a value.
    pub is_required: bool,
}

/// One declared join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The source joined to.
    pub to: String,
    /// The role's name, if the join has one.
    pub alias: Option<String>,
    /// The cardinality, read from this source.
    pub relationship: Relationship,
    /// The condition as written.
    pub on: String,
    /// Pairs of local and target column names.
    pub pairs: Vec<(String, String)>,
    /// Where it is from.
    pub origin: JoinOrigin,
    /// The part of a row that belongs to each of several groups, over this source's columns.
    pub weight: Option<String>,
    /// What a scan has counted of this source's rows.
    pub counted: Counted,
}

/// What a scan has counted of the rows from which a join is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counted {
    /// The percentage of the rows with a key that find a match; `None` if it was not counted.
    pub coverage: Option<u8>,
    /// True if no row lacks the key.
    pub is_keyed: bool,
}

impl Counted {
    /// The percentage of the rows with a key that find a match; a join that was not counted counts as complete.
    pub(crate) fn percent(self) -> u8 {
        self.coverage.unwrap_or(Self::ALL)
    }

    /// The coverage of a join of which every row with a key has a match.
    pub(crate) const ALL: u8 = 100;

    /// What two readings of one join say together.
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

/// Where a join is from, the most trusted first.
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
    /// A person or another tool wrote it.
    Written,
    /// A scan found it, and a person or a context source confirms it.
    Confirmed,
    /// A scan inferred it from values, and past queries use it.
    Queried,
    /// A scan inferred it from values and names.
    Measured,
    /// A scan inferred it from names alone.
    Named,
}

/// How far a path of joins is trusted, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Trust {
    /// The warehouse, a person or a context source declares each join.
    #[default]
    Declared,
    /// Past queries use what nothing declares.
    Queried,
    /// A join is inferred from values.
    Measured,
    /// A join is inferred from names.
    Named,
}

impl JoinOrigin {
    /// Returns true if a scan wrote the join.
    pub const fn is_scanned(self) -> bool {
        !matches!(self, Self::Written)
    }

    /// Returns true if a scan found the join and the warehouse does not declare it.
    pub const fn is_inferred(self) -> bool {
        !matches!(self, Self::Declared | Self::Written)
    }

    /// Returns how far a path over the join is trusted.
    pub const fn trust(self) -> Trust {
        match self {
            Self::Declared | Self::Written | Self::Confirmed => Trust::Declared,
            Self::Queried => Trust::Queried,
            Self::Measured => Trust::Measured,
            Self::Named => Trust::Named,
        }
    }
}

/// One predefined measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The name in queries.
    pub name: String,
    /// How it is computed.
    pub formula: Formula,
    /// An aggregate, or arithmetic over other measures; for other formulas a description in words.
    pub expr: String,
    /// The moment whose rows its aggregates use, if not all.
    pub snapshot: Option<Snapshot>,
    /// A predicate for this measure only.
    pub filter: Option<String>,
    /// Names of the source's own segments, AND-ed to the filter.
    pub segments: Vec<String>,
    /// The description for display.
    pub description: Option<String>,
}

/// One named predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The name in queries, after the source's.
    pub name: String,
    /// The predicate.
    pub expr: String,
    /// The description for display.
    pub description: Option<String>,
}

/// One semantic source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name, which identifies the source within its connection.
    pub name: String,
    /// The file that declares it, with `#entry` for manifest entries.
    pub path: String,
    /// Where it is declared.
    pub origin: Origin,
    /// The origin of its rows.
    pub relation: Relation,
    /// The columns that identify its rows.
    pub grain: Vec<String>,
    /// True if the grain is declared. A scanned table without a key is assumed to need all its
    /// columns.
    pub has_declared_grain: bool,
    /// The primary key of the underlying scanned table; empty if unknown.
    pub scanned_key: Vec<String>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its own joins.
    pub joins: Vec<Join>,
    /// Its measures, in order.
    pub measures: Vec<Measure>,
    /// Its segments, in order.
    pub segments: Vec<Segment>,
    /// Descriptions by author.
    pub descriptions: BTreeMap<String, String>,
    /// The problem of the source, if any: queries that need it are refused with this error.
    pub problem: Option<(ErrorKind, String)>,
    pub(crate) measure_places: MeasurePlaces,
}

/// The positions of measures by lower-case name. Built on first use: a source with thousands of
/// measures built on one another is searched thousands of times.
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

/// Always equal, because positions follow from the measures.
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
    /// Returns the description with the highest priority.
    pub fn description(&self) -> Option<String> {
        best_description(&self.descriptions)
    }

    /// Returns true if these columns find at most one of its rows, according to the declarations:
    /// they include its grain, the scanned table's primary key, or a unique column.
    pub fn is_told_apart_by(&self, columns: &[&str]) -> bool {
        let has = |name: &String| columns.iter().any(|one| one.eq_ignore_ascii_case(name));
        let holds = |key: &[String]| !key.is_empty() && key.iter().all(has);
        let is_unique = |name: &&str| {
            let column = self.column(name);
            column.is_some_and(|(_, column)| column.is_unique)
        };
        holds(&self.grain) || holds(&self.scanned_key) || columns.iter().any(is_unique)
    }

    /// Explains why these columns are not known to find at most one of its rows.
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

    /// Finds a measure by exact name, else by the only name that differs in case.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        let places = self.measure_places.of(&self.measures, name)?;
        let named = || places.iter().filter_map(|place| self.measures.get(*place));
        let exact = named().find(|measure| measure.name == name);
        exact.or_else(|| match places {
            [_] => named().next(),
            _ => None,
        })
    }

    /// Finds a segment by exact name, else by the only name that differs in case.
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

/// Returns the column type for a warehouse's type name.
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
