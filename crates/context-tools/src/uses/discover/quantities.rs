//! Puts measures first if the words ask for a quantity, and suggests new ones.

use std::collections::BTreeSet;

use ktx_semantic_layer::Source;

use crate::uses::suggested::suggested_measures;
use crate::wire::{DiscoverKind, DiscoverRef};

use super::ConnectionData;
use super::named::WithNamed;

const MOST_SUGGESTED: usize = 3;

const QUANTITIES: &str = "\
    amount average avg cost count discount fee how income many margin mean median much number payment \
    percentage price profit quantity rate ratio revenue sale share spend sum tax total turnover value volume \
    anzahl betrag durchschnitt gewinn kosten menge summe umsatz wert";

/// Words that ask for the number of rows.
const COUNTS: &str = "many number count anzahl";

/// Words that name nothing.
const EMPTY: &str = "\
    a an and are as at be by did do does each for from had has have how in is it its last many me much of on or our \
    per show that the their there these this to was we were what when where which who with";

/// Suggested measures follow defined ones.
pub(super) fn measures_first(
    query: &str,
    WithNamed { refs, named }: WithNamed,
    known: &[ConnectionData],
) -> Vec<DiscoverRef> {
    let suggested = suggestions(&words(query), &refs, known);
    if !asks_for_quantity(query) && suggested.is_empty() {
        return refs;
    }
    let is_measure = |entry: &DiscoverRef| entry.kind == DiscoverKind::SlMeasure;
    let fits = |entry: &DiscoverRef| entry.confidence.is_none();
    // The page defines the words: a similarly named column can mean something else.
    let is_definition =
        |entry: &DiscoverRef| entry.kind == DiscoverKind::Wiki && entry.matched_on == "name";
    // A defined measure goes before a suggested one over the same rows.
    let is_of_suggested = |entry: &DiscoverRef| {
        let rows = source_of(entry, known).map(|(_, source)| source.name.as_str());
        let suggested = suggested.iter().filter_map(|one| rows_of(&one.id));
        suggested.into_iter().any(|name| Some(name) == rows)
    };
    let rank = |entry: &DiscoverRef| match (is_measure(entry), fits(entry)) {
        // The page explains these measures, so it goes first.
        (true, true) if named.contains(&entry.id) => 1,
        (true, true) => 0,
        (false, _) if is_definition(entry) => 1,
        (true, false) if is_of_suggested(entry) => 2,
        (false, true) => 3,
        (true, false) => 4,
        (false, false) => 5,
    };
    let mut ranked: Vec<(u8, DiscoverRef)> = refs
        .into_iter()
        .map(|entry| (rank(&entry), entry))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let before = ranked.partition_point(|(rank, _)| *rank < 3);
    let rest = ranked.split_off(before);
    let before = ranked.into_iter().map(|(_, entry)| entry);
    let rest = rest.into_iter().map(|(_, entry)| entry);
    before.chain(suggested).chain(rest).collect()
}

pub(super) fn asks_for_quantity(query: &str) -> bool {
    words(query).iter().any(|word| is_in(word, QUANTITIES))
}

pub(super) fn named_things(query: &str) -> Option<String> {
    let words = words(query);
    let named: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !is_in(word, QUANTITIES))
        .collect();
    (!named.is_empty() && named.len() < words.len()).then(|| named.join(" "))
}

/// Returns the source of an aggregate such as `sum(orders.amount)`.
pub(super) fn rows_of(expr: &str) -> Option<&str> {
    let (_, inner) = expr.split_once('(')?;
    inner.split('.').next()
}

/// Aggregates over named columns, and row counts if asked for.
fn suggestions(
    words: &BTreeSet<String>,
    refs: &[DiscoverRef],
    known: &[ConnectionData],
) -> Vec<DiscoverRef> {
    let is_named = |source: &Source| !self::words(&source.name).is_disjoint(words);
    let mut sources = refs.iter().filter_map(|entry| source_of(entry, known));
    let is_any_named = sources.any(|(_, source)| is_named(source));
    let mut found: Vec<(usize, DiscoverRef)> = Vec::new();
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for entry in refs {
        let Some((known, source)) = source_of(entry, known) else {
            continue;
        };
        if !seen.insert((known.id.to_string(), source.name.clone())) {
            continue;
        }
        let is_meant = if is_any_named {
            is_named(source)
        } else {
            seen.len() == 1
        };
        for one in suggested_measures(source, &known.catalog, known.snapshot.as_deref()) {
            let column = one.expr.split('.').nth(1).unwrap_or_default();
            let column = column.trim_end_matches(')');
            let described = source.column(column);
            let said = described.and_then(|(_, column)| column.description.as_deref());
            let named = self::words(column);
            let fitting = words.intersection(&named).count();
            let counts = column == "*" && is_meant && words.iter().any(|word| is_in(word, COUNTS));
            if fitting == 0 && !counts {
                continue;
            }
            let summary = match said {
                Some(said) => format!("suggested, defined nowhere; its column: {said}"),
                None => format!("suggested, defined nowhere; {}", one.reason),
            };
            let suggestion = DiscoverRef {
                kind: DiscoverKind::SlMeasure,
                id: one.expr,
                suggested: Some(true),
                score: entry.score,
                confidence: None,
                summary: Some(summary),
                snippet: None,
                matched_on: "name".to_owned(),
                connection_id: Some(known.id.to_string()),
                table_ref: None,
                column_name: None,
                data_range: None,
            };
            found.push((fitting, suggestion));
        }
    }
    // The sort is stable: of equal ones, those of better sources come first.
    found.sort_by_key(|(fitting, _)| std::cmp::Reverse(*fitting));
    let suggested = found.into_iter().map(|(_, suggestion)| suggestion);
    suggested.take(MOST_SUGGESTED).collect()
}

fn source_of<'a>(
    entry: &DiscoverRef,
    known: &'a [ConnectionData],
) -> Option<(&'a ConnectionData, &'a Source)> {
    let connection = entry.connection_id.as_deref()?;
    let known = known.iter().find(|known| known.id.as_str() == connection)?;
    let name = match entry.kind {
        DiscoverKind::SlSource => entry.id.as_str(),
        DiscoverKind::SlDimension | DiscoverKind::SlMeasure => entry.id.split('.').next()?,
        DiscoverKind::Wiki | DiscoverKind::Table | DiscoverKind::Column => return None,
    };
    Some((known, known.catalog.source(name)?))
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words
        .map(str::to_lowercase)
        .map(|word| match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word,
        });
    words
        .filter(|word| word.chars().count() > 1)
        .filter(|word| !is_in(word, EMPTY) || is_in(word, QUANTITIES))
        .collect()
}

fn is_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
