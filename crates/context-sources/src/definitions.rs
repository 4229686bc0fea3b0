//! Definitions: what a context source computes over tables, in terms of a semantic layer.

use serde::{Deserialize, Serialize};

use crate::facts::{TableLocation, Writer};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definitions {
    pub writer: Writer,
    pub models: Vec<Model>,
    pub left: Vec<SkippedDefinition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    pub table: TableLocation,
    pub time: Option<String>,
    pub columns: Vec<ComputedColumn>,
    pub joins: Vec<ModelJoin>,
    pub measures: Vec<MeasureDefinition>,
    pub segments: Vec<SegmentDefinition>,
}

/// Where a source says something: `file:line`, or the file alone.
pub type SourcePosition = String;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedColumn {
    pub name: String,
    pub kind: ColumnKind,
    pub expr: Sql,
    pub description: Option<String>,
    pub spot: SourcePosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnKind {
    Text,
    Number,
    Time,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelJoin {
    pub to: String,
    pub alias: Option<String>,
    pub pairs: Vec<ColumnPair>,
    pub cardinality: Cardinality,
    pub spot: SourcePosition,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPair {
    pub own: String,
    pub other: String,
}

/// Number of rows of the other model for each row of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cardinality {
    ManyToOne,
    OneToMany,
    OneToOne,
}

impl Cardinality {
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
    /// Whether only another measure needs it.
    pub purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    Offered,
    Input,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeasureFormula {
    Expression(Sql),
    /// An aggregate over the rows of the first or last moment.
    Snapshot {
        expression: Sql,
        moments: String,
        at: Moment,
        /// The columns of which every combination has a moment of its own.
        per: Vec<String>,
    },
    Ratio {
        numerator: Sql,
        denominator: Sql,
    },
    /// A measure accumulated up to each period.
    Cumulative {
        measure: Sql,
        window: Window,
    },
    Earlier {
        measure: Sql,
        count: u32,
        unit: Unit,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    First,
    Last,
}

/// How far a cumulative measure looks back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    Unbounded,
    Last { count: u32, unit: Unit },
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fragment {
    Text(String),
    /// Without a model, a column of the own one.
    Column {
        model: Option<String>,
        name: String,
    },
    /// Without a model, a measure of the own one.
    Measure {
        model: Option<String>,
        name: String,
    },
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

    pub(crate) fn between(mut self, before: &str, behind: &str) -> Self {
        self.0.insert(0, Fragment::Text(before.to_owned()));
        self.0.push(Fragment::Text(behind.to_owned()));
        self
    }

    pub(crate) fn plain_column(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Fragment::Column { model: None, name }] => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SkippedDefinition {
    pub kind: DefinitionKind,
    pub name: String,
    pub spot: SourcePosition,
    pub why: WhyLeft,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeft {
    /// Not exactly expressible, or only the tool can evaluate it.
    NotTranslated,
    NotATable,
    /// No scan has found its table.
    UnknownTable,
    /// A person, another source or another definition uses the name.
    Taken,
    NotCompiled,
    NoPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefinitionKind {
    Measure,
    Column,
    Join,
    Segment,
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

/// Returns `file:line` of the first line after a top-level key that has the name under `name:`, or
/// the file.
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
