//! Asks questions, and runs what refusals print.

use std::collections::BTreeSet;

use ktx_test_support::sandbox::{RunOutput, Sandbox};
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::support::write;

pub(super) type Rows = Vec<String>;

/// Rows of each offered query.
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) offered: Vec<Option<Rows>>,
}

pub(super) struct CommandLine<'s> {
    pub(super) sandbox: &'s Sandbox,
}

impl CommandLine<'_> {
    pub(super) fn ask(&self, question: &Value, dimensions: usize) -> Result<Rows, Refusal> {
        write(self.sandbox, "query.json", &question.to_string());
        let printed = self.run(&[
            "sl",
            "query",
            "--query-file",
            "query.json",
            "--execute",
            "--format",
            "json",
        ]);
        if let Some(rows) = answered(&printed, dimensions) {
            return Ok(rows);
        }
        let refused: Value = serde_json::from_str(&printed.stdout).expect("a refusal in JSON");
        let error = &refused["error"];
        let listed = error["hints"].as_array().into_iter().flatten();
        let hints = listed.chain([&error["hint"]]).filter_map(Value::as_str);
        let commands = hints.filter_map(|hint| hint.strip_prefix("run `ktx ")?.strip_suffix('`'));
        let commands: BTreeSet<&str> = commands
            .filter(|command| command.starts_with("sl query"))
            .collect();
        let code = printed
            .code
            .map_or_else(String::new, |code| code.to_string());
        Err(Refusal {
            code: format!("exit {code}"),
            offered: commands
                .into_iter()
                .map(|command| {
                    let words = words(command);
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    answered(&self.run(&words), dimensions)
                })
                .collect(),
        })
    }

    fn run(&self, words: &[&str]) -> RunOutput {
        self.sandbox.run_arguments(words).expect("the program runs")
    }
}

pub(super) struct Tool {
    client: Client,
}

impl Tool {
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        let mut client = Client::start(sandbox);
        client.initialize();
        Self { client }
    }

    pub(super) fn ask(&mut self, question: &Value, dimensions: usize) -> Result<Rows, Refusal> {
        let answer = self.call(question);
        if answer["isError"] != json!(true) {
            return Ok(rows(&answer["structuredContent"], dimensions));
        }
        let error = answer["structuredContent"]["error"].clone();
        let offered = error["suggestions"].as_array().cloned().unwrap_or_default();
        Err(Refusal {
            code: error["code"].as_str().unwrap_or_default().to_owned(),
            offered: offered
                .iter()
                .map(|offered| {
                    let answer = self.call(offered);
                    let is_answered = answer["isError"] != json!(true);
                    is_answered.then(|| rows(&answer["structuredContent"], dimensions))
                })
                .collect(),
        })
    }

    fn call(&mut self, query: &Value) -> Value {
        let mut arguments = query.clone();
        arguments["format"] = json!("json");
        // The usual length would not hold all rows.
        arguments["maxTokens"] = json!(10_000);
        self.client.ask(
            "tools/call",
            json!({ "name": "sl_query", "arguments": arguments }),
        )
    }

    pub(super) fn close(self) {
        assert_eq!(self.client.close().0, Some(0));
    }
}

fn answered(printed: &RunOutput, dimensions: usize) -> Option<Rows> {
    let answer: Value = serde_json::from_str(&printed.stdout).ok()?;
    (printed.code == Some(0)).then(|| rows(&answer, dimensions))
}

fn rows(answer: &Value, dimensions: usize) -> Rows {
    let rows = answer["rows"].as_array().expect("rows").iter();
    let cells = |row: &Value| row.as_array().expect("a row").clone();
    with_numbers(rows.map(cells).collect(), dimensions)
}

/// Formats rows like an answer.
pub(super) fn rows_of_sql(database: &rusqlite::Connection, sql: &str, dimensions: usize) -> Rows {
    let mut statement = database.prepare(sql).expect("SQL");
    let count = statement.column_count();
    let rows = statement.query_map((), |row| (0..count).map(|at| row.get(at)).collect());
    let cell = |cell: Cell| match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => json!(number),
        Cell::Real(number) => json!(number),
        Cell::Text(text) => json!(text),
        Cell::Blob(_) => unreachable!("no question asks for bytes"),
    };
    let rows = rows.expect("rows").map(|row| {
        let row: Vec<Cell> = row.expect("a row");
        row.into_iter().map(cell).collect()
    });
    with_numbers(rows.collect(), dimensions)
}

/// Rows with a number: a member without facts can be missing or empty.
fn with_numbers(rows: Vec<Vec<Value>>, dimensions: usize) -> Rows {
    let is_empty = |cell: &Value| cell.is_null() || cell.as_f64() == Some(0.0);
    let shown = |cell: &Value| match cell {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        number => number
            .as_f64()
            .map_or_else(|| number.to_string(), |number| format!("{number:.4}")),
    };
    let mut shown_rows: Rows = rows
        .into_iter()
        .filter(|row| !row.iter().skip(dimensions).all(is_empty))
        .map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" | "))
        .collect();
    shown_rows.sort();
    shown_rows
}

fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
