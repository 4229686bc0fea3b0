//! The units of time that results are grouped by.

use serde::{Deserialize, Serialize};

/// The units of time columns. Weeks start on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    /// Calendar year.
    Year,
    /// Calendar quarter.
    Quarter,
    /// Calendar month.
    Month,
    /// Week, from Monday.
    Week,
    /// Day.
    Day,
    /// Hour.
    Hour,
    /// Minute.
    Minute,
}

impl Granularity {
    /// All units, coarsest first.
    pub const ALL: [Self; 7] = [
        Self::Year,
        Self::Quarter,
        Self::Month,
        Self::Week,
        Self::Day,
        Self::Hour,
        Self::Minute,
    ];

    /// The name in queries and result columns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Quarter => "quarter",
            Self::Month => "month",
            Self::Week => "week",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
        }
    }

    /// Returns true if a `longer` unit starts only where one of this unit starts: months make up
    /// years, but weeks make up nothing except weeks.
    pub const fn divides(self, longer: Self) -> bool {
        match self {
            Self::Year => matches!(longer, Self::Year),
            Self::Quarter => matches!(longer, Self::Year | Self::Quarter),
            Self::Month => matches!(longer, Self::Year | Self::Quarter | Self::Month),
            Self::Week => matches!(longer, Self::Week),
            Self::Day => !matches!(longer, Self::Hour | Self::Minute),
            Self::Hour => !matches!(longer, Self::Minute),
            Self::Minute => true,
        }
    }

    /// Parses a unit name in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name().eq_ignore_ascii_case(text.trim()))
    }
}
