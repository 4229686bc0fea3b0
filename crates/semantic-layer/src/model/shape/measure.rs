//! The keys of measures.

use super::{Holds, Record, optional, required};
use crate::model::authored::UNBOUNDED;

const UNITS: Holds = Holds::Choice(&["year", "quarter", "month", "week", "day", "hour", "minute"]);

/// Exactly one of [`FORMS`].
pub(crate) const MEASURE: Record = Record {
    name: "measure",
    about: "One measure; exactly one of `expr`, `ratio`, `cumulative` and `compare` says how it comes about.",
    keys: &[
        required("name", Holds::Text, "The name in queries."),
        optional(
            "expr",
            Holds::Text,
            "An aggregate over columns, or arithmetic over other measures of the source.",
        ),
        optional(
            "ratio",
            Holds::Record(&RATIO),
            "One measure over another, divided after aggregation; NULL where the divisor is zero.",
        ),
        optional(
            "cumulative",
            Holds::Record(&CUMULATIVE),
            "A measure over the periods up to each one; the query needs a time dimension with a granularity.",
        ),
        optional(
            "compare",
            Holds::Record(&COMPARE),
            "A measure beside itself some time earlier; the query needs a time dimension with a granularity.",
        ),
        optional(
            "semi_additive",
            Holds::Record(&SEMI_ADDITIVE),
            "Beside `expr`: only the rows of the first or last moment of each group count, as for balances.",
        ),
        optional(
            "filter",
            Holds::Text,
            "A predicate on the rows that this measure sees.",
        ),
        optional(
            "segments",
            Holds::Texts,
            "Segments of the source, by their bare names, AND-ed to the filter.",
        ),
        optional("description", Holds::Text, "What it says."),
    ],
};

pub(super) const FORMS: [&str; 4] = ["expr", "ratio", "cumulative", "compare"];

const MEASURE_TEXT: &str =
    "A measure of this source by its name, of another one as `source.measure`, or an aggregate.";

pub(super) const RATIO: Record = Record {
    name: "ratio",
    about: "One measure over another.",
    keys: &[
        required("numerator", Holds::Text, MEASURE_TEXT),
        required("denominator", Holds::Text, MEASURE_TEXT),
    ],
};

pub(super) const CUMULATIVE: Record = Record {
    name: "cumulative",
    about: "A measure over the periods up to each one.",
    keys: &[
        required("measure", Holds::Text, MEASURE_TEXT),
        optional(
            "window",
            Holds::WordOr(UNBOUNDED, &WINDOW),
            "How far back: `unbounded` (also when left out), the last N units, or since the start of a unit.",
        ),
    ],
};

pub(super) const WINDOW: Record = Record {
    name: "window",
    about: "A window with a beginning: `count` and `unit`, or `to_date`.",
    keys: &[
        optional("count", Holds::Count, "How many units, at most 1000."),
        optional("unit", UNITS, "The unit that `count` counts."),
        optional(
            "to_date",
            UNITS,
            "The unit at whose start the total restarts, such as `year`.",
        ),
    ],
};

pub(super) const COMPARE: Record = Record {
    name: "compare",
    about: "A measure beside itself some time earlier: `unit`, or `offset_to_grain`.",
    keys: &[
        required("measure", Holds::Text, MEASURE_TEXT),
        optional(
            "offset",
            Holds::Count,
            "How many units earlier, at most 1000; 1 when left out.",
        ),
        optional("unit", UNITS, "The unit that `offset` counts."),
        optional(
            "offset_to_grain",
            UNITS,
            "In place of `unit`: the value of the first period of this unit, such as January's in a `year`.",
        ),
        required(
            "as",
            Holds::Choice(&["value", "difference", "ratio"]),
            "The earlier value, the value less the earlier one, or the value over the earlier one.",
        ),
    ],
};

pub(super) const SEMI_ADDITIVE: Record = Record {
    name: "semi_additive",
    about: "Which moment's rows count.",
    keys: &[
        required(
            "dimension",
            Holds::Text,
            "The column that tells the moments apart, such as `day`.",
        ),
        required(
            "at",
            Holds::Choice(&["last", "first"]),
            "The last or the first moment of those in a group that have a value.",
        ),
        optional(
            "per",
            Holds::Texts,
            "The columns of which every combination has a moment of its own; the rest of the grain when left out.",
        ),
    ],
};
