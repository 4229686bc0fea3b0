//! The allowed texts of the case files, sent to an engine as they were written and as the gate prints them: both give the
//! same rows or fail alike, and no session refuses what the gate lets through.

use std::time::Duration;

use ktx_warehouse::{Caps, Dialect, ErrorKind, QueryResult, WarehouseError, gate};
use serde_json::Value;

const FILES: [&str; 3] = [
    include_str!("../../../../fixtures/readonly-sql/cases.jsonl"),
    include_str!("../../../../fixtures/readonly-sql/own.jsonl"),
    include_str!("../../../../fixtures/readonly-sql/fresh.jsonl"),
];

/// What came of the texts of one dialect.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Texts that were sent.
    sent: usize,
    /// Texts that gave the same rows both ways.
    ran: usize,
    /// Each difference that was found.
    wrong: Vec<String>,
}

impl Report {
    /// Fails unless nothing is wrong and at least so many of a hundred texts have given rows: an engine that refused
    /// everything would prove nothing.
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

/// Sends every allowed text of a dialect both ways.
pub(crate) async fn compare(
    dialect: Dialect,
    send: impl AsyncFn(&str, &Caps) -> Result<QueryResult, WarehouseError>,
) -> Report {
    let caps = Caps {
        timeout: Duration::from_secs(5),
        ..Caps::default()
    };
    let mut report = Report::default();
    for (id, sql) in texts(dialect) {
        // What the gate refuses is counted where the files are judged.
        let Ok(allowed) = gate::check(&sql, dialect) else {
            continue;
        };
        report.sent += 1;
        let written = steadily(&send, &sql, &caps).await;
        let printed = steadily(&send, allowed.as_str(), &caps).await;
        let difference = match (&written, &printed) {
            (_, Err(error)) if error.kind == ErrorKind::Permission => {
                Some(format!("the session refuses it: {}", error.message))
            }
            (Ok(first), Ok(second)) if is_random(&sql) || rows(first) == rows(second) => {
                report.ran += 1;
                None
            }
            (Ok(first), Ok(second)) => {
                let again = send(&sql, &caps).await;
                // The time of day is different each time.
                let steady = again.is_ok_and(|again| rows(&again) == rows(first));
                steady.then(|| format!("{:?}\n    became {:?}", first.rows, second.rows))
            }
            (Ok(_), Err(error)) => {
                Some(format!("only as it was written, not so: {}", error.message))
            }
            // An engine that does not know the form; what stands for it may still be known.
            (Err(first), _) if is_unread(first) => None,
            (Err(error), Ok(_)) => Some(format!("only as it was printed; else: {}", error.message)),
            (Err(first), Err(second)) => (gist(first) != gist(second))
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

/// The rows in an order of their own: few texts say in which order theirs come.
fn rows(result: &QueryResult) -> Vec<String> {
    let mut rows: Vec<String> = result.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// Whether a text asks for other rows each time.
fn is_random(sql: &str) -> bool {
    let sql = sql.to_lowercase();
    ["sample", "random"].iter().any(|word| sql.contains(word))
}

/// Sends a text, and again when the connection broke: a front of an engine may close it between two texts.
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

/// The allowed texts of the dialect with their names.
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

/// Whether the engine does not read the text, or asks for an index that a hint names; hints are not printed.
fn is_unread(error: &WarehouseError) -> bool {
    let message = error.message.to_lowercase();
    ["syntax", "parser error", "no such index"]
        .iter()
        .any(|words| message.contains(words))
}

/// What an error says, without the places and spellings that another way to write a text changes.
fn gist(error: &WarehouseError) -> (ErrorKind, String) {
    let letters = error
        .message
        .chars()
        .filter(|letter| letter.is_alphabetic());
    (error.kind, letters.collect::<String>().to_lowercase())
}
