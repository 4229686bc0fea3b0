//! Tests of the JSON lines.

use ktx_sql::Dialect;

use super::verdict_line;

#[test]
fn an_allowed_text_comes_with_its_statement() {
    assert_eq!(
        verdict_line(
            r#"{"id": "a", "dialect": "postgres", "sql": "select 1 -- x"}"#,
            None
        ),
        r#"{"id":"a","allowed":true,"code":null,"reason":null,"statement":"SELECT 1"}"#
    );
}

#[test]
fn a_refused_text_comes_with_code_and_reason() {
    assert_eq!(
        verdict_line(
            r#"{"id": 7, "dialect": "sqlserver", "sql": "DROP TABLE t"}"#,
            None
        ),
        concat!(
            r#"{"id":7,"allowed":false,"code":"not_a_query","#,
            r#""reason":"only queries are allowed","statement":null}"#
        )
    );
}

#[test]
fn an_unknown_dialect_is_an_invalid_request() {
    assert_eq!(
        verdict_line(r#"{"id": "b", "dialect": "cobol", "sql": "x"}"#, None),
        concat!(
            r#"{"id":"b","allowed":false,"code":"invalid_request","#,
            r#""reason":"the dialect `cobol` is not known","statement":null}"#
        )
    );
}

#[test]
fn a_line_that_is_not_a_request_is_answered_as_well() {
    assert_eq!(
        verdict_line("{", None),
        concat!(
            r#"{"id":null,"allowed":false,"code":"invalid_request","#,
            r#""reason":"EOF while parsing an object at line 1 column 1","statement":null}"#
        )
    );
}

#[test]
fn a_line_without_a_dialect_is_judged_by_the_usual_one() {
    let quoted = r#"{"id": 1, "sql": "select `a` from t"}"#;
    assert_eq!(
        verdict_line(quoted, Some(Dialect::MySql)),
        r#"{"id":1,"allowed":true,"code":null,"reason":null,"statement":"SELECT `a` FROM t"}"#
    );
    assert_eq!(
        verdict_line(
            r#"{"id": 1, "dialect": "mysql", "sql": "select `a` from t"}"#,
            Some(Dialect::Postgres)
        ),
        r#"{"id":1,"allowed":true,"code":null,"reason":null,"statement":"SELECT `a` FROM t"}"#
    );
    assert_eq!(
        verdict_line(quoted, None),
        concat!(
            r#"{"id":1,"allowed":false,"code":"invalid_request","#,
            r#""reason":"the line has no `dialect`","statement":null}"#
        )
    );
}
