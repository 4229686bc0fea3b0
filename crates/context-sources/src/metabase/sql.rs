//! Expands SQL templates: optional parts, snippets and other cards. Placeholders stay, because an
//! invented value would look like a fact.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const DEPTH: usize = 20;

const LONGEST: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Library {
    pub(super) snippets: BTreeMap<String, String>,
    pub(super) cards: BTreeMap<u64, Result<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpandedSql {
    pub(super) sql: Option<String>,
    pub(super) problem: Option<String>,
}

impl Library {
    pub(super) fn resolved(&self, card: u64) -> ExpandedSql {
        match self.card(card, &mut Vec::new()) {
            Ok(sql) => ExpandedSql {
                sql: Some(sql),
                problem: None,
            },
            Err(problem) => ExpandedSql {
                sql: self.cards.get(&card).and_then(|sql| sql.clone().ok()),
                problem: Some(problem),
            },
        }
    }

    fn card(&self, card: u64, within: &mut Vec<u64>) -> Result<String, String> {
        if within.contains(&card) {
            return Err(format!("card {card} includes itself"));
        }
        if within.len() == DEPTH {
            return Err(format!("cards are nested more than {DEPTH} deep"));
        }
        let sql = match self.cards.get(&card) {
            Some(Ok(sql)) => sql.clone(),
            Some(Err(problem)) if within.is_empty() => return Err(problem.clone()),
            Some(Err(_)) => return Err(format!("the SQL of card {card} is not known")),
            None => return Err(format!("card {card} is not there")),
        };
        within.push(card);
        let text = self.written_out(&sql, within, 0);
        within.pop();
        text
    }

    fn written_out(
        &self,
        template: &str,
        within: &mut Vec<u64>,
        depth: usize,
    ) -> Result<String, String> {
        let template = without_optional(template);
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            text.push_str(before);
            let Some((tag, behind)) = after.split_once("}}") else {
                text.push_str("{{");
                rest = after;
                continue;
            };
            rest = behind;
            let line = text.rsplit('\n').next().unwrap_or_default();
            if line.contains("--") {
                let _ = write!(text, "{{{{{tag}}}}}");
            } else if let Some(card) = reference(tag) {
                let inner = self.card(card, within)?;
                // The SQL may end with a comment, so the bracket gets its own line.
                let _ = write!(text, "(\n{}\n)", inner.trim().trim_end_matches(';'));
            } else if let Some(name) = snippet(tag) {
                let found = self.snippets.get(name);
                let found = found.ok_or_else(|| format!("the snippet `{name}` is not there"))?;
                if depth == DEPTH {
                    return Err(format!("the snippet `{name}` includes itself"));
                }
                text.push_str(&self.written_out(found, within, depth + 1)?);
            } else {
                let _ = write!(text, "{{{{{}}}}}", tag.trim());
            }
            if text.len() > LONGEST {
                return Err(format!("it has more than {LONGEST} bytes"));
            }
        }
        text.push_str(rest);
        Ok(text)
    }
}

pub(super) fn references(template: &str) -> BTreeSet<u64> {
    let template = without_optional(template);
    let tags = template.split("{{").skip(1);
    tags.filter_map(|tag| reference(tag.split_once("}}")?.0))
        .collect()
}

/// Parses `#12` or `#12-revenue`.
fn reference(tag: &str) -> Option<u64> {
    let rest = tag.trim().strip_prefix('#')?;
    let digits = rest.split('-').next()?;
    digits.trim().parse().ok()
}

fn snippet(tag: &str) -> Option<&str> {
    let name = tag.trim().strip_prefix("snippet:")?;
    Some(name.trim())
}

/// Removes the optional parts, `[[ … ]]`: without values they do not apply.
fn without_optional(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("[[") {
        // Brackets without a placeholder are a nested array.
        match after.split_once("]]") {
            Some((inside, behind)) if inside.contains("{{") => {
                text.push_str(before);
                rest = behind;
            }
            _ => {
                text.push_str(before);
                text.push_str("[[");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}
