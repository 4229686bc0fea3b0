//! Replaces relative dates in semantic queries.

use ktx_sql::Dialect;
use serde_json::Value;

/// Functions and words for the current time or day.
const NOW: [&str; 5] = [
    "current_date",
    "current_timestamp",
    "localtimestamp",
    "curdate",
    "getdate",
];

/// These count only when called without arguments.
const CALLED: [&str; 3] = ["now", "sysdate", "today"];

pub(super) fn dated(query: &Value, day: &str, dialect: Dialect) -> Value {
    match query {
        Value::String(text) => Value::String(expression(text, day, dialect)),
        Value::Array(items) => items.iter().map(|item| dated(item, day, dialect)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let dated = fields.map(|(name, value)| (name.clone(), dated(value, day, dialect)));
            Value::Object(dated.collect())
        }
        other => other.clone(),
    }
}

fn expression(text: &str, day: &str, dialect: Dialect) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if matches!(first, '\'' | '"' | '`') {
            let (quoted, after) = quoted(rest, first);
            let is_now = dialect == Dialect::Sqlite && quoted.eq_ignore_ascii_case("'now'");
            if is_now {
                written.extend(["'", day, "'"]);
            } else {
                written.push_str(quoted);
            }
            rest = after;
        } else if is_word(first) {
            let (word, after) =
                rest.split_at(rest.find(|sign| !is_word(sign)).unwrap_or(rest.len()));
            let called = after.trim_start().strip_prefix('(');
            let called = called.and_then(|inside| inside.trim_start().strip_prefix(')'));
            let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
            // `orders.current_date` is a column.
            let is_column = written.ends_with('.') || after.starts_with('.');
            let is_today = !is_column && (is(&NOW) || (is(&CALLED) && called.is_some()));
            if is_today {
                written.push_str(&literal(day, dialect));
                rest = called.unwrap_or(after);
            } else {
                written.push_str(word);
                rest = after;
            }
        } else {
            written.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    written
}

const fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || !sign.is_ascii()
}

fn quoted(text: &str, quote: char) -> (&str, &str) {
    let inside = text.get(quote.len_utf8()..).unwrap_or_default();
    let end = inside
        .find(quote)
        .map_or(text.len(), |at| at + 2 * quote.len_utf8());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn literal(day: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => format!("date('{day}')"),
        Dialect::SqlServer => format!("cast('{day}' as date)"),
        _ => format!("date '{day}'"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// HOLO-51: names and text values stay.
    #[test]
    fn today_is_the_date_of_the_case() {
        let query = json!({
            "measures": ["orders.revenue"],
            "filters": [
                "orders.placed_on >= CURRENT_DATE - interval '30 days'",
                "orders.current_date < now ( ) and orders.now <> 'current_date'",
            ],
        });
        let told = |dialect| dated(&query, "2026-01-31", dialect)["filters"].to_string();
        insta::assert_snapshot!(told(Dialect::Postgres), @r#"["orders.placed_on >= date '2026-01-31' - interval '30 days'","orders.current_date < date '2026-01-31' and orders.now <> 'current_date'"]"#);
        let sqlite = json!("d >= date('now', '-30 days') and e < current_timestamp");
        insta::assert_snapshot!(dated(&sqlite, "2026-01-31", Dialect::Sqlite), @r#""d >= date('2026-01-31', '-30 days') and e < date('2026-01-31')""#);
    }
}
