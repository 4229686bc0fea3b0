//! Clauses that read an earlier version of a table.

use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{are_words, is_any_word, is_name, is_word, text, word};
use crate::refusal::Refusal;

/// Forms of `FOR SYSTEM_TIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    All,
    Between,
    From,
    ContainedIn,
    /// `AS x FOR SYSTEM_TIME AS OF a`.
    Alias,
    Named,
}

impl Version {
    const ALL: [Self; 6] = [
        Self::All,
        Self::Between,
        Self::From,
        Self::ContainedIn,
        Self::Alias,
        Self::Named,
    ];

    pub(crate) const fn marker(self) -> &'static str {
        match self {
            Self::All => "KTX__ALL",
            Self::Between => "KTX__BETWEEN",
            Self::From => "KTX__FROM",
            Self::ContainedIn => "KTX__CONTAINED",
            Self::Alias => "KTX__ALIAS",
            Self::Named => "KTX__NAMED",
        }
    }

    pub(crate) fn of(marker: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.marker() == marker)
    }
}

/// Words, their form for the parser, and their printed form.
const FORMS: &[(&[&str], Version, &str, &str)] = &[
    (&["ALL"], Version::All, "AS OF KTX__ALL", "ALL"),
    (
        &["BETWEEN"],
        Version::Between,
        "AS OF KTX__BETWEEN ",
        "BETWEEN ",
    ),
    (&["FROM"], Version::From, "AS OF KTX__FROM ", "FROM "),
    (
        &["CONTAINED", "IN"],
        Version::ContainedIn,
        "AS OF KTX__CONTAINED ",
        "CONTAINED IN ",
    ),
];

const SYSTEM_TIME: &[&str] = &["FOR", "SYSTEM_TIME"];

/// SQL Server, MySQL, MariaDB.
pub(super) fn mark(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index - 2, SYSTEM_TIME) {
            continue;
        }
        let form = FORMS
            .iter()
            .find(|(words, ..)| are_words(tokens, index, words));
        if let Some((words, version, ..)) = form {
            edits.replace(
                index..index + words.len(),
                [word("AS"), word("OF"), word(version.marker())],
            );
        }
    }
    edits
}

/// BigQuery: `t AS x FOR SYSTEM_TIME AS OF a`.
pub(super) fn move_alias_behind(tokens: &[Token]) -> Edits {
    const CLAUSE: &[&str] = &["FOR", "SYSTEM_TIME", "AS", "OF"];
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index, CLAUSE) || !is_name(tokens.get(index - 1)) {
            continue;
        }
        let explicit = is_word(tokens.get(index - 2), "AS");
        let start = if explicit { index - 2 } else { index - 1 };
        let behind_table = start
            .checked_sub(1)
            .is_some_and(|before| is_name(tokens.get(before)));
        let is_from = start
            .checked_sub(1)
            .is_some_and(|before| is_any_word(tokens.get(before), &["FROM", "JOIN", "AS"]));
        if !behind_table || is_from {
            continue;
        }
        let alias = tokens.get(index - 1).cloned().into_iter();
        let with: Vec<Token> = CLAUSE
            .iter()
            .map(|text| word(text))
            .chain([word(Version::Alias.marker())])
            .chain(alias)
            .collect();
        edits.replace(start..index + CLAUSE.len(), with);
    }
    edits
}

/// Trino: `FOR TIMESTAMP AS OF`.
pub(super) fn drop_for(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if !is_word(tokens.get(index), "FOR") || !are_words(tokens, index + 2, &["AS", "OF"]) {
            continue;
        }
        let named = is_word(tokens.get(index + 1), "VERSION")
            && !matches!(tokens.get(index + 4), Some(Token::Number(..)));
        if named {
            edits.replace(
                index..index + 4,
                ["TIMESTAMP", "AS", "OF", Version::Named.marker()].map(word),
            );
        } else if is_any_word(tokens.get(index + 1), &["TIMESTAMP", "VERSION"]) {
            edits.remove(index..index + 1);
        }
    }
    edits
}

/// Databricks: `t@v3`.
pub(super) fn replace_at_signs(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::AtSign) || !is_name(tokens.get(index - 1)) {
            continue;
        }
        let number = super::unquoted(tokens.get(index + 1))
            .and_then(|name| name.strip_prefix(['v', 'V']))
            .filter(|digits| {
                !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
            });
        if let Some(number) = number {
            let with = [
                word("VERSION"),
                word("AS"),
                word("OF"),
                Token::Number(number.to_owned(), false),
            ];
            edits.replace(index..index + 2, with);
        }
    }
    edits
}

pub(super) fn undo(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    match dialect {
        Dialect::Trino => text::replace_in_code(
            printed,
            dialect,
            &[
                (" TIMESTAMP AS OF KTX__NAMED ", " FOR VERSION AS OF "),
                (" TIMESTAMP AS OF ", " FOR TIMESTAMP AS OF "),
                // The first pair has put `FOR` before some of these.
                (" VERSION AS OF ", " FOR VERSION AS OF "),
                (" FOR FOR ", " FOR "),
            ],
        ),
        Dialect::BigQuery => text::replace_in_code(
            printed,
            dialect,
            &[("FOR SYSTEM_TIME AS OF KTX__ALIAS ", "AS KTX__ALIAS ")],
        )
        .map(|text| restore_alias_order(&text)),
        _ => {
            let pairs: Vec<(&str, &str)> =
                FORMS.iter().map(|(_, _, from, to)| (*from, *to)).collect();
            text::replace_in_code(printed, dialect, &pairs)
        }
    }
}

/// `AS KTX__ALIAS x a` becomes `AS x FOR SYSTEM_TIME AS OF a`.
fn restore_alias_order(printed: &str) -> String {
    let mut text = String::with_capacity(printed.len());
    let mut rest = printed;
    while let Some((head, tail)) = rest.split_once("KTX__ALIAS ") {
        text.push_str(head);
        let quoted = tail.starts_with('`');
        let end = if quoted {
            tail.get(1..)
                .and_then(|name| name.find('`'))
                .map(|end| end + 2)
        } else {
            tail.find(' ')
        };
        let (alias, after) = tail
            .split_at_checked(end.unwrap_or(tail.len()))
            .unwrap_or((tail, ""));
        text.push_str(alias);
        text.push_str(" FOR SYSTEM_TIME AS OF");
        rest = after;
    }
    text.push_str(rest);
    text
}
