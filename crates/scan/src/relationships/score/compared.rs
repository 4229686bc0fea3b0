//! How a column's values lie in a key: as they are written, and without case and padding.

use crate::profile::sketch::{Containment, ratio};
use crate::profile::{ColumnProfile, Extent};
use crate::relationships::facts::TableFacts;
use crate::relationships::link::{Check, MeasuredRows};

/// The share by which leaving out case and padding must find more to be worth telling.
const DIFFERENCE: f64 = 0.005;
/// The share of the keys that must stay different without case and padding.
const APART: f64 = 0.98;

/// Two ways to compare one column with another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compared {
    /// What tells whether the column means the key.
    pub(super) meant: Containment,
    /// What an equality of the two finds.
    pub(super) exact: Containment,
}

impl Compared {
    /// What a statement in the warehouse said.
    pub(super) fn by_probe(contained: Containment) -> Self {
        Self {
            meant: contained,
            exact: contained,
        }
    }

    /// Compares the values that were read; `None` where nothing is left to compare.
    pub(super) fn of(
        child: &ColumnProfile,
        parent: &ColumnProfile,
        ignored: &[u64],
    ) -> Option<Self> {
        let plain = child.sketch.containment_in(&parent.sketch, ignored)?;
        let written = child.written.is_some() || parent.written.is_some();
        let exact = if written {
            let exact = child.exact().containment_in(parent.exact(), ignored);
            exact.unwrap_or(plain)
        } else {
            plain
        };
        let folds = child.folded.is_some() || parent.folded.is_some();
        let apart = ratio(parent.loose().len() as u64, parent.sketch.len() as u64) >= APART;
        let loose = (folds && apart)
            .then(|| child.loose().containment_in(parent.loose(), ignored))
            .flatten();
        let meant = loose
            .filter(|loose| loose.rows > plain.rows + DIFFERENCE)
            .unwrap_or(plain);
        Some(Self { meant, exact })
    }

    /// The share of rows that are found only without case and padding, if it is worth telling.
    pub(super) fn loose_rows(&self) -> Option<f64> {
        (self.meant.rows > self.exact.rows + DIFFERENCE).then_some(self.meant.rows)
    }

    /// The difference in words.
    pub(super) fn reason(&self) -> Option<String> {
        let loose = self.loose_rows()?;
        Some(format!(
            "as it is written the join finds {:.1} % of these rows; {:.1} % without case and padding",
            self.exact.rows * 100.0,
            loose * 100.0
        ))
    }
}

/// The rows that shares of rows are measured on: none where only values were asked about.
pub(super) fn measured_rows(
    check: Check,
    child: &ColumnProfile,
    from: &TableFacts<'_>,
) -> Option<MeasuredRows> {
    (check == Check::Complete).then(|| MeasuredRows {
        rows: child.values,
        extent: if from.is_whole() {
            Extent::Whole
        } else {
            Extent::Sample
        },
    })
}

/// What the shares were measured on.
pub(super) fn measured_on(contained: &Containment, measured: Option<MeasuredRows>) -> String {
    let share = contained.rows * 100.0;
    match measured {
        None => "asked in the warehouse about these values, not about rows".to_owned(),
        Some(MeasuredRows { rows, extent }) => match extent {
            Extent::Whole => format!("{share:.1} % of all {rows} rows with a value"),
            Extent::Sample => format!("{share:.1} % of a sample of {rows} rows with a value"),
        },
    }
}
