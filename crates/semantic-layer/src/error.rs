//! What can be wrong with a source, a query or a folder: kinds, messages, candidates.

use ktx_diagnostics::{Code, Hint, Hints};
use serde::Serialize;

/// Declares the kinds: the codes that this crate can give.
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

            /// The code of failures and findings of this kind.
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

/// Why a query was refused: enough to repair it in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// The stable kind.
    pub kind: ErrorKind,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
    /// The piece of the request or source that is at fault, verbatim.
    pub offending: Option<String>,
    /// What could stand there instead, most likely first.
    pub suggestions: Vec<String>,
}

impl QueryError {
    /// Makes an error of `kind` without an offending text.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            offending: None,
            suggestions: Vec::new(),
        }
    }

    /// Names the text at fault.
    pub(crate) fn about(mut self, offending: impl Into<String>) -> Self {
        self.offending = Some(offending.into());
        self
    }

    /// Adds what could stand there instead.
    pub(crate) fn suggest<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.suggestions.extend(texts.into_iter().map(Into::into));
        self
    }
}

impl Hints for QueryError {
    fn hints(&self) -> Vec<Hint> {
        self.suggestions
            .iter()
            .map(|text| Hint::new(format!("try `{text}`")))
            .collect()
    }
}
