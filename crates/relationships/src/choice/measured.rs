//! Measures the links that the warehouse declares.

use crate::facts::Facts;
use crate::links::link::{Check, Endpoint, Link, Status};
use crate::profile::ColumnProfile;

/// Compares the values of declared keys of one column with those of the other table, if both tables
/// were read whole: a warehouse may declare a key and accept rows without a match.
pub fn measure_declared(facts: &Facts<'_>, links: &mut [Link]) {
    for link in links
        .iter_mut()
        .filter(|link| link.status == Status::Accepted)
    {
        let (Some(child), Some(parent)) = (whole(facts, &link.from), whole(facts, &link.to)) else {
            continue;
        };
        if let Some(contained) = child.exact().containment_in(parent.exact(), &[]) {
            link.evidence.coverage = Some(contained.distinct);
            link.evidence.row_coverage = Some(contained.rows);
            link.evidence.compared = contained.compared;
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
    column.profile.filter(|_| table.is_whole())
}
