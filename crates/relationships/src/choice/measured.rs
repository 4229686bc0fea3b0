//! Measures the links that the warehouse declares.

use crate::facts::Facts;
use crate::links::link::{Check, Endpoint, Evidence, Link, MeasuredRows, Status};
use crate::profile::sketch::ratio;
use crate::profile::{ColumnProfile, Extent};

/// Compares the values of declared keys of one column with those of the other table, because a
/// warehouse can declare a key and accept rows without a match. Skips columns of which not every
/// value is known.
pub fn measure_declared(facts: &Facts<'_>, links: &mut [Link]) {
    for link in links
        .iter_mut()
        .filter(|link| link.status == Status::Accepted)
    {
        let (Some(child), Some(parent)) = (whole(facts, &link.from), whole(facts, &link.to)) else {
            continue;
        };
        if let Some(contained) = child.exact().containment_in(parent.exact(), &[]) {
            link.evidence = Evidence {
                coverage: Some(contained.distinct),
                row_coverage: Some(contained.rows),
                compared: contained.compared,
                measured: Some(MeasuredRows {
                    rows: child.values,
                    extent: Extent::Whole,
                }),
                parent_share: Some(ratio(child.distinct.min(parent.distinct), parent.distinct)),
                uniqueness: Some(parent.uniqueness()),
                null_rate: Some(child.null_rate()),
                ..Evidence::default()
            };
            link.check = Check::Complete;
        }
    }
}

/// Returns the profile of a side of one column, if its table was read whole.
fn whole<'f>(facts: &Facts<'f>, side: &Endpoint) -> Option<&'f ColumnProfile> {
    let [name] = side.columns.as_slice() else {
        return None;
    };
    let mut tables = facts.tables.iter();
    let table = tables.find(|table| table.table.table == side.table)?;
    let mut columns = table.columns.iter();
    let column = columns.find(|column| column.column.name == *name)?;
    column
        .profile
        .filter(|profile| table.is_whole() && profile.exact().complete)
}
