//! Updates the query history's keys in `usage` of a table.

use jiff::{Timestamp, tz::TimeZone};
use serde_yaml::{Mapping, Value};

use crate::history::usage::Seen;

const OWN: &[&str] = &[
    "frequencyTier",
    "commonFilters",
    "commonGroupBys",
    "commonJoins",
    "staleSince",
];

/// Keeps an old value that is not a mapping.
pub(super) fn usage(old: Option<&Value>, seen: Option<&Seen>, now: Timestamp) -> Option<Value> {
    let empty = Mapping::new();
    let known = match old {
        None | Some(Value::Null) => &empty,
        Some(Value::Mapping(known)) => known,
        Some(_) => return old.cloned(),
    };
    let mut usage = match seen {
        None => return old.cloned(),
        Some(Seen::Used(usage)) => usage.clone(),
        Some(Seen::Unused) => unused(known, now),
    };
    for (key, value) in known {
        if !OWN.iter().any(|own| key == own) {
            usage.insert(key.clone(), value.clone());
        }
    }
    Some(Value::Mapping(usage))
}

/// The start of disuse is known only after a use.
fn unused(known: &Mapping, now: Timestamp) -> Mapping {
    let mut usage = Mapping::new();
    usage.insert("frequencyTier".into(), "unused".into());
    let was_used = known
        .get("frequencyTier")
        .and_then(Value::as_str)
        .is_some_and(|tier| tier != "unused");
    if let Some(since) = known.get("staleSince") {
        usage.insert("staleSince".into(), since.clone());
    } else if was_used {
        let day = now.to_zoned(TimeZone::UTC).date().to_string();
        usage.insert("staleSince".into(), day.into());
    }
    usage
}
