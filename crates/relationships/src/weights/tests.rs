//! Tests that no weight changes unnoticed: each row has an example whose verdict changes with it.
//!
//! Nine rows have no example yet; no row can join them. For a pin that does not hold, the tests
//! print another example.

mod examples;
mod spots;
mod warehouse;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::weights::{Row, TABLE};
use examples::{Example, example, names};
use warehouse::Verdict;

thread_local! {
    static CHANGED: Cell<Option<(usize, f64)>> = const { Cell::new(None) };
}

/// Returns the trial weight of this thread.
pub(crate) fn changed(place: usize) -> Option<f64> {
    let changed = CHANGED.get().filter(|(at, _)| *at == place);
    changed.map(|(_, weight)| weight)
}

fn with(place: usize, weight: f64, example: &Example) -> Verdict {
    CHANGED.set(Some((place, weight)));
    let verdict = example.verdict();
    CHANGED.set(None);
    verdict
}

#[derive(Default)]
struct Built(BTreeMap<String, (Example, Verdict)>);

impl Built {
    fn get(&mut self, name: &str) -> Option<&(Example, Verdict)> {
        if !self.0.contains_key(name) {
            let example = example(name)?;
            let verdict = example.verdict();
            self.0.insert(name.to_owned(), (example, verdict));
        }
        self.0.get(name)
    }
}

/// Returns the rows of one quarter whose pin does not hold, except `without`.
fn unpinned(quarter: usize, without: &[&str]) -> Vec<&'static str> {
    let size = TABLE.len().div_ceil(4);
    let rows = TABLE.iter().enumerate().skip(quarter * size).take(size);
    let mut built = Built::default();
    let mut loose = Vec::new();
    for (place, row) in rows.filter(|(_, row)| !without.contains(&row.name)) {
        let holds = built
            .get(row.pin.example)
            .is_some_and(|(example, verdict)| with(place, row.pin.at, example) != *verdict);
        if !holds {
            loose.push((place, row));
        }
    }
    for (place, row) in &loose {
        match find(*place, row, &mut built) {
            Some((name, at)) => println!("{}: \"{name}\" {at}", row.name),
            None => println!("{}: no example changes with it", row.name),
        }
    }
    loose.into_iter().map(|(_, row)| row.name).collect()
}

#[test]
fn each_weight_of_words_and_keys_changes_the_verdict_of_its_example() {
    assert_eq!(unpinned(0, &[]), Vec::<&str>::new());
}

#[test]
fn each_weight_of_candidates_and_names_changes_the_verdict_of_its_example() {
    assert_eq!(
        unpinned(
            1,
            &["ENDS_SLACK", "FULL_NUMBERS", "SAME_DENSE", "SAME_WHOLE"]
        ),
        Vec::<&str>::new()
    );
}

#[test]
fn each_weight_of_values_changes_the_verdict_of_its_example() {
    assert_eq!(unpinned(2, &[]), Vec::<&str>::new());
}

#[test]
fn each_weight_of_choices_and_groups_changes_the_verdict_of_its_example() {
    assert_eq!(
        unpinned(
            3,
            &[
                "ONLY_UUID",
                "ROLE_NONE_MARKED",
                "OWNER",
                "GROUP_INNER",
                "GROUP_NEARER"
            ]
        ),
        Vec::<&str>::new()
    );
}

#[test]
fn each_row_has_a_name_of_its_own_and_a_reason() {
    let names: BTreeMap<&str, &Row> = TABLE.iter().map(|row| (row.name, row)).collect();
    assert_eq!(names.len(), TABLE.len());
    for row in TABLE {
        assert!(!row.why.is_empty(), "{}", row.name);
        let pinned = (row.pin.at - row.weight).abs() > 0.0;
        assert_eq!(pinned, !row.pin.example.is_empty(), "{}", row.name);
    }
}

fn find(place: usize, row: &Row, built: &mut Built) -> Option<(String, f64)> {
    let quick: Vec<String> = names()
        .into_iter()
        .filter(|name| !name.contains(": "))
        .collect();
    let small = ["likeness of words", "answers about groups"].map(str::to_owned);
    let links = quick.iter().cloned();
    let pairs = quick.iter().map(|name| format!("pairs of {name}"));
    let columns = quick.iter().map(|name| format!("columns of {name}"));
    let mut best: Option<(String, f64)> = None;
    let mut hits = 0;
    for name in small.into_iter().chain(columns).chain(pairs).chain(links) {
        let (example, verdict) = built.get(&name)?;
        let differs = |weight: f64| {
            let other = catch_unwind(AssertUnwindSafe(|| with(place, weight, example)));
            CHANGED.set(None);
            other.is_ok_and(|other| other != *verdict)
        };
        if !far(row.weight).into_iter().any(differs) {
            continue;
        }
        let away = |at: f64| (at - row.weight).abs();
        let nearest = near(row.weight).into_iter().find(|weight| differs(*weight));
        if let Some(at) = nearest
            && best
                .as_ref()
                .is_none_or(|(_, known)| away(at) < away(*known))
        {
            best = Some((name, at));
        }
        hits += 1;
        if hits >= 3 {
            break;
        }
    }
    best
}

fn far(weight: f64) -> Vec<f64> {
    vec![0.0, weight * 10.0 + 7.0, weight + 3.0, weight - 6.0, 1.0]
}

/// In growing distance.
fn near(weight: f64) -> Vec<f64> {
    let steps = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0,
        100.0, 1000.0,
    ];
    let both = steps.iter().flat_map(|step| [weight + step, weight - step]);
    let mut near: Vec<f64> = both.chain(far(weight)).collect();
    near.sort_by(|left, right| (left - weight).abs().total_cmp(&(right - weight).abs()));
    near.retain(|value| (value - weight).abs() > 0.0);
    near.iter()
        .map(|value| (value * 1e6).round() / 1e6)
        .collect()
}
