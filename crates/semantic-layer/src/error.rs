//! What can be wrong with a source, a query or a folder: kinds, messages, candidates.

use ktx_diagnostics::{Hint, Hints};
use serde::Serialize;

/// Declares the error kinds with their stable names.
macro_rules! error_kinds {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The stable kind of a refusal or finding; part of the result contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl ErrorKind {
            /// All kinds, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in answers, such as `unknown_measure`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

error_kinds! {
    InvalidQuery = "invalid_query",
    ParseError = "parse_error",
    UnknownDialect = "unknown_dialect",
    UnknownSource = "unknown_source",
    UnknownColumn = "unknown_column",
    UnknownMeasure = "unknown_measure",
    UnknownSegment = "unknown_segment",
    NotAMeasure = "not_a_measure",
    NotADimension = "not_a_dimension",
    AmbiguousMeasure = "ambiguous_measure",
    AmbiguousColumn = "ambiguous_column",
    NoSource = "no_source",
    HiddenColumn = "hidden_column",
    UnqualifiedColumn = "unqualified_column",
    SubqueryNotAllowed = "subquery_not_allowed",
    NestedAggregate = "nested_aggregate",
    WindowFunction = "window_function",
    CircularMeasure = "circular_measure",
    MultiSourceMeasure = "multi_source_measure",
    MultiGrainMeasure = "multi_grain_measure",
    NoJoinPath = "no_join_path",
    AmbiguousJoinPath = "ambiguous_join_path",
    Fanout = "fanout",
    AsymmetricDimensions = "asymmetric_dimensions",
    FilterFanout = "filter_fanout",
    FilterUnreachable = "filter_unreachable",
    MixedOrFilter = "mixed_or_filter",
    TotalFilter = "total_filter",
    SegmentNotQualified = "segment_not_qualified",
    SegmentNoMeasure = "segment_no_measure",
    BadGranularity = "bad_granularity",
    NotATimeColumn = "not_a_time_column",
    NoTimeDimension = "no_time_dimension",
    AmbiguousTimeDimension = "ambiguous_time_dimension",
    BadWindow = "bad_window",
    MixedTimeFilter = "mixed_time_filter",
    UnboundedFill = "unbounded_fill",
    FillTooLong = "fill_too_long",
    BadSnapshot = "bad_snapshot",
    UnknownOrderField = "unknown_order_field",
    InvalidSource = "invalid_source",
    DuplicateSource = "duplicate_source",
    OrphanJoinTarget = "orphan_join_target",
    InvalidJoinCondition = "invalid_join_condition",
    InvalidOverlay = "invalid_overlay",
    GrainNotInColumns = "grain_not_in_columns",
    GrainQualified = "grain_qualified",
    GrainNotProjected = "grain_not_projected",
    ColumnQualified = "column_qualified",
    JoinLocalColumn = "join_local_column",
    JoinTargetColumn = "join_target_column",
    DisplayValueJoin = "display_value_join",
    UndeclaredSqlJoin = "undeclared_sql_join",
    DuplicateAlias = "duplicate_alias",
    DuplicateMeasureName = "duplicate_measure_name",
    DuplicateMeasureExpr = "duplicate_measure_expr",
    DisconnectedComponents = "disconnected_components",
    SingletonComponent = "singleton_component",
    AmbiguousJoin = "ambiguous_join",
    UnprovenJoin = "unproven_join",
    ContradictoryJoin = "contradictory_join",
    ReplacedJoin = "replaced_join",
    ColumnLeftOut = "column_left_out",
    UnmatchedOverlay = "unmatched_overlay",
    UnmatchedManifestJoin = "unmatched_manifest_join",
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
