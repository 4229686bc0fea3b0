//! Formats differences as text and as JSON.

use serde_json::{Value, json};

use super::{Change, Difference, FieldChange, Subject};

const LONGEST: usize = 80;

/// Prints a line per difference, grouped by source: `+` added, `-` removed, `~` changed, with its
/// effect in parentheses.
pub fn diff_text(differences: &[Difference]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut source: Option<&str> = None;
    for difference in differences {
        if source != Some(difference.source.as_str()) {
            source = Some(&difference.source);
            lines.push(difference.source.clone());
        }
        let sign = match difference.change {
            Change::Added => '+',
            Change::Removed => '-',
            Change::Changed(_) => '~',
        };
        let name = match difference.subject {
            Subject::Source => String::new(),
            _ => format!(" {}", difference.name),
        };
        lines.push(format!(
            "  {sign} {}{name} ({})",
            difference.subject.name(),
            difference.effect.name()
        ));
        if let Change::Changed(fields) = &difference.change {
            for field in fields {
                lines.push(format!("      {}", line(field)));
            }
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn line(change: &FieldChange) -> String {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    match (old, new) {
        _ if change.field == "sql" && old.is_some() && new.is_some() => "sql: differs".to_owned(),
        (Some(old), Some(new)) => format!("{}: {} -> {}", change.field, short(old), short(new)),
        (Some(old), None) => format!("{}: {} -> none", change.field, short(old)),
        (None, Some(new)) => format!("{}: none -> {}", change.field, short(new)),
        (None, None) => change.field.to_owned(),
    }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return format!("`{line}`");
    }
    let cut: String = line.chars().take(LONGEST).collect();
    format!("`{cut}…`")
}

/// A list with complete values.
pub fn diff_json(differences: &[Difference]) -> Value {
    differences.iter().map(difference).collect()
}

fn difference(difference: &Difference) -> Value {
    let (change, fields) = match &difference.change {
        Change::Added => ("added", &[][..]),
        Change::Removed => ("removed", &[][..]),
        Change::Changed(fields) => ("changed", fields.as_slice()),
    };
    let fields: Vec<Value> = fields
        .iter()
        .map(|field| json!({"field": field.field, "old": field.old, "new": field.new}))
        .collect();
    json!({
        "source": difference.source,
        "subject": difference.subject.name(),
        "name": difference.name,
        "change": change,
        "fields": fields,
        "effect": difference.effect.name(),
    })
}
