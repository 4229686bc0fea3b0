//! Scores how well a column's words name a table's entity.

use crate::names::lexicon::{LISTING_TAILS, MEASURES, PERSON_ROLES, SELF_ROLES, synonym};
use crate::names::words::word_likeness;
use crate::weights as w;

/// Returns the likeness, 0 to 1.
pub(crate) fn entity_match(base: &[String], table: &[String]) -> f64 {
    if base.is_empty() || table.is_empty() {
        return 0.0;
    }
    if base.len() == table.len() {
        let whole = aligned(base, table);
        if whole >= w::WHOLE_NAME.get() {
            return whole;
        }
    }
    let mut best = joined(base, table);
    match base.len().cmp(&table.len()) {
        std::cmp::Ordering::Greater => {
            best = best.max(ends(base, table) * w::ROLE_BEFORE.get());
            best = best.max(begins(base, table) * trailing(base, table.len()));
        }
        std::cmp::Ordering::Less => {
            best = best.max(ends(table, base) * w::SHORT_NAME.get());
            best = best.max(begins(table, base) * listing(table, base.len()));
            best = best.max(initials(base, table));
        }
        std::cmp::Ordering::Equal => {
            best = best.max(last_word(base, table) * w::LAST_WORD_ONLY.get());
        }
    }
    best
}

pub(crate) fn led_match(base: &[String], table: &[String]) -> f64 {
    let rest = base.get(table.len()..).unwrap_or_default();
    let other =
        |word: &String| LISTING_TAILS.contains(&word.as_str()) || MEASURES.contains(&word.as_str());
    if table.is_empty() || rest.is_empty() || rest.iter().any(other) {
        return 0.0;
    }
    begins(base, table) * w::LED.get()
}

/// `address_billing` names an address, but `product_type` not a product.
fn trailing(base: &[String], from: usize) -> f64 {
    let rest = base.get(from..).unwrap_or_default();
    let role = |word: &String| {
        SELF_ROLES.contains(&word.as_str()) || PERSON_ROLES.contains(&word.as_str())
    };
    if rest.iter().any(role) {
        w::ROLE_BEHIND.get()
    } else {
        w::ENTITY_BEHIND.get()
    }
}

/// `kind_type` lists the kinds, but an `order_item` is not an order.
fn listing(table: &[String], from: usize) -> f64 {
    let rest = table.get(from..).unwrap_or_default();
    let lists = rest
        .iter()
        .all(|word| LISTING_TAILS.contains(&word.as_str()));
    if lists {
        w::LISTS_KINDS.get()
    } else {
        w::ITEM_OF.get()
    }
}

fn aligned(left: &[String], right: &[String]) -> f64 {
    let mut worst = 1.0_f64;
    let mut sum = 0.0;
    let mut count = 0.0;
    for (left, right) in left.iter().zip(right) {
        let likeness = word_likeness(left, right)
            .max(compound(left, right))
            .max(synonym(left, right));
        worst = worst.min(likeness);
        sum += likeness;
        count += 1.0;
    }
    if worst < w::VAGUE.get() {
        0.0
    } else {
        sum / count
    }
}

/// Such as `orderitem` and `order_items`.
fn joined(left: &[String], right: &[String]) -> f64 {
    let (left, right) = (left.concat(), right.concat());
    let likeness = word_likeness(&left, &right);
    if likeness > w::SAME_WORD.get() {
        likeness
    } else {
        0.0
    }
}

fn ends(long: &[String], short: &[String]) -> f64 {
    long.get(long.len() - short.len()..)
        .map_or(0.0, |tail| aligned(tail, short))
}

fn begins(long: &[String], short: &[String]) -> f64 {
    long.get(..short.len())
        .map_or(0.0, |head| aligned(head, short))
}

fn last_word(left: &[String], right: &[String]) -> f64 {
    match (left.last(), right.last()) {
        (Some(left), Some(right)) => word_likeness(left, right),
        _ => 0.0,
    }
}

/// Such as `so` for `sales_order`.
fn initials(base: &[String], table: &[String]) -> f64 {
    let letters: String = table
        .iter()
        .filter_map(|word| word.chars().next())
        .collect();
    match base {
        [word] if word.len() >= w::INITIALS_LETTERS.size() && *word == letters => w::INITIALS.get(),
        _ => 0.0,
    }
}

/// Such as `adresse` in `kundenadresse`.
fn compound(left: &str, right: &str) -> f64 {
    let (short, long) = if left.len() < right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let before = long.strip_suffix(short);
    // A subcategory is not a category.
    let other =
        before.is_some_and(|before| ["sub", "super", "unter", "ober", "sous"].contains(&before));
    if short.len() >= w::COMPOUND_LETTERS.size() && before.is_some() && !other {
        w::COMPOUND.get()
    } else {
        0.0
    }
}
