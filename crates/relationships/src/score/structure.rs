//! Scores how keys, positions and layers support a link.

use crate::relationships::entity::Copy;
use crate::relationships::score::Pair;
use crate::relationships::score::names::names_copy;

pub(super) fn structure(
    pair: &Pair<'_>,
    own_primary: bool,
    name: f64,
    reasons: &mut Vec<String>,
) -> f64 {
    let mut odds = (pair.parent.key - 0.7).max(-0.4);
    odds += if pair.is_primary { 0.4 } else { -0.4 };
    if pair.from.table.table.db != pair.to.table.table.db {
        odds -= 0.5;
    }
    match (pair.from.name.layer, pair.to.name.layer) {
        (Some(own), Some(other)) if own == other => odds += 0.3,
        (None, None) => {}
        _ => {
            odds -= 1.2;
            reasons.push("the tables are in different layers".to_owned());
        }
    }
    match (&pair.from.name.namespace, &pair.to.name.namespace) {
        (Some(own), Some(other)) if own == other => odds += 0.25,
        (Some(_), Some(_)) => odds -= 0.3,
        _ => {}
    }
    if pair.to.name.satellite {
        odds -= 3.0;
    }
    if pair.to.name.copy == Copy::Copy
        && pair.from.name.copy == Copy::Original
        && names_copy(pair) < 0.85
    {
        odds -= 1.5;
        reasons.push("the other table looks like a copy".to_owned());
    }
    if pair.to.table.kind == ktx_warehouse::TableKind::View {
        odds -= 1.0;
    }
    let unique = pair
        .child
        .profile
        .is_some_and(|child| child.values > 1 && child.uniqueness() >= 0.999);
    if own_primary {
        odds -= if name >= 0.85 { 0.3 } else { 2.4 };
    } else if unique && name < 0.85 {
        odds -= 0.5;
    }
    let among_people = pair.child.part && pair.to.people;
    if pair.is_self && !pair.child.name.has_self_role() && name < 0.85 && !among_people {
        odds -= 1.0;
    }
    // `customer.customer_no` beside `customer.id` numbers the row itself.
    let no_role = pair
        .child
        .name
        .bases
        .iter()
        .all(|base| base.len() <= pair.to.name.words.len());
    let shorter = pair.child.name.base().len() <= pair.parent.name.base().len();
    let telling = pair.child.name.telling;
    if pair.is_self && telling && shorter && !pair.child.name.has_self_role() {
        odds -= 2.0;
    }
    if pair.is_self && pair.child.own >= 0.7 && !pair.child.name.has_self_role() && no_role {
        odds -= 4.0;
    }
    odds
}
