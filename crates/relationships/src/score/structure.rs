//! Scores keys, positions and layers.

use crate::names::entity::Copy;
use crate::score::Pair;
use crate::score::names::names_copy;
use crate::weights as w;

pub(super) fn structure(
    pair: &Pair<'_>,
    own_primary: bool,
    name: f64,
    reasons: &mut Vec<String>,
) -> f64 {
    let mut odds = (pair.parent.key - w::PARENT_KEY.get()).max(w::PARENT_KEY_LEAST.get());
    odds += if pair.is_primary {
        w::PRIMARY.get()
    } else {
        w::NOT_PRIMARY.get()
    };
    if pair.from.table.table.db != pair.to.table.table.db {
        odds += w::OTHER_SCHEMA.get();
    }
    match (pair.from.name.layer, pair.to.name.layer) {
        (Some(own), Some(other)) if own == other => odds += w::SAME_LAYER.get(),
        (None, None) => {}
        _ => {
            odds += w::OTHER_LAYER.get();
            reasons.push("the tables are in different layers".to_owned());
        }
    }
    match (&pair.from.name.namespace, &pair.to.name.namespace) {
        (Some(own), Some(other)) if own == other => odds += w::SAME_MODULE.get(),
        (Some(_), Some(_)) => odds += w::OTHER_MODULE.get(),
        _ => {}
    }
    if pair.to.name.satellite {
        odds += w::SATELLITE.get();
    }
    if pair.to.name.copy == Copy::Copy
        && pair.from.name.copy == Copy::Original
        && names_copy(pair) < w::CLEARLY_NAMED.get()
    {
        odds += w::COPY.get();
        reasons.push("the other table looks like a copy".to_owned());
    }
    if pair.to.table.kind == ktx_warehouse::TableKind::View {
        odds += w::VIEW.get();
    }
    let unique = pair
        .child
        .profile
        .is_some_and(|child| child.values > 1 && child.uniqueness() >= w::ONE_EACH.get());
    if own_primary {
        odds += if name >= w::CLEARLY_NAMED.get() {
            w::OWN_KEY_NAMED.get()
        } else {
            w::OWN_KEY.get()
        };
    } else if unique && name < w::CLEARLY_NAMED.get() {
        odds += w::UNIQUE_CHILD.get();
    }
    let among_people = pair.child.part && pair.to.people;
    if pair.is_self
        && !pair.child.name.has_self_role()
        && name < w::CLEARLY_NAMED.get()
        && !among_people
    {
        odds += w::SELF.get();
    }
    // `customer.customer_no` numbers the row itself.
    let no_role = pair
        .child
        .name
        .bases
        .iter()
        .all(|base| base.len() <= pair.to.name.words.len());
    let shorter = pair.child.name.base().len() <= pair.parent.name.base().len();
    let telling = pair.child.name.telling;
    if pair.is_self && telling && shorter && !pair.child.name.has_self_role() {
        odds += w::SELF_SHORT.get();
    }
    if pair.is_self
        && pair.child.own >= w::OWN_NAME.get()
        && !pair.child.name.has_self_role()
        && no_role
    {
        odds += w::SELF_OWN.get();
    }
    odds
}
