//! Rewrites harmless clauses that the parser does not know.
//!
//! Each patch is undone in the printed text, which must pass again with the same tree. So a wrong
//! patch can only refuse a query.

mod brackets;
mod carry;
mod clauses;
mod edits;
mod frames;
mod groups;
mod hints;
mod joins;
mod json;
mod marks;
mod offsets;
mod operators;
mod orders;
mod pivot;
mod queries;
mod reports;
mod tails;
mod text;
mod types;
mod values;
mod versions;
mod xml;

use ktx_diagnostics::Code;
use sqlparser::tokenizer::{Token, Word};

use self::carry::CarriedClauses;
pub(super) use self::clauses::{APPROXIMATE_NAME, ONLY, PLAIN_NAME, ROWS_FROM, SAFE_NAME};
pub(super) use self::groups::SETS;
pub(super) use self::marks::{Marker, STAR};
pub(super) use self::pivot::{PIVOT, PIVOT_GROUP};
pub(super) use self::queries::SCALAR_TABLE;
pub(super) use self::versions::Version;
use ktx_sql::Dialect;

use crate::refusal::{Refusal, refuse};

#[derive(Debug)]
pub(super) struct PatchedTokens {
    tokens: Vec<Token>,
    head: Option<String>,
    tail: Option<String>,
    joins: Vec<String>,
    has_xsinil: bool,
    carried: CarriedClauses,
}

const MAX_REWRITES: usize = 2000;

impl PatchedTokens {
    pub(super) fn new(tokens: Vec<Token>, dialect: Dialect) -> Result<Self, Refusal> {
        let mut patched = Self {
            tokens,
            head: None,
            tail: None,
            joins: Vec::new(),
            has_xsinil: false,
            carried: CarriedClauses::default(),
        };
        patched.rewrite_common(dialect)?;
        patched.rewrite_own(dialect)?;
        refuse_commands_as_tables(&patched.tokens)?;
        refuse_select_into(&patched.tokens)?;
        Ok(patched)
    }

    fn rewrite_common(&mut self, dialect: Dialect) -> Result<(), Refusal> {
        self.apply(clauses::spell_out_table)?;
        self.apply(operators::bracket_null_patterns)?;
        self.apply(offsets::wrap_quantified_values)?;
        self.apply(groups::name_inner_sets)?;
        if dialect != Dialect::Postgres {
            self.apply(hints::drop_materialized)?;
        }
        self.apply_carrying(frames::carry_exclusions)?;
        self.apply_carrying(queries::carry_search_and_cycle)?;
        self.apply_carrying(json::carry_endings)?;
        self.apply_carrying(|tokens, carried| types::carry_cast_types(tokens, carried, dialect))?;
        self.apply(|tokens| marks::mark_call_words(tokens, dialect))
    }

    fn rewrite_own(&mut self, dialect: Dialect) -> Result<(), Refusal> {
        match dialect {
            Dialect::Postgres => {
                self.apply(frames::bracket_bounds)?;
                self.apply(groups::group_distinct)?;
                self.apply(json::drop_path_names)?;
                self.apply(clauses::name_rows_from)?;
                self.apply(clauses::call_only)?;
                self.apply_carrying(queries::carry_using_aliases)?;
                self.apply_carrying(xml::carry_serializations)?;
            }
            Dialect::ClickHouse => self.rewrite_clickhouse()?,
            Dialect::DuckDb => self.rewrite_duckdb()?,
            Dialect::SqlServer => self.rewrite_sql_server()?,
            Dialect::MySql | Dialect::MariaDb => {
                if dialect == Dialect::MariaDb {
                    self.tail = tails::cut_rows_examined(&mut self.tokens);
                    self.apply_carrying(orders::carry_group_orders)?;
                    self.apply_carrying(orders::carry_separated_limits)?;
                }
                self.apply(hints::drop_from_first)?;
                self.apply(hints::drop_select_modifiers)?;
                self.apply(clauses::cross_join_lists)?;
                self.apply(clauses::bracket_matches)?;
                self.apply(versions::mark)?;
            }
            Dialect::Redshift => {
                self.apply(frames::bracket_bounds)?;
                self.apply(clauses::name_approximate)?;
                self.apply_carrying(json::carry_transformations)?;
            }
            Dialect::Sqlite => {
                self.apply(hints::drop_indexed_by)?;
            }
            Dialect::BigQuery => {
                self.apply(clauses::name_safe)?;
                self.apply(versions::move_alias_behind)?;
                self.apply(groups::group_and_order)?;
                self.apply_carrying(offsets::carry_path_offsets)?;
                self.apply(clauses::replace_pipe_synonyms)?;
            }
            Dialect::Snowflake => {
                self.apply_carrying(json::construct_rows)?;
                self.apply_carrying(frames::carry_directions)?;
                self.apply(hints::drop_from_first)?;
                self.apply_carrying(|tokens, carried| {
                    types::carry_colon_types(tokens, carried, dialect)
                })?;
                self.apply_carrying(queries::carry_subsets)?;
            }
            Dialect::Databricks => {
                self.apply(versions::replace_at_signs)?;
                self.apply_carrying(queries::name_lateral_views)?;
                self.apply_carrying(offsets::carry_excepted_fields)?;
                self.apply(versions::drop_for)?;
            }
            Dialect::Trino => {
                self.apply(versions::drop_for)?;
                self.apply(clauses::bracket_values)?;
                self.apply(groups::group_distinct)?;
                self.apply(json::drop_keys)?;
                self.apply(json::drop_path_names)?;
                self.apply_carrying(queries::carry_subsets)?;
            }
        }
        Ok(())
    }

    fn rewrite_clickhouse(&mut self) -> Result<(), Refusal> {
        self.tail = tails::cut_second_limit(&mut self.tokens);
        self.apply(clauses::split_question_marks)?;
        self.apply(clauses::name_any)?;
        self.apply(clauses::unwrap_views)?;
        self.apply_carrying(clauses::carry_limit_by_with_offset)?;
        self.apply_carrying(|tokens, carried| {
            types::carry_colon_types(tokens, carried, Dialect::ClickHouse)
        })?;
        self.apply_carrying(clauses::carry_aliases_before_final)?;
        self.apply_carrying(orders::carry_ordered_collations)?;
        self.apply(marks::mark_aliases)?;
        self.tokens = queries::rewrite_scalars(&self.tokens);
        self.apply(queries::rewrite_array_joins)?;
        self.apply(clauses::bracket_using)?;
        self.apply(clauses::index_tuples)?;
        self.apply(json::name_sub_objects)?;
        self.apply(marks::mark_stars)?;
        self.joins = joins::rewrite_clickhouse(&mut self.tokens);
        Ok(())
    }

    fn rewrite_duckdb(&mut self) -> Result<(), Refusal> {
        self.tail = tails::cut_tail(&mut self.tokens, &["USING", "SAMPLE"], tails::SAMPLE_WORDS)
            .or_else(|| tails::cut_percent_limit(&mut self.tokens));
        self.apply(reports::rewrite_as_selects)?;
        self.apply(queries::complete_from_first)?;
        self.apply(pivot::move_group_to_aggregates)?;
        self.tokens = pivot::rewrite_as_select(&self.tokens);
        self.apply(clauses::complete_filters)?;
        self.apply(frames::bracket_bounds)?;
        self.apply(values::replace_units)?;
        self.apply_carrying(values::carry_single_rows)?;
        self.apply_carrying(|tokens, carried| {
            types::carry_colon_types(tokens, carried, Dialect::DuckDb)
        })?;
        self.apply(offsets::name_open_ends)?;
        self.apply_carrying(clauses::carry_samples)?;
        self.apply(marks::mark_comprehensions)?;
        self.apply(marks::mark_colons)?;
        self.apply(marks::mark_stars)?;
        self.apply_carrying(queries::carry_recursion_keys)?;
        self.joins = joins::rewrite_duckdb(&mut self.tokens);
        Ok(())
    }

    fn rewrite_sql_server(&mut self) -> Result<(), Refusal> {
        self.tail = tails::cut_option(&mut self.tokens);
        self.head = tails::cut_namespaces(&mut self.tokens);
        self.apply(joins::drop_hints)?;
        self.apply(versions::mark)?;
        self.has_xsinil = tails::cut_xsinil(&mut self.tokens);
        Ok(())
    }

    fn apply(&mut self, patch: impl Fn(&[Token]) -> edits::Edits) -> Result<(), Refusal> {
        self.apply_carrying(|tokens, _| patch(tokens))
    }

    fn apply_carrying(
        &mut self,
        patch: impl Fn(&[Token], &mut CarriedClauses) -> edits::Edits,
    ) -> Result<(), Refusal> {
        let edits = patch(&self.tokens, &mut self.carried);
        if edits.len() > MAX_REWRITES {
            return refuse(Code::TooLarge, "the text has too many unusual clauses");
        }
        edits.apply(&mut self.tokens);
        Ok(())
    }

    pub(super) fn take_tokens(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.tokens)
    }

    pub(super) fn takes_limit(&self) -> bool {
        self.tail.is_none()
    }

    pub(super) fn undo(&self, printed: &str, dialect: Dialect) -> Result<String, Refusal> {
        let printed = brackets::drop(printed, dialect, &[offsets::VALUES])?;
        let printed = &groups::undo_inner_sets(&printed, dialect)?;
        let mut text = match dialect {
            Dialect::Postgres => text::replace_in_code(
                printed,
                dialect,
                &[(ROWS_FROM, "ROWS FROM "), (ONLY, "ONLY "), groups::DISTINCT],
            )?,
            Dialect::ClickHouse => {
                let text = brackets::drop(printed, dialect, queries::WRAPPERS)?;
                text::replace_in_code(
                    &text,
                    dialect,
                    &[
                        (clauses::TUPLE_INDEX, "."),
                        ("ktx__]", ""),
                        (json::SUB_OBJECT, ".^"),
                        (json::SUB_TYPE, ".:"),
                        (PLAIN_NAME, ""),
                        (STAR, "*"),
                    ],
                )?
            }
            Dialect::BigQuery => text::replace_in_code(printed, dialect, clauses::BIGQUERY_NAMES)
                .and_then(|text| versions::undo(&text, dialect))?,
            Dialect::DuckDb => {
                let text = pivot::undo(printed, dialect)?;
                let signs = [(STAR, "*"), (offsets::OPEN_END, "-")];
                let text = text::replace_in_code(&text, dialect, &signs)?;
                text::replace_in_code(&text, dialect, reports::WORDS)?
            }
            Dialect::Redshift => {
                text::replace_in_code(printed, dialect, &[(APPROXIMATE_NAME, "APPROXIMATE ")])?
            }
            Dialect::Trino => text::replace_in_code(
                &versions::undo(printed, dialect)?,
                dialect,
                &[groups::DISTINCT],
            )?,
            Dialect::SqlServer | Dialect::MySql | Dialect::MariaDb => {
                versions::undo(printed, dialect)?
            }
            Dialect::Sqlite => text::replace_in_code(printed, dialect, operators::SQLITE_WORDS)?,
            Dialect::Snowflake | Dialect::Databricks => printed.to_owned(),
        };
        text = self.carried.undo(&text, dialect)?;
        if !self.joins.is_empty() {
            text = joins::undo(&text, dialect, &self.joins)?;
        }
        if self.has_xsinil {
            text = text::replace_in_code(&text, dialect, &[(", ELEMENTS", ", ELEMENTS XSINIL")])?;
        }
        if let Some(tail) = &self.tail {
            text.push(' ');
            text.push_str(tail);
        }
        if let Some(head) = &self.head {
            text = match text.strip_prefix("WITH ") {
                Some(tables) => format!("{head}, {tables}"),
                None => format!("{head} {text}"),
            };
        }
        Ok(text)
    }
}

/// The parser reads `FROM (SHOW TABLES)` as a table with an alias.
fn refuse_commands_as_tables(tokens: &[Token]) -> Result<(), Refusal> {
    const COMMANDS: &[&str] = &[
        "CALL",
        "DESC",
        "DESCRIBE",
        "EXECUTE",
        "EXPLAIN",
        "LIST",
        "LS",
        "PRAGMA",
        "SHOW",
        "SUMMARIZE",
    ];
    let opens = |index: usize| {
        index > 0
            && tokens.get(index) == Some(&Token::LParen)
            && (tokens.get(index - 1) == Some(&Token::Comma)
                || is_any_word(tokens.get(index - 1), &["FROM", "JOIN"]))
    };
    let command = (1..tokens.len()).find(|index| {
        opens(index - 1)
            && is_any_word(tokens.get(*index), COMMANDS)
            && (is_name(tokens.get(index + 1)) || is_literal(tokens.get(index + 1)))
            && !is_word(tokens.get(index + 1), "AS")
    });
    match command.and_then(|index| tokens.get(index)) {
        Some(command) => refuse(
            Code::NotAQuery,
            format!("`{command}` in brackets is a command, not a table"),
        ),
        None => Ok(()),
    }
}

/// `SELECT INTO x FROM y` creates a table; the parser reads `INTO` as a column.
fn refuse_select_into(tokens: &[Token]) -> Result<(), Refusal> {
    let found = (1..tokens.len()).any(|index| {
        is_word(tokens.get(index), "INTO")
            && is_any_word(tokens.get(index - 1), &["SELECT", "ALL", "DISTINCT"])
    });
    if found {
        return refuse(Code::Into, "`INTO` writes the result somewhere");
    }
    Ok(())
}

fn is_word(token: Option<&Token>, word: &str) -> bool {
    unquoted(token).is_some_and(|text| text.eq_ignore_ascii_case(word))
}

fn is_any_word(token: Option<&Token>, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(token, word))
}

fn are_words(tokens: &[Token], start: usize, words: &[&str]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(offset, word)| is_word(tokens.get(start + offset), word))
}

fn is_name(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Word(_)))
}

fn is_literal(token: Option<&Token>) -> bool {
    matches!(
        token,
        Some(Token::Number(..) | Token::SingleQuotedString(_))
    )
}

fn unquoted(token: Option<&Token>) -> Option<&str> {
    match token {
        Some(Token::Word(Word {
            value,
            quote_style: None,
            ..
        })) => Some(value),
        _ => None,
    }
}

fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

fn join_tokens(tokens: &[Token]) -> String {
    tokens
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn depth_change(token: &Token) -> isize {
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => 1,
        Token::RParen | Token::RBracket | Token::RBrace => -1,
        _ => 0,
    }
}

fn find_at_level(
    tokens: &[Token],
    start: usize,
    fits: impl Fn(usize, &Token) -> bool,
) -> Option<usize> {
    let mut depth = 0_isize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        if depth == 0 && fits(index, token) {
            return Some(index);
        }
        depth += depth_change(token);
        if depth < 0 {
            return None;
        }
    }
    None
}

fn closing_bracket(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_isize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        depth += depth_change(token);
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

#[cfg(test)]
mod tests;
