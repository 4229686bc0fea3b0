//! Cases as documents: a model, its rows, and questions with their SQL and rows.
//!
//! Blocks are `yaml <file>`, `data <table>` and, one per section, `query`, followed by `sql` and
//! `rows`, or `refused`; `KTX_UPDATE_DOCS` writes these. The SQL of a `benchmark` block must give
//! the same rows.
#![expect(
    clippy::disallowed_methods,
    reason = "the documents are rewritten on request"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile, validate};
use ktx_sql::Dialect;
use serde_json::{Map, Value, json};

use crate::sqlite;

const FENCE: &str = "```";

struct Block<'a> {
    words: &'a str,
    text: &'a str,
}

enum Piece<'a> {
    Prose(&'a str),
    Block(Block<'a>),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mdtest/semantic-layer")
}

/// Prose keeps its line endings, blocks lose their fences.
fn pieces(document: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = document;
    while let Some((prose, fenced)) = rest.split_once("\n```") {
        let (words, inside) = fenced.split_once('\n').expect("a block has lines");
        let (text, after) = match inside.strip_prefix("```\n") {
            Some(after) => ("", after),
            None => inside.split_once("\n```\n").expect("a block ends"),
        };
        pieces.push(Piece::Prose(prose));
        pieces.push(Piece::Block(Block { words, text }));
        rest = after;
    }
    pieces.push(Piece::Prose(rest));
    pieces
}

fn answered(document: &str) -> String {
    let pieces = pieces(document);
    let (catalog, connection) = model(&pieces);
    let mut text = String::new();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Prose(prose) if prose.trim().is_empty() => {}
            Piece::Prose(prose) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(prose.trim());
                text.push('\n');
            }
            Piece::Block(block) => match block.words {
                "sql" | "rows" | "refused" => {}
                words => {
                    push_block(&mut text, words, block.text);
                    if words == "query" {
                        rows = answer(&mut text, block.text, &catalog, &connection);
                    } else if words == "benchmark" {
                        let (_, wanted) = sqlite::run(&connection, block.text);
                        assert!(!wanted.is_empty(), "no rows: {}", block.text);
                        assert_eq!(comparable(&rows), comparable(&wanted), "{}", block.text);
                    }
                }
            },
        }
    }
    text
}

fn push_block(text: &mut String, words: &str, inside: &str) {
    let inside = inside.trim_end();
    write!(text, "\n{FENCE}{words}\n{inside}\n{FENCE}\n").expect("text grows");
}

/// Ignores the order of rows.
fn comparable(rows: &[Vec<Value>]) -> Vec<Vec<String>> {
    let cell = |cell: &Value| match cell.as_f64() {
        Some(number) => format!("{number:.6}"),
        None => shown(cell),
    };
    let mut all: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect();
    all.sort();
    all
}

/// Writes the answer; returns no rows if the query is refused.
fn answer(
    text: &mut String,
    query: &str,
    catalog: &Catalog,
    connection: &rusqlite::Connection,
) -> Vec<Vec<Value>> {
    let query: Value = serde_yaml::from_str(query).expect("a query in YAML");
    let compiled =
        Query::from_value(&query).and_then(|query| compile(catalog, &query, Dialect::Sqlite));
    match compiled {
        Err(error) => {
            let mut lines = vec![format!("{}: {error}", error.kind)];
            lines.extend(error.remedy.queries.iter().map(|query| {
                let offered = Query::from_value(query).expect("a query");
                assert_eq!(offered.to_value(), *query);
                compile(catalog, &offered, Dialect::Sqlite).expect("it compiles");
                format!("offered: {query}")
            }));
            push_block(text, "refused", &lines.join("\n"));
            Vec::new()
        }
        Ok(compiled) => {
            let (names, rows) = sqlite::run(connection, &compiled.sql);
            let mut lines = vec![names.join(" | ")];
            lines.extend(rows.iter().map(|row| {
                let cells: Vec<String> = row.iter().map(shown).collect();
                cells.join(" | ")
            }));
            push_block(text, "sql", &compiled.sql);
            push_block(text, "rows", &lines.join("\n"));
            rows
        }
    }
}

fn shown(cell: &Value) -> String {
    match cell {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn model(pieces: &[Piece<'_>]) -> (Catalog, rusqlite::Connection) {
    let mut files = Vec::new();
    let mut tables = Map::new();
    for piece in pieces {
        let Piece::Block(block) = piece else { continue };
        match block.words.split_once(' ') {
            Some(("yaml", path)) => files.push(SourceFile::new(path, block.text)),
            Some(("data", name)) => {
                tables.insert(name.to_owned(), table(block.text));
            }
            _ => assert!(
                ["query", "sql", "rows", "refused", "benchmark"].contains(&block.words),
                "no block `{}`",
                block.words
            ),
        }
    }
    let catalog = Catalog::load(files, Dialect::Sqlite);
    assert_eq!(validate(&catalog, &[]).errors, Vec::new());
    (catalog, sqlite::database(&json!({"tables": tables})))
}

/// Parses names with types, then rows, with cells between bars.
fn table(text: &str) -> Value {
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = text.lines();
    let columns: Vec<(String, String)> = cells(lines.next().expect("names"))
        .iter()
        .map(|column| {
            let (name, kind) = column.split_once(' ').expect("a name and a type");
            (name.to_owned(), kind.to_owned())
        })
        .collect();
    let value =
        |(cell, (_, kind)): (&String, &(String, String))| match (cell.as_str(), kind.as_str()) {
            ("NULL", _) => Value::Null,
            (cell, "int") => json!(cell.parse::<i64>().expect("a whole number")),
            (cell, "float") => json!(cell.parse::<f64>().expect("a number")),
            (cell, _) => json!(cell),
        };
    let rows: Vec<Vec<Value>> = lines
        .map(|line| {
            let cells = cells(line);
            assert_eq!(cells.len(), columns.len(), "{line}");
            cells.iter().zip(&columns).map(value).collect()
        })
        .collect();
    json!({"columns": columns, "rows": rows})
}

/// Numbers 1 to 10 of the contract.
#[test]
fn documents_show_the_sql_and_rows_of_today() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    let mut queries = 0;
    for path in paths {
        let document = std::fs::read_to_string(&path).expect("a document");
        let answered = answered(&document);
        queries += answered.matches("\n```query\n").count();
        if std::env::var_os("KTX_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &answered).expect("the document is written");
        } else {
            let name = path.file_name().map(|name| name.to_string_lossy());
            assert_eq!(
                answered, document,
                "{name:?} is stale: set KTX_UPDATE_DOCS=1 and look at the difference"
            );
        }
    }
    assert!(queries >= 12, "{queries} queries");
}
