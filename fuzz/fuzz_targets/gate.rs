//! Whatever the gate allows is one query that it allows again, unchanged.
#![no_main]

use ktx_fuzz::split;
use ktx_warehouse::gate;
use libfuzzer_sys::fuzz_target;
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;

fuzz_target!(|input: &str| {
    let (dialect, sql) = split(input);
    let Ok(allowed) = gate::check(sql, dialect) else {
        return;
    };
    assert_eq!(
        gate::check(allowed.as_str(), dialect).as_ref(),
        Ok(&allowed),
        "{dialect}: {sql:?}"
    );
    // The stock parser does not know every clause; what it does read has to be one query.
    if let Ok(statements) = Parser::parse_sql(&*dialect.grammar(), allowed.as_str()) {
        assert!(
            matches!(statements.as_slice(), [Statement::Query(_)]),
            "{dialect}: {allowed:?}"
        );
    }
    let limited = allowed.with_row_limit(7);
    assert!(
        gate::check(limited.as_str(), dialect).is_ok(),
        "{dialect}: {limited:?}"
    );
});
