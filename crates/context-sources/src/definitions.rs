//! Definitions: what a context source computes over tables, in terms that a semantic layer has. No
//! model reads them.

use serde::{Deserialize, Serialize};

use crate::facts::{TableLocation, Writer};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definitions {
    /// The tool that they come from.
    pub writer: Writer,
    /// Tables with what the source defines over them, in source order.
    pub models: Vec<Model>,
    /// What cannot be expressed.
    pub left: Vec<SkippedDefinition>,
}

/// A table with what a source defines over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// The name in the source, unique there.
    pub name: String,
    /// The table in the warehouse.
    pub table: TableLocation,
    /// The column that usually says when a row happened.
    pub time: Option<String>,
    pub columns: Vec<ComputedColumn>,
    pub joins: Vec<ModelJoin>,
    pub measures: Vec<MeasureDefinition>,
    pub segments: Vec<SegmentDefinition>,
}

/// Where a source says something: `file:line`, or the file alone.
pub type SourcePosition = String;

/// A column that an expression computes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedColumn {
    pub name: String,
    pub kind: ColumnKind,
    pub expr: Sql,
    pub description: Option<String>,
    pub spot: SourcePosition,
}

/// What a computed column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnKind {
    Text,
    Number,
    Time,
    Boolean,
}

/// A join from a model to another one, as pairs of columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelJoin {
    /// The name of the other model.
    pub to: String,
    /// The role that the other model plays here.
    pub alias: Option<String>,
    /// Columns of this model with their counterparts in the other one.
    pub pairs: Vec<ColumnPair>,
    pub cardinality: Cardinality,
    pub spot: SourcePosition,
}

/// Two columns that a join compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPair {
    pub own: String,
    pub other: String,
}

/// How many rows of the other model a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cardinality {
    ManyToOne,
    OneToMany,
    OneToOne,
}

impl Cardinality {
    /// Returns the cardinality read from the other side.
    #[must_use]
    pub const fn inverted(self) -> Self {
        match self {
            Self::ManyToOne => Self::OneToMany,
            Self::OneToMany => Self::ManyToOne,
            Self::OneToOne => Self::OneToOne,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureDefinition {
    pub name: String,
    pub formula: MeasureFormula,
    /// Predicates on the rows that it sees, AND-ed.
    pub filters: Vec<Sql>,
    pub description: Option<String>,
    /// What of the source's definition is lost, in words.
    pub lost: Vec<String>,
    pub spot: SourcePosition,
    /// Whether the source offers it by this name, or another measure needs it.
    pub purpose: Purpose,
}

/// Why a measure exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    Offered,
    /// Another measure is built on it.
    Input,
}

/// How a measure comes about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeasureFormula {
    /// An aggregate, or arithmetic over measures.
    Expression(Sql),
    /// An aggregate over the rows of the first or last moment.
    Snapshot {
        expression: Sql,
        /// The column of the moments.
        moments: String,
        at: Moment,
        /// The columns of which every combination has a moment of its own.
        per: Vec<String>,
    },
    Ratio {
        numerator: Sql,
        denominator: Sql,
    },
    /// A measure over the periods up to each one.
    Cumulative {
        measure: Sql,
        window: Window,
    },
    /// The value of a measure some units earlier.
    Earlier {
        measure: Sql,
        count: u32,
        unit: Unit,
    },
}

/// The moment whose rows count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    First,
    Last,
}

/// How far a cumulative measure looks back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    Unbounded,
    /// The last units.
    Last {
        count: u32,
        unit: Unit,
    },
    /// Since the start of a unit.
    ToDate(Unit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// Parses a unit, also in plural.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let word = text.trim().to_lowercase();
        Some(match word.strip_suffix('s').unwrap_or(&word) {
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            _ => return None,
        })
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }
}

/// A named predicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentDefinition {
    pub name: String,
    pub expr: Sql,
    pub description: Option<String>,
    pub lost: Vec<String>,
    pub spot: SourcePosition,
}

/// SQL in the dialect of the warehouse, with marked references.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sql(pub Vec<Fragment>);

/// A part of an SQL text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fragment {
    /// SQL as written; its names are columns of the own model.
    Text(String),
    /// A column, computed or not. Without a model it is of the own one.
    Column { model: Option<String>, name: String },
    /// A measure. Without a model it is of the own one.
    Measure { model: Option<String>, name: String },
}

impl Sql {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self(vec![Fragment::Text(text.into())])
    }

    pub(crate) fn column(name: impl Into<String>) -> Self {
        Self(vec![Fragment::Column {
            model: None,
            name: name.into(),
        }])
    }

    pub(crate) fn measure(model: Option<&str>, name: &str) -> Self {
        Self(vec![Fragment::Measure {
            model: model.map(str::to_owned),
            name: name.to_owned(),
        }])
    }

    /// Returns the SQL between two texts.
    pub(crate) fn between(mut self, before: &str, behind: &str) -> Self {
        self.0.insert(0, Fragment::Text(before.to_owned()));
        self.0.push(Fragment::Text(behind.to_owned()));
        self
    }

    /// Returns the column that the SQL names and nothing else.
    pub(crate) fn plain_column(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Fragment::Column { model: None, name }] => Some(name),
            _ => None,
        }
    }
}

/// A definition that is not imported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SkippedDefinition {
    pub kind: DefinitionKind,
    pub name: String,
    pub spot: SourcePosition,
    pub why: WhyLeft,
    /// The same in words, with what is in the way.
    pub reason: String,
}

/// Why a definition is not imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeft {
    /// It cannot be said exactly in the semantic layer, or only the tool can write it out.
    NotTranslated,
    /// It is over a query instead of a table.
    NotATable,
    /// No scan has found its table.
    UnknownTable,
    /// A person, another source or another definition has the name.
    Taken,
    /// The warehouse's sources do not allow it.
    NotCompiled,
    /// The semantic layer has no such things.
    NoPlace,
}

/// What is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefinitionKind {
    Measure,
    Column,
    Join,
    Segment,
    /// A question that is asked again by its name.
    SavedQuery,
}

impl DefinitionKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measure => "measure",
            Self::Column => "column",
            Self::Join => "join",
            Self::Segment => "segment",
            Self::SavedQuery => "saved query",
        }
    }
}

/// Returns `file:line` of the first line after a top-level key that names something under `name:`,
/// or the file.
pub(crate) fn spot_of(path: &str, text: &str, section: &str, name: &str) -> SourcePosition {
    let is_it = |line: &str| {
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("name:") {
            let is_key = before.is_empty() || before.ends_with([' ', '{', ',', '-']);
            let end = behind.find([',', '}']).unwrap_or(behind.len());
            let value = behind.get(..end).unwrap_or(behind).trim();
            if is_key && value.trim_matches(['"', '\'']) == name {
                return true;
            }
            rest = behind;
        }
        false
    };
    let begins = |line: &str| {
        let rest = line.strip_prefix(section);
        rest.is_some_and(|rest| rest.starts_with(':'))
    };
    let begin = text.lines().position(begins).unwrap_or_default();
    match text.lines().skip(begin).position(is_it) {
        Some(at) => format!("{path}:{}", begin + at + 1),
        None => path.to_owned(),
    }
}
