//! The units of time that results are grouped by.

use serde::{Deserialize, Serialize};

/// A unit of time. Weeks start on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
}

impl Granularity {
    /// Coarsest first.
    pub const ALL: [Self; 7] = [
        Self::Year,
        Self::Quarter,
        Self::Month,
        Self::Week,
        Self::Day,
        Self::Hour,
        Self::Minute,
    ];

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

    /// True if a `longer` unit starts only where this one does: months divide years; weeks divide
    /// nothing else.
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

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name().eq_ignore_ascii_case(text.trim()))
    }
}
