//! Looker's filter expressions, such as `"-EU,%land"` or `">=5 AND <10"`, as predicates.

use crate::definitions::Sql;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DimensionType {
    Text,
    Number,
    Boolean,
}

/// Returns `None` if every row passes.
pub(super) fn predicate(
    column: &Sql,
    kind: DimensionType,
    words: &str,
) -> Result<Option<Sql>, String> {
    let words = words.trim();
    if words.is_empty() {
        return Ok(None);
    }
    let terms = match kind {
        DimensionType::Text => texts(words)?,
        DimensionType::Number => numbers(words)?,
        DimensionType::Boolean => return boolean(column, words).map(Some),
    };
    // Looker does not say whether a row without a value passes.
    let is_unclear = |term: &Term| matches!(term, Term::Not(inner) if matches!(**inner, Term::Holds(_) | Term::Not(_)));
    if terms.iter().any(is_unclear) {
        return Err(format!("the filter `{words}` has no counterpart"));
    }
    let alternatives: Vec<Sql> = terms
        .iter()
        .filter_map(|term| term.allowing(column))
        .collect();
    let exclusions: Vec<Sql> = terms
        .iter()
        .filter_map(|term| term.excluding(column))
        .collect();
    let mut all = exclusions;
    if !alternatives.is_empty() {
        all.insert(0, joined(alternatives, " or "));
    }
    Ok((!all.is_empty()).then(|| joined(all, " and ")))
}

fn boolean(column: &Sql, words: &str) -> Result<Sql, String> {
    match words.to_lowercase().as_str() {
        "yes" | "true" => Ok(column.clone()),
        "no" | "false" => {
            let not = column.clone().between("(not ", "");
            let is_null = column.clone().between(" or ", " is null)");
            Ok(Sql([not.0, is_null.0].concat()))
        }
        _ => Err(format!("the filter `{words}` is neither yes nor no")),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Term {
    Is(String),
    /// SQL comparisons that follow the column, such as `> 5`.
    Holds(Vec<String>),
    Like(String),
    Null,
    Empty,
    Not(Box<Self>),
}

impl Term {
    fn allowing(&self, column: &Sql) -> Option<Sql> {
        let with = |behind: &str| column.clone().between("", behind);
        Some(match self {
            Self::Is(value) => with(&format!(" = {value}")),
            Self::Like(pattern) => with(&format!(" like {pattern}")),
            Self::Null => with(" is null"),
            Self::Empty => Sql([
                column.clone().between("(", " is null or ").0,
                column.clone().between("", " = '')").0,
            ]
            .concat()),
            Self::Holds(conditions) => {
                let each = conditions
                    .iter()
                    .map(|condition| with(&format!(" {condition}")));
                joined(each.collect(), " and ")
            }
            Self::Not(_) => return None,
        })
    }

    /// A row without a value passes.
    fn excluding(&self, column: &Sql) -> Option<Sql> {
        let Self::Not(term) = self else {
            return None;
        };
        let or_null = |comparison: String| {
            let own = column.clone().between("(", &comparison);
            let null = column.clone().between(" or ", " is null)");
            Sql([own.0, null.0].concat())
        };
        Some(match term.as_ref() {
            Self::Is(value) => or_null(format!(" <> {value}")),
            Self::Like(pattern) => or_null(format!(" not like {pattern}")),
            Self::Null => column.clone().between("", " is not null"),
            Self::Empty => Sql([
                column.clone().between("(", " is not null and ").0,
                column.clone().between("", " <> '')").0,
            ]
            .concat()),
            Self::Holds(_) | Self::Not(_) => return None,
        })
    }
}

fn joined(mut parts: Vec<Sql>, word: &str) -> Sql {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_default();
    }
    let mut all = Sql::text("(");
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            all.0.extend(Sql::text(word).0);
        }
        all.0.extend(part.0);
    }
    all.0.extend(Sql::text(")").0);
    all
}

fn texts(words: &str) -> Result<Vec<Term>, String> {
    let terms: Vec<Term> = split(words).iter().map(|word| text(word)).collect();
    let pattern = |term: &Term| match term {
        Term::Like(pattern) => pattern.contains('_'),
        Term::Not(inner) => matches!(&**inner, Term::Like(pattern) if pattern.contains('_')),
        _ => false,
    };
    if terms.iter().any(pattern) {
        return Err(format!(
            "the filter `{words}` has a `_`, which `like` reads otherwise"
        ));
    }
    Ok(terms)
}

/// Splits at commas that no caret escapes; carets stay for [`text`].
fn split(words: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = words.chars();
    while let Some(letter) = letters.next() {
        let Some(last) = parts.last_mut() else { break };
        match letter {
            ',' => parts.push(String::new()),
            '^' => {
                last.push('^');
                last.extend(letters.next());
            }
            letter => last.push(letter),
        }
    }
    let parts = parts.iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn text(word: &str) -> Term {
    if let Some(rest) = word.strip_prefix('-') {
        return Term::Not(Box::new(text(rest)));
    }
    match word {
        "NULL" => return Term::Null,
        "EMPTY" => return Term::Empty,
        _ => {}
    }
    let word = word.trim_matches('"');
    let mut plain = String::new();
    let mut is_pattern = false;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '^' => plain.extend(letters.next()),
            '%' => {
                is_pattern = true;
                plain.push('%');
            }
            letter => plain.push(letter),
        }
    }
    let literal = format!("'{}'", plain.replace('\'', "''"));
    if is_pattern {
        Term::Like(literal)
    } else {
        Term::Is(literal)
    }
}

fn numbers(words: &str) -> Result<Vec<Term>, String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut depth = 0_i32;
    for letter in words.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
        let Some(last) = parts.last_mut() else { break };
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            last.push(letter);
        }
    }
    let parts = parts.iter().map(|part| part.trim());
    let parts = parts.filter(|part| !part.is_empty());
    let terms = parts
        .map(|part| number(part).ok_or_else(|| format!("the filter `{words}` has no counterpart")));
    let mut terms = terms.collect::<Result<Vec<Term>, String>>()?;
    // `NOT 66, 99` excludes both.
    if words.trim_start().to_uppercase().starts_with("NOT ") {
        for term in &mut terms {
            if matches!(term, Term::Is(_)) {
                let inner = std::mem::replace(term, Term::Null);
                *term = Term::Not(Box::new(inner));
            }
        }
    }
    Ok(terms)
}

fn number(word: &str) -> Option<Term> {
    let upper = word.to_uppercase();
    if upper == "NULL" {
        return Some(Term::Null);
    }
    if let Some(rest) = upper.strip_prefix("NOT ") {
        return Some(Term::Not(Box::new(number(rest.trim())?)));
    }
    for sign in ["<>", "!="] {
        if let Some(rest) = word.strip_prefix(sign) {
            return Some(Term::Not(Box::new(number(rest.trim())?)));
        }
    }
    if let Some((low, high)) = upper.split_once(" TO ") {
        let (low, high) = (literal(low)?, literal(high)?);
        return Some(Term::Holds(vec![format!(">= {low}"), format!("<= {high}")]));
    }
    if let Some((left, right)) = upper.split_once(" AND ") {
        return Some(Term::Holds(vec![bound(left)?, bound(right)?]));
    }
    if let Some(inner) = word.strip_prefix(['[', '(']) {
        return interval(word, inner);
    }
    if word.starts_with(['<', '>']) {
        return Some(Term::Holds(vec![bound(word)?]));
    }
    literal(word).map(Term::Is)
}

fn interval(word: &str, inner: &str) -> Option<Term> {
    let (low, rest) = inner.split_once(',')?;
    let high = rest.trim_end().strip_suffix([']', ')'])?;
    let mut bounds = Vec::new();
    if !["-inf", ""].contains(&low.trim()) {
        let sign = if word.starts_with('[') { ">=" } else { ">" };
        bounds.push(format!("{sign} {}", literal(low)?));
    }
    if !["inf", ""].contains(&high.trim()) {
        let sign = if word.ends_with(']') { "<=" } else { "<" };
        bounds.push(format!("{sign} {}", literal(high)?));
    }
    (!bounds.is_empty()).then_some(Term::Holds(bounds))
}

fn bound(word: &str) -> Option<String> {
    let word = word.trim();
    for sign in [">=", "<=", ">", "<"] {
        if let Some(rest) = word.strip_prefix(sign) {
            return Some(format!("{sign} {}", literal(rest)?));
        }
    }
    None
}

fn literal(word: &str) -> Option<String> {
    let word = word.trim();
    word.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests;
