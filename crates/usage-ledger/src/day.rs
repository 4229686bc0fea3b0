//! A day of the user's calendar: the period of a budget.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    begins: Zoned,
    ends: Zoned,
}

impl Day {
    pub fn of(now: Timestamp, zone: TimeZone) -> Self {
        let now = now.to_zoned(zone);
        let begins = now.start_of_day();
        let ends = now.tomorrow().and_then(|next| next.start_of_day());
        Self {
            begins: begins.unwrap_or_else(|_| now.clone()),
            ends: ends.unwrap_or(now),
        }
    }

    /// UTC without fraction and zone, which sorts with times in the ledger.
    pub fn since(&self) -> String {
        let utc = self.begins.timestamp().to_zoned(TimeZone::UTC);
        utc.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }

    pub fn ends_at(&self) -> Timestamp {
        self.ends.timestamp()
    }

    pub fn ends_at_local(&self) -> String {
        self.ends.strftime("%Y-%m-%d %H:%M").to_string()
    }
}
