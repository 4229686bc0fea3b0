//! Compares original and reprinted statements: same rows or same error. No session refuses what the
//! gate allows.

use std::time::Duration;

use ktx_sql::Dialect;
use ktx_warehouse::{Caps, ErrorKind, QueryResult, WarehouseError};
use serde_json::Value;

const FILES: [&str; 3] = [
    include_str!("../../../../fixtures/readonly-sql/cases.jsonl"),
    include_str!("../../../../fixtures/readonly-sql/own.jsonl"),
    include_str!("../../../../fixtures/readonly-sql/fresh.jsonl"),
];

#[derive(Debug, Default)]
pub(crate) struct ReprintReport {
    sent: usize,
    ran: usize,
    wrong: Vec<String>,
}

impl ReprintReport {
    /// Requires rows from at least `percent` of texts: an engine that refused everything would
    /// prove nothing.
    pub(crate) fn expect(&self, percent: usize) {
        eprintln!("{} of {} texts gave rows", self.ran, self.sent);
        assert!(
            self.wrong.is_empty(),
            "{} wrong:\n{}",
            self.wrong.len(),
            self.wrong.join("\n")
        );
        assert!(
            self.ran * 100 >= self.sent * percent,
            "only {} of {} texts gave rows",
            self.ran,
            self.sent
        );
    }
}

pub(crate) async fn compare(
    dialect: Dialect,
    send: impl AsyncFn(&str, &Caps) -> Result<QueryResult, WarehouseError>,
) -> ReprintReport {
    let caps = Caps {
        timeout: Duration::from_secs(5),
        ..Caps::default()
    };
    let mut report = ReprintReport::default();
    for (id, sql) in texts(dialect) {
        let Ok(allowed) = ktx_read_only_sql::check(&sql, dialect) else {
            continue;
        };
        report.sent += 1;
        let written = steadily(&send, &sql, &caps).await;
        let printed = steadily(&send, allowed.as_str(), &caps).await;
        let difference = match (&written, &printed) {
            (_, Err(error)) if error.kind == ErrorKind::Permission => {
                Some(format!("the session refuses it: {}", error.message))
            }
            (Ok(_), Ok(_)) if is_random(&sql) => {
                report.ran += 1;
                None
            }
            (Ok(first), Ok(second)) => {
                let rows = match order_of(allowed.as_str()) {
                    RowOrder::Stated => in_order,
                    RowOrder::Any => in_any_order,
                };
                if rows(first) == rows(second) {
                    report.ran += 1;
                    None
                } else {
                    let again = send(&sql, &caps).await;
                    let printed = send(allowed.as_str(), &caps).await;
                    // Times change per run, and equal keys can change order, so a difference must
                    // repeat.
                    let steady = again.is_ok_and(|again| rows(&again) == rows(first))
                        && printed.is_ok_and(|printed| rows(&printed) == rows(second));
                    steady.then(|| format!("{:?}\n    became {:?}", first.rows, second.rows))
                }
            }
            (Ok(_), Err(error)) => {
                Some(format!("only as it was written, not so: {}", error.message))
            }
            (Err(first), _) if is_unread(first) => None,
            (Err(error), Ok(_)) => Some(format!("only as it was printed; else: {}", error.message)),
            (Err(first), Err(second)) => (comparable_error(first) != comparable_error(second))
                .then(|| format!("{}\n    became {}", first.message, second.message)),
        };
        if let Some(difference) = difference {
            let printed = allowed.as_str();
            report
                .wrong
                .push(format!("{id}: {sql}\n    {printed}\n    {difference}"));
        }
    }
    report
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOrder {
    Stated,
    Any,
}

fn order_of(printed: &str) -> RowOrder {
    let words = words(printed);
    let ordered = words.windows(2).any(
        |pair| matches!(pair, [order, by] if order.depth == 0 && order.is("order") && by.is("by")),
    );
    if ordered {
        RowOrder::Stated
    } else {
        RowOrder::Any
    }
}

fn in_order(result: &QueryResult) -> Vec<String> {
    result.rows.iter().map(|row| format!("{row:?}")).collect()
}

fn in_any_order(result: &QueryResult) -> Vec<String> {
    let mut rows = in_order(result);
    rows.sort();
    rows
}

#[derive(Debug)]
struct StatementWord<'a> {
    text: &'a str,
    depth: usize,
    is_call: bool,
}

impl StatementWord<'_> {
    fn is(&self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }
}

fn words(sql: &str) -> Vec<StatementWord<'_>> {
    let mut words = Vec::new();
    let mut depth: usize = 0;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if is_letter(first) => rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (text, after) = rest.split_at(length);
        match first {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if is_letter(first) => words.push(StatementWord {
                text,
                depth,
                is_call: after.trim_start().starts_with('('),
            }),
            _ => {}
        }
        rest = after;
    }
    words
}

const RANDOM: &str = "array_sample array_shuffle gen_random_bytes gen_random_uuid generateuuidv4 generateuuidv7 newid \
    rand rand32 rand64 randconstant randnormal random random_bytes random_normal randomblob randomfixedstring \
    randomprintableascii randomstring randuniform setseed shuffle uuid uuid_generate_v4 uuid_short uuidv4 uuidv7";

fn is_random(sql: &str) -> bool {
    words(sql).iter().any(|word| {
        let is_function = || RANDOM.split_whitespace().any(|random| word.is(random));
        word.is("tablesample") || word.is("sample") || word.is_call && is_function()
    })
}

#[test]
fn order_and_randomness_are_read_from_the_text() {
    assert_eq!(order_of("SELECT a FROM t ORDER BY a"), RowOrder::Stated);
    assert_eq!(
        order_of("SELECT a FROM (SELECT a FROM t ORDER BY a)"),
        RowOrder::Any
    );
    assert_eq!(
        order_of("SELECT ') ORDER BY (', row_number() OVER (ORDER BY a) FROM t"),
        RowOrder::Any
    );
    assert!(is_random("SELECT * FROM t TABLESAMPLE SYSTEM (10)"));
    assert!(is_random("SELECT Random ()"));
    assert!(!is_random("SELECT var_samp(random) AS sample_size FROM t"));
    assert!(!is_random("SELECT 'random()', stddev_samp(a) FROM t"));
}

/// Retries broken connections: an engine's proxy can close between texts.
async fn steadily(
    send: &impl AsyncFn(&str, &Caps) -> Result<QueryResult, WarehouseError>,
    sql: &str,
    caps: &Caps,
) -> Result<QueryResult, WarehouseError> {
    match send(sql, caps).await {
        Err(error) if error.kind == ErrorKind::Dropped => send(sql, caps).await,
        outcome => outcome,
    }
}

fn texts(dialect: Dialect) -> Vec<(String, String)> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    FILES
        .iter()
        .flat_map(|file| file.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|case| case["expect"] == "allow")
        .filter(|case| Dialect::parse(&text(case, "dialect")) == Some(dialect))
        .map(|case| (text(&case, "id"), text(&case, "sql")))
        .collect()
}

/// True if the engine cannot parse the text or misses a hinted index. The gate does not print
/// hints.
fn is_unread(error: &WarehouseError) -> bool {
    let message = error.message.to_lowercase();
    ["syntax", "parser error", "no such index"]
        .iter()
        .any(|words| message.contains(words))
}

fn comparable_error(error: &WarehouseError) -> (ErrorKind, String) {
    let letters = error
        .message
        .chars()
        .filter(|letter| letter.is_alphabetic());
    (error.kind, letters.collect::<String>().to_lowercase())
}
