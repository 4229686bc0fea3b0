//! Formulas of measures: ratios, windows, comparisons, snapshots.

use std::fmt;

use crate::model::authored::{self, At, ComparedAs};
use crate::model::granularity::Granularity;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    Expression,
    /// Divides after aggregation; NULL for a zero divisor.
    Ratio {
        numerator: String,
        denominator: String,
    },
    /// A measure over the periods that end with each one.
    Cumulative {
        measure: String,
        window: Window,
    },
    Compare {
        measure: String,
        offset: Offset,
        answer: Comparison,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// At least 1 unit earlier.
    Units { count: u32, unit: Granularity },
    /// The first period of the containing unit.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    Unbounded,
    /// At least 1 unit, ending with the period.
    Last {
        count: u32,
        unit: Granularity,
    },
    /// To the start of the unit that contains the period.
    ToDate(Granularity),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Value,
    Difference,
    Ratio,
}

impl Comparison {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Difference => "difference",
            Self::Ratio => "ratio",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub dimension: String,
    pub at: Moment,
    /// Each combination has its own moment; absent means the grain without the dimension.
    pub per: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    First,
    Last,
}

impl Moment {
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
                        // The parser refuses a comparison without either.
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

    pub const fn key(&self) -> &'static str {
        match self {
            Self::Expression => "expr",
            Self::Ratio { .. } => "ratio",
            Self::Cumulative { .. } => "cumulative",
            Self::Compare { .. } => "compare",
        }
    }

    /// Empty for an expression.
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
