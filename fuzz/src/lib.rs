//! What the fuzz targets share: inputs whose first line names a dialect, and a model to ask.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_warehouse::{Dialect, gate};
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;

/// The dialect that the first line names and the lines behind it. When the line names none, the
/// first byte chooses a dialect and the whole is the text.
pub fn split(input: &str) -> (Dialect, &str) {
    if let Some((line, text)) = input.split_once('\n')
        && let Some(dialect) = Dialect::parse(line)
    {
        return (dialect, text);
    }
    let choice = input.bytes().next().map_or(0, usize::from);
    let dialect = Dialect::ALL[choice % Dialect::ALL.len()];
    (dialect, input)
}

/// The sources of the model `ledger`, and `extra` as one more.
pub fn catalog(dialect: Dialect, extra: Option<&str>) -> Catalog {
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

/// Compiles the query; what comes out has to pass the gate and to be one query to the parser. An
/// expression may call a function that only its author knows, and that the gate does not.
pub fn ask(catalog: &Catalog, query: &Query, dialect: Dialect) {
    let Ok(compiled) = compile(catalog, query, dialect) else {
        return;
    };
    let sql = &compiled.sql;
    if let Err(refusal) = gate::check(sql, dialect) {
        if refusal.code == "function_not_allowed" {
            return;
        }
        panic!("{dialect}: the gate says {refusal}\n{sql}");
    }
    match Parser::parse_sql(&*dialect.grammar(), sql) {
        Ok(statements) => assert!(
            matches!(statements.as_slice(), [Statement::Query(_)]),
            "{dialect}: {} statements\n{sql}",
            statements.len()
        ),
        Err(error) => panic!("{dialect}: {error}\n{sql}"),
    }
}
