//! Join words that the parser does not know. It does know `GLOBAL` before a join, so the word is
//! spelled so for the parse. All such joins of one text have to carry the same word.

use sqlparser::tokenizer::Token;

use super::{is_any_word, is_word, word};

/// The word in front of the joins of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// The nearest row in order.
    AsOf,
    /// By position.
    Positional,
    /// One matching row.
    Any,
    /// All matching rows.
    All,
}

impl Strictness {
    /// The word, with the space behind it.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::AsOf => "ASOF ",
            Self::Positional => "POSITIONAL ",
            Self::Any => "ANY ",
            Self::All => "ALL ",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::AsOf => "ASOF",
            Self::Positional => "POSITIONAL",
            Self::Any => "ANY",
            Self::All => "ALL",
        }
    }
}

const SIDES: &[&str] = &["LEFT", "RIGHT", "INNER", "FULL", "OUTER"];

/// DuckDB: `ASOF [LEFT] JOIN` and `POSITIONAL JOIN`.
pub(super) fn duckdb(tokens: &mut [Token]) -> Option<Strictness> {
    only(tokens, &[Strictness::AsOf, Strictness::Positional])
}

/// ClickHouse: `ANY LEFT JOIN`, `LEFT ANY JOIN`, and so on; `SEMI LEFT JOIN` is turned around.
pub(super) fn clickhouse(tokens: &mut [Token]) -> Option<Strictness> {
    for index in 0..tokens.len() {
        let strict_first = is_any_word(tokens.get(index), &["SEMI", "ANTI"])
            && is_any_word(tokens.get(index + 1), &["LEFT", "RIGHT"]);
        let side_first = is_any_word(tokens.get(index), SIDES)
            && is_any_word(tokens.get(index + 1), &["ANY", "ALL", "ASOF"]);
        if (strict_first || side_first) && is_word(tokens.get(index + 2), "JOIN") {
            tokens.swap(index, index + 1);
        }
    }
    only(
        tokens,
        &[Strictness::AsOf, Strictness::Any, Strictness::All],
    )
}

/// Spells the one strictness of the text as `GLOBAL`.
fn only(tokens: &mut [Token], known: &[Strictness]) -> Option<Strictness> {
    if tokens.iter().any(|token| is_word(Some(token), "GLOBAL")) {
        return None;
    }
    let mut found: Option<Strictness> = None;
    let mut places = Vec::new();
    for index in 0..tokens.len() {
        let strictness = known
            .iter()
            .find(|kind| is_word(tokens.get(index), kind.word()));
        let Some(strictness) = strictness.filter(|_| before_join(tokens, index + 1)) else {
            continue;
        };
        if found.is_some_and(|other| other != *strictness) {
            return None;
        }
        found = Some(*strictness);
        places.push(index);
    }
    for place in places {
        if let Some(token) = tokens.get_mut(place) {
            *token = word("GLOBAL");
        }
    }
    found
}

/// Whether `[LEFT] [OUTER] JOIN` stands at `index`, of a table and not with a match condition.
fn before_join(tokens: &[Token], index: usize) -> bool {
    let mut at = index;
    while is_any_word(tokens.get(at), SIDES) {
        at += 1;
    }
    is_word(tokens.get(at), "JOIN")
        && !tokens
            .iter()
            .any(|token| is_word(Some(token), "MATCH_CONDITION"))
}
