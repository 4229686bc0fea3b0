//! What each fuzz target asks of one input; an input that it is not true of makes it panic. The tests of
//! the semantic layer read this file too, and ask the same of inputs made from the corpus.

use std::fmt::Write as _;

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile, self_tests, validate};
use ktx_semantic_tools::format_source;
use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;

/// The dialect that the first line names and the lines behind it. When the line names none, the
/// first byte chooses a dialect and the whole is the text.
fn split(input: &str) -> (Dialect, &str) {
    if let Some((line, text)) = input.split_once('\n')
        && let Some(dialect) = Dialect::parse(line)
    {
        return (dialect, text);
    }
    let choice = input.bytes().next().map_or(0, usize::from);
    let all = Dialect::ALL;
    let dialect = all[choice % all.len()];
    (dialect, input)
}

/// The sources of the model `ledger`, and `extra` as one more.
fn catalog(dialect: Dialect, extra: Option<&str>) -> Catalog {
    const SOURCES: [(&str, &str); 6] = [
        (
            "badges.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/badges.yaml"),
        ),
        (
            "costs.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/costs.yaml"),
        ),
        (
            "hours.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/hours.yaml"),
        ),
        (
            "members.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/members.yaml"),
        ),
        (
            "plans.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/plans.yaml"),
        ),
        (
            "teams.yaml",
            include_str!("../../fixtures/semantic-layer-cases/models/ledger/sources/teams.yaml"),
        ),
    ];
    let mut files: Vec<SourceFile> = SOURCES
        .into_iter()
        .map(|(path, text)| SourceFile::new(path, text))
        .collect();
    files.extend(extra.map(|text| SourceFile::new("extra.yaml", text)));
    Catalog::load(files, dialect)
}

/// Whether expressions may hold operators that the stock parser does not know.
fn has_more(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::DuckDb | Dialect::Sqlite | Dialect::ClickHouse
    )
}

/// Compiles the query; what comes out has to pass the gate, and to be one query to the stock parser where
/// that knows all of its operators, as the gate does. An expression may call a function that only its author
/// knows, and that the gate does not.
fn ask(catalog: &Catalog, query: &Query, dialect: Dialect) {
    let Ok(compiled) = compile(catalog, query, dialect) else {
        return;
    };
    let sql = &compiled.sql;
    if let Err(refusal) = ktx_read_only_sql::check(sql, dialect) {
        if refusal.code.as_str() == "function_not_allowed" {
            return;
        }
        panic!("{dialect}: the gate says {refusal}\n{sql}");
    }
    match Parser::parse_sql(&Grammar::new(dialect), sql) {
        Ok(statements) => assert!(
            matches!(statements.as_slice(), [Statement::Query(_)]),
            "{dialect}: {} statements\n{sql}",
            statements.len()
        ),
        Err(error) => assert!(has_more(dialect), "{dialect}: {error}\n{sql}"),
    }
}

/// Whatever the gate allows is one query that it allows again, unchanged.
pub fn gate_holds(input: &str) {
    let (dialect, sql) = split(input);
    let Ok(allowed) = ktx_read_only_sql::check(sql, dialect) else {
        return;
    };
    assert_eq!(
        ktx_read_only_sql::check(allowed.as_str(), dialect).as_ref(),
        Ok(&allowed),
        "{dialect}: {sql:?}"
    );
    // The stock parser does not know every clause; what it does read has to be one query.
    if let Ok(statements) = Parser::parse_sql(&Grammar::new(dialect), allowed.as_str()) {
        assert!(
            matches!(statements.as_slice(), [Statement::Query(_)]),
            "{dialect}: {allowed:?}"
        );
    }
    let limited = allowed.with_row_limit(7);
    assert!(
        ktx_read_only_sql::check(limited.as_str(), dialect).is_ok(),
        "{dialect}: {limited:?}"
    );
}

/// The text as a double-quoted scalar, which YAML and JSON read alike.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if u32::from(letter) < 0x20 => {
                write!(quoted, "\\u{:04x}", u32::from(letter)).expect("text grows");
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Any text may stand as the expression of a measure, of a column and of a filter: it compiles to
/// one query or is refused.
pub fn expression_holds(input: &str) {
    let (dialect, text) = split(input);
    let text = quoted(text);
    let source = format!(
        "name: extra\ntable: extra\ngrain: [id]\ncolumns:\n- name: id\n  type: number\n\
         - name: computed\n  type: number\n  expr: {text}\nmeasures:\n- name: measured\n  expr: {text}\n\
         - name: filtered\n  expr: sum(id)\n  filter: {text}\n"
    );
    let loaded = catalog(dialect, Some(&source));
    let questions = [
        r#"{"measures": ["extra.measured"]}"#.to_owned(),
        r#"{"measures": ["extra.filtered"], "dimensions": ["extra.computed"]}"#.to_owned(),
        format!(r#"{{"measures": [{text}]}}"#),
        format!(r#"{{"measures": ["costs.spent_total"], "filters": [{text}]}}"#),
    ];
    for question in questions {
        if let Ok(query) = Query::from_json(&question) {
            ask(&loaded, &query, dialect);
        }
    }
}

/// Any JSON text as a query compiles to one statement or is refused.
pub fn query_holds(input: &str) {
    let (dialect, text) = split(input);
    if let Ok(query) = Query::from_json(text) {
        ask(&catalog(dialect, None), &query, dialect);
    }
}

/// Any text of a source loads or is explained, and what the formatter writes it leaves alone.
pub fn source_holds(input: &str) {
    let (dialect, text) = split(input);
    let loaded = catalog(dialect, Some(text));
    validate(&loaded, &[]);
    self_tests(&loaded, None);
    loaded.list();
    if let Ok(formatted) = format_source(text, "extra.yaml") {
        assert_eq!(
            format_source(&formatted, "extra.yaml").as_ref(),
            Ok(&formatted)
        );
    }
}
