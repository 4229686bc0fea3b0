//! Tests that the gate terminates, and that an allowed text is one query without effects.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};
use proptest::sample::select;
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use sqlparser::ast::{Query, SetExpr, Statement, Visitor};
use sqlparser::parser::Parser;

use crate::corpus::{FRESH, OWN, SHARED, cases};

/// Everything that quotes, ends, hides or starts something.
const PARTS: &[&str] = &[
    "SELECT",
    "1",
    "'",
    "\"",
    "`",
    "[",
    "]",
    "\\",
    "\\'",
    "''",
    "$$",
    "$a$",
    "E'",
    "r'",
    "'''",
    ";",
    "--",
    "-- ",
    "#",
    "//",
    "/*",
    "*/",
    "/*!",
    "\n",
    "\r",
    " ",
    "DROP TABLE t",
    "FROM",
    "t",
    "(",
    ")",
    ",",
    "INTO",
    "@v",
    ":=",
    "=",
    "WITH",
    "AS",
    "x",
    "UNION",
    "DELETE FROM t",
    "FOR UPDATE",
    "EXEC",
    "pg_sleep(1)",
    "nextval('s')",
    "- -1",
    "0x1F",
    "'a'",
    "LIMIT",
    "OPTION",
    "USING SAMPLE",
    "PIVOT",
    "ON",
    "TABLE",
    "ASOF JOIN",
    "ANY",
    "JOIN",
    "u",
    ".1",
    "ktx_0",
    "'ktx_0'",
    "SAFE.f(1)",
    "?",
    ":",
    "GLOBAL",
    "IN",
    "NOT",
    "APPLY(max)",
    "COLUMNS('a')",
    "* LIKE 'b'",
    "[x FOR x IN y]",
    "UNPIVOT",
    "INTO NAME n VALUE v",
    "ARRAY JOIN",
    "EXCLUDE TIES",
    "OVER (ROWS CURRENT ROW",
    "SEARCH DEPTH FIRST BY a SET b",
    "CAST(a AS",
    "DECIMAL(1, 2))",
    "::String",
    "RETURNING int)",
    "json_value(a",
    "FOR SYSTEM_TIME AS OF",
    "FOR SYSTEM_TIME BETWEEN",
    "AND",
    "@v3",
    "FINAL",
    "BINARY",
    "INTERVAL 1",
    "HOUR_MINUTE",
    "GLOB 'a'",
    "DIV",
    "MOD",
    "ONLY t",
    "ROWS FROM (",
    "OPTION (MAXDOP 1)",
    "USE PLAN",
    "TABLESAMPLE 5%",
    "ktx__c0",
    "USING KEY (a)",
    "PARSE(a AS b USING c)",
    "BETWEEN SYMMETRIC",
    "|> DISTINCT",
    "ARRAY<STRUCT<a INT64>>[1]",
];

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_260_101),
        ..ProptestConfig::default()
    }
}

fn dialects() -> impl Strategy<Value = Dialect> {
    select(&Dialect::ALL[..])
}

fn assembled() -> impl Strategy<Value = String> {
    prop::collection::vec((select(PARTS), select(&["", " "][..])), 0..24).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(part, gap)| [part, gap])
            .collect()
    })
}

fn disturbed() -> impl Strategy<Value = (Dialect, String)> {
    let texts: Vec<(Dialect, String)> = [SHARED, OWN, FRESH]
        .into_iter()
        .flat_map(cases)
        .map(|case| (case.dialect, case.sql))
        .collect();
    (select(texts), select(PARTS), any::<prop::sample::Index>()).prop_map(
        |((dialect, mut sql), part, place)| {
            let places: Vec<usize> = sql.char_indices().map(|(at, _)| at).collect();
            if !places.is_empty() {
                sql.insert_str(*place.get(&places), part);
            }
            (dialect, sql)
        },
    )
}

struct OnlyQueries;

impl Visitor for OnlyQueries {
    type Break = String;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<String> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            other => ControlFlow::Break(other.to_string()),
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let writes = match query.body.as_ref() {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) => true,
            SetExpr::Select(select) => select.into.is_some(),
            _ => false,
        };
        if writes || !query.locks.is_empty() {
            return ControlFlow::Break(query.to_string());
        }
        ControlFlow::Continue(())
    }
}

pub(crate) fn holds(sql: &str, dialect: Dialect) -> Result<(), String> {
    let Ok(allowed) = ktx_read_only_sql::check(sql, dialect) else {
        return Ok(());
    };
    let again = ktx_read_only_sql::check(allowed.as_str(), dialect);
    if again.as_ref() != Ok(&allowed) {
        return Err(format!("{allowed:?} became {again:?}"));
    }
    // The plain parser does not know every clause.
    if let Ok(statements) = Parser::parse_sql(&Grammar::new(dialect), allowed.as_str()) {
        if statements.len() != 1 {
            return Err(format!("{} statements in {allowed:?}", statements.len()));
        }
        if let ControlFlow::Break(found) = ktx_sql::visit(&statements, &mut OnlyQueries) {
            return Err(format!("{found} in {allowed:?}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_judged(sql in any::<String>(), dialect in dialects()) {
        prop_assert_eq!(holds(&sql, dialect), Ok(()));
    }

    #[test]
    fn any_text_of_sql_parts_is_judged(sql in assembled(), dialect in dialects()) {
        prop_assert_eq!(holds(&sql, dialect), Ok(()));
    }

    #[test]
    fn any_disturbed_case_is_judged((dialect, sql) in disturbed()) {
        prop_assert_eq!(holds(&sql, dialect), Ok(()));
    }

    #[test]
    fn any_literal_of_the_dialect_passes_and_stays(text in "[^\u{0}]{0,20}", dialect in dialects()) {
        let sql = format!("SELECT {}", dialect.literal(&text));
        let printed = ktx_read_only_sql::check(&sql, dialect).map(|sql| sql.as_str().to_owned());
        prop_assert_eq!(printed, Ok(sql));
    }

    #[test]
    fn any_quoted_name_of_the_dialect_is_one_name(name in "[a-z '\";-]{1,12}", dialect in dialects()) {
        let quoted = dialect.quote(&name);
        let printed = ktx_read_only_sql::check(&format!("SELECT {quoted} FROM t"), dialect);
        prop_assert_eq!(printed.map(|sql| sql.as_str().to_owned()), Ok(format!("SELECT {quoted} FROM t")));
    }
}
