//! Formulas of measures other than plain expressions: ratios, windows, comparisons, snapshots.

use std::fmt;

use crate::model::authored::{self, At, ComparedAs};
use crate::model::granularity::Granularity;

/// The way in which a measure is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    /// The measure's own `expr`.
    Expression,
    /// One measure over another, after aggregation; NULL if the divisor is zero.
    Ratio {
        /// The dividend measure.
        numerator: String,
        /// The divisor measure.
        denominator: String,
    },
    /// A measure over the periods that end with each one.
    Cumulative {
        /// The accumulated measure.
        measure: String,
        /// How far back the window reaches.
        window: Window,
    },
    /// A measure compared with its value some time earlier.
    Compare {
        /// The compared measure.
        measure: String,
        /// Where the other value is.
        offset: Offset,
        /// The result of the comparison.
        answer: Comparison,
    },
}

/// The period that a comparison looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// The period some units earlier.
    Units {
        /// The number of units; at least 1.
        count: u32,
        /// The unit.
        unit: Granularity,
    },
    /// The first period of the unit that contains the period.
    ToStart(Granularity),
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units { count, unit } => write!(f, "{count} {} earlier", unit.name()),
            Self::ToStart(unit) => write!(f, "at the start of the {}", unit.name()),
        }
    }
}

/// How far a cumulative measure looks back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// To the earliest rows.
    Unbounded,
    /// A number of units that end with the period.
    Last {
        /// The number of units; at least 1.
        count: u32,
        /// The unit.
        unit: Granularity,
    },
    /// To the start of the unit that contains the period.
    ToDate(Granularity),
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The earlier value.
    Value,
    /// The value minus the earlier one.
    Difference,
    /// The value divided by the earlier one.
    Ratio,
}

impl Comparison {
    /// The name in source files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Difference => "difference",
            Self::Ratio => "ratio",
        }
    }
}

/// The moment whose rows an aggregate uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The column whose values are the moments.
    pub dimension: String,
    /// Which moment of each group.
    pub at: Moment,
    /// The columns whose combinations each have their own moment; absent means the source's grain
    /// without the dimension.
    pub per: Option<Vec<String>>,
}

/// The first or the last moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The earliest.
    First,
    /// The latest.
    Last,
}

impl Moment {
    /// The name in source files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbounded => f.write_str("unbounded"),
            Self::Last { count, unit } => write!(f, "{count} {}", unit.name()),
            Self::ToDate(unit) => write!(f, "{} to date", unit.name()),
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at.name(), self.dimension)?;
        match &self.per {
            Some(per) => write!(f, " per {}", per.join(", ")),
            None => Ok(()),
        }
    }
}

impl Formula {
    /// Converts a measure from a source file to its formula and text: the expression, or a
    /// description of the formula.
    pub(crate) fn of(written: &authored::Measure) -> (Self, String) {
        let formula = if let Some(ratio) = &written.ratio {
            Self::Ratio {
                numerator: ratio.numerator.clone(),
                denominator: ratio.denominator.clone(),
            }
        } else if let Some(cumulative) = &written.cumulative {
            Self::Cumulative {
                measure: cumulative.measure.clone(),
                window: cumulative
                    .window
                    .as_ref()
                    .map_or(Window::Unbounded, Window::of),
            }
        } else if let Some(compare) = &written.compare {
            Self::Compare {
                measure: compare.measure.clone(),
                offset: match (compare.offset_to_grain, compare.unit) {
                    (Some(unit), _) => Offset::ToStart(unit),
                    (None, unit) => Offset::Units {
                        count: compare.offset.unwrap_or(1),
                        // Reading refuses a comparison without either.
                        unit: unit.unwrap_or(Granularity::Month),
                    },
                },
                answer: match compare.answer {
                    ComparedAs::Value => Comparison::Value,
                    ComparedAs::Difference => Comparison::Difference,
                    ComparedAs::Ratio => Comparison::Ratio,
                },
            }
        } else {
            return (Self::Expression, written.expr.clone().unwrap_or_default());
        };
        let text = formula.words();
        (formula, text)
    }

    /// The key in source files.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Expression => "expr",
            Self::Ratio { .. } => "ratio",
            Self::Cumulative { .. } => "cumulative",
            Self::Compare { .. } => "compare",
        }
    }

    /// Describes the formula in words; empty for an expression.
    fn words(&self) -> String {
        match self {
            Self::Expression => String::new(),
            Self::Ratio {
                numerator,
                denominator,
            } => format!("{numerator} over {denominator}"),
            Self::Cumulative { measure, window } => format!("{measure}, {window}"),
            Self::Compare {
                measure,
                offset,
                answer,
            } => format!("{} of {measure} and {offset}", answer.name()),
        }
    }
}

impl Window {
    fn of(written: &authored::Window) -> Self {
        let authored::Window::Record(record) = written else {
            return Self::Unbounded;
        };
        match (record.count, record.unit, record.to_date) {
            (Some(count), Some(unit), _) => Self::Last { count, unit },
            (_, _, Some(unit)) => Self::ToDate(unit),
            _ => Self::Unbounded,
        }
    }
}

impl Snapshot {
    pub(crate) fn of(written: &authored::SemiAdditive) -> Self {
        Self {
            dimension: written.dimension.clone(),
            at: match written.at {
                At::First => Moment::First,
                At::Last => Moment::Last,
            },
            per: written.per.clone(),
        }
    }
}
