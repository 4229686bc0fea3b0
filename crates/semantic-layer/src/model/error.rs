//! Errors of sources, queries and folders: kinds, messages, suggestions.

use ktx_diagnostics::{Code, Failure, Hint, Hints, MAX_CANDIDATES, shortened};
use serde::Serialize;

macro_rules! error_kinds {
    ($($variant:ident),+ $(,)?) => {
        /// The stable kind of a refusal or finding; part of the result contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind {
            $(#[doc = concat!("See [`Code::", stringify!($variant), "`].")] $variant,)+
        }

        impl ErrorKind {
            /// All kinds, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code for failures and findings of this kind.
            pub const fn code(self) -> Code {
                match self {
                    $(Self::$variant => Code::$variant,)+
                }
            }

            /// The name in answers, such as `unknown_measure`.
            pub const fn as_str(self) -> &'static str {
                self.code().as_str()
            }
        }
    };
}

error_kinds! {
    InvalidQuery,
    ParseError,
    UnknownDialect,
    UnknownSource,
    UnknownColumn,
    UnknownMeasure,
    UnknownSegment,
    NotAMeasure,
    NotADimension,
    NotAdditive,
    AmbiguousMeasure,
    AmbiguousColumn,
    NoSource,
    HiddenColumn,
    UnqualifiedColumn,
    SubqueryNotAllowed,
    NestedAggregate,
    WindowFunction,
    CircularMeasure,
    MultiSourceMeasure,
    MultiGrainMeasure,
    NoJoinPath,
    AmbiguousJoinPath,
    Fanout,
    AsymmetricDimensions,
    FilterFanout,
    FilterUnreachable,
    MixedOrFilter,
    TotalFilter,
    SegmentNotQualified,
    SegmentNoMeasure,
    BadGranularity,
    NotATimeColumn,
    NoTimeDimension,
    AmbiguousTimeDimension,
    BadWindow,
    MixedTimeFilter,
    UnboundedFill,
    FillTooLong,
    BadSnapshot,
    UnknownOrderField,
    InvalidSource,
    DuplicateSource,
    OrphanJoinTarget,
    InvalidJoinCondition,
    InvalidOverlay,
    GrainNotInColumns,
    GrainQualified,
    GrainNotProjected,
    ColumnQualified,
    JoinLocalColumn,
    JoinTargetColumn,
    DisplayValueJoin,
    UndeclaredSqlJoin,
    DuplicateAlias,
    DuplicateMeasureName,
    DuplicateMeasureExpr,
    DisconnectedComponents,
    SingletonComponent,
    AmbiguousJoin,
    UnprovenJoin,
    ContradictoryJoin,
    ReplacedJoin,
    ColumnLeftOut,
    UnmatchedOverlay,
    UnmatchedManifestJoin,
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason for a refused query, with enough detail to repair it in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// The stable kind.
    pub kind: ErrorKind,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
    /// The offending part of the request or source, verbatim.
    pub offending: Option<String>,
    /// Possible replacements, most likely first.
    pub suggestions: Vec<String>,
    /// What to ask instead.
    #[serde(skip)]
    pub remedy: Box<Remedy>,
}

/// What to ask instead of a refused query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remedy {
    /// Names with which the query would be clear.
    pub(crate) renamings: Vec<Renaming>,
    /// Ways that a query can name for its dimensions.
    pub(crate) ways: Vec<Way>,
    /// True if the query can be answered with each row counted in every group that it belongs to.
    pub(crate) is_crossable: bool,
    /// The place of a dimension without which the query can be answered.
    pub(crate) without: Option<usize>,
    /// Whole queries in the JSON form that compile and answer what the query may mean.
    pub queries: Vec<serde_json::Value>,
}

/// A name in a query and the one to write in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Renaming {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The sources through which a query could reach another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) to: String,
    pub(crate) through: Vec<String>,
}

impl QueryError {
    /// Creates an error without an offending text.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            offending: None,
            suggestions: Vec::new(),
            remedy: Box::default(),
        }
    }

    pub(crate) fn about(mut self, offending: impl Into<String>) -> Self {
        self.offending = Some(offending.into());
        self
    }

    pub(crate) fn suggest<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.suggestions.extend(texts.into_iter().map(Into::into));
        self
    }
}

impl Hints for QueryError {
    /// Returns the replacements; none if whole queries say more.
    fn hints(&self) -> Vec<Hint> {
        if !self.remedy.queries.is_empty() {
            return Vec::new();
        }
        let each = self.suggestions.iter();
        each.map(|text| Hint::new(format!("try `{text}`")))
            .collect()
    }
}

/// Bytes of a hint that repeats a part of a query; a longer one cannot be cut and still be followed.
const LONGEST_HINT: usize = 2_000;

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let usable = |hint: &Hint| hint.as_str().len() <= LONGEST_HINT;
        let hints = error.hints().into_iter().filter(usable);
        let mut failure = Self {
            hints: hints.take(MAX_CANDIDATES).collect(),
            ..Self::new(error.kind.code(), shortened(&error.message))
        };
        failure.detail.requests = error
            .remedy
            .queries
            .iter()
            .map(ToString::to_string)
            .collect();
        failure
    }
}
