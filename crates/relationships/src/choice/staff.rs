//! Links words for what a person does, such as `support_rep_id`, to the only table of staff or users
//! that holds all of their values.

use std::collections::BTreeMap;

use crate::facts::agents::names_agent;
use crate::facts::{ColumnFacts, Facts};
use crate::names::entity::KeyMark;
use crate::score::ScoredPair;
use crate::types::ColumnId;
use crate::weights as w;

/// Roles that also people outside of the staff have, and things: a `guest` is rather a customer, and a `head` may be
/// counted.
const OUTSIDERS: &[&str] = &[
    "buyer",
    "comprador",
    "acheteur",
    "guest",
    "contact",
    "recipient",
    "receiver",
    "sender",
    "payer",
    "payee",
    "borrower",
    "purchaser",
    "friend",
    "follower",
    "participant",
    "attendee",
    "registrant",
    "caller",
    "witness",
    "spouse",
    "guardian",
    "head",
    "host",
    "voter",
    "rater",
    "reader",
    "created",
    "updated",
    "modified",
];

/// Raises the odds of the only table of staff or users that holds all values of a column which names
/// a person's role and no table.
pub(super) fn favour_staff(facts: &Facts<'_>, by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>) {
    for rivals in by_child.values_mut() {
        let is_named =
            |rival: &ScoredPair| rival.evidence.name >= w::CLEARLY_NAMED.get() && rival.odds > 0.0;
        if rivals.iter().any(is_named) {
            continue;
        }
        let mut staff = rivals.iter_mut().filter(|rival| means_staff(facts, rival));
        let (Some(only), None) = (staff.next(), staff.next()) else {
            continue;
        };
        only.odds += w::ONLY_STAFF.get();
        only.reasons
            .push("only this table of people holds all of its values".to_owned());
    }
}

fn means_staff(facts: &Facts<'_>, rival: &ScoredPair) -> bool {
    let (Some(column), Some(table)) = (facts.column(rival.child), facts.table(rival.parent.table))
    else {
        return false;
    };
    let complete = rival.evidence.coverage.is_some_and(|share| share >= 1.0);
    complete
        && table.people
        && table.primary == Some(rival.parent.column)
        && facts.layer(rival.child) == facts.layer(rival.parent)
        && names_a_role(column)
        && names_agent(facts, column, rival.parent)
}

/// Returns whether a name is that of a member of staff, and the values are more than flags.
fn names_a_role(column: &ColumnFacts<'_>) -> bool {
    let outsider = |word: &String| OUTSIDERS.contains(&word.as_str());
    let last = column.name.base().last();
    // `approved` is a flag, `approved_by` is a person.
    let done = column.name.mark == KeyMark::None && last.is_some_and(|word| word.ends_with("ed"));
    let several = column
        .profile
        .is_some_and(|profile| profile.distinct > w::FLAG_VALUES.count());
    column.part && several && !done && !column.name.measure && !last.is_some_and(outsider)
}
