//! Compares a column with a key, exactly and loosely.

use crate::facts::TableFacts;
use crate::links::link::{Check, MeasuredRows};
use crate::profile::sketch::{Containment, ratio};
use crate::profile::{ColumnProfile, Extent};
use crate::weights as w;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    /// Decides whether the column means the key.
    pub(super) meant: Containment,
    /// As SQL compares.
    pub(super) exact: Containment,
}

impl Comparison {
    pub(super) fn by_probe(contained: Containment) -> Self {
        Self {
            meant: contained,
            exact: contained,
        }
    }

    /// `None` without values.
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
        let apart =
            ratio(parent.loose().len() as u64, parent.sketch.len() as u64) >= w::APART.get();
        let loose = (folds && apart)
            .then(|| child.loose().containment_in(parent.loose(), ignored))
            .flatten();
        let meant = loose
            .filter(|loose| loose.rows > plain.rows + w::LOOSE.get())
            .unwrap_or(plain);
        Some(Self { meant, exact })
    }

    /// Ignores case and padding; `None` if hardly different.
    pub(super) fn loose_rows(&self) -> Option<f64> {
        (self.meant.rows > self.exact.rows + w::LOOSE.get()).then_some(self.meant.rows)
    }

    pub(super) fn reason(&self) -> Option<String> {
        let loose = self.loose_rows()?;
        Some(format!(
            "as it is written the join finds {:.1} % of these rows; {:.1} % without case and padding",
            self.exact.rows * 100.0,
            loose * 100.0
        ))
    }
}

/// `None` if only values were checked.
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
