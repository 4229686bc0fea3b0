//! Tests of splitting a text into pieces.

use ktx_sql::Dialect;

use super::{Piece, pieces};

fn check(dialect: Dialect, sql: &str, expected: &[Piece<'_>]) {
    assert_eq!(pieces(sql, dialect).as_deref(), Ok(expected));
}

fn refuses(dialect: Dialect, sql: &str, code: &str) {
    assert_eq!(
        pieces(sql, dialect).map_err(|refusal| refusal.code.as_str()),
        Err(code)
    );
}

#[test]
fn a_backslash_ends_or_does_not_end_a_text_as_the_server_has_it() {
    let plain = [Piece::Text(r"'a\'"), Piece::Semicolon, Piece::Code("b")];
    for dialect in [
        Dialect::Postgres,
        Dialect::Sqlite,
        Dialect::DuckDb,
        Dialect::SqlServer,
        Dialect::Trino,
    ] {
        check(dialect, r"'a\';b", &plain);
    }
    for dialect in [
        Dialect::MySql,
        Dialect::MariaDb,
        Dialect::BigQuery,
        Dialect::ClickHouse,
        Dialect::Snowflake,
        Dialect::Databricks,
        Dialect::Redshift,
    ] {
        check(dialect, r"'a\';b'", &[Piece::Text(r"'a\';b'")]);
    }
}

#[test]
fn prefixes_belong_to_a_text_only_at_the_start_of_a_word() {
    check(Dialect::DuckDb, r"E'\''", &[Piece::Text(r"E'\''")]);
    check(
        Dialect::Postgres,
        r"namE'\'",
        &[Piece::Code("namE"), Piece::Text(r"'\'")],
    );
    check(
        Dialect::Sqlite,
        r"e'\'",
        &[Piece::Code("e"), Piece::Text(r"'\'")],
    );
    check(Dialect::BigQuery, r"rb'\d'", &[Piece::Text(r"rb'\d'")]);
    refuses(Dialect::BigQuery, r"r'\'; x'", "unusual_character");
    check(Dialect::Databricks, r"r'\'", &[Piece::Text(r"r'\'")]);
}

#[test]
fn dollar_quotes_end_at_their_own_tag() {
    check(
        Dialect::Postgres,
        "$a$;$$;$a$",
        &[Piece::Text("$a$;$$;$a$")],
    );
    check(Dialect::Snowflake, "$$a;b$$", &[Piece::Text("$$a;b$$")]);
    check(Dialect::Postgres, "$1", &[Piece::Code("$1")]);
    check(Dialect::Postgres, "a$$b", &[Piece::Code("a$$b")]);
    refuses(Dialect::Postgres, "$a$ x", "unterminated");
}

#[test]
fn names_are_quoted_as_the_server_quotes_them() {
    check(Dialect::SqlServer, "[a]];b]", &[Piece::Name("[a]];b]")]);
    check(
        Dialect::Sqlite,
        "[a];b",
        &[Piece::Name("[a]"), Piece::Semicolon, Piece::Code("b")],
    );
    check(Dialect::MySql, "`a``b`", &[Piece::Name("`a``b`")]);
    check(Dialect::MySql, r#""a;b""#, &[Piece::Text(r#""a;b""#)]);
    check(Dialect::Postgres, r#""a;b""#, &[Piece::Name(r#""a;b""#)]);
    refuses(Dialect::Postgres, "`a`", "unusual_character");
    refuses(Dialect::BigQuery, r"`a\`", "unusual_character");
}

#[test]
fn comments_nest_only_where_the_server_nests_them() {
    check(
        Dialect::Postgres,
        "/*/**/;*/",
        &[Piece::Comment("/*/**/;*/")],
    );
    check(
        Dialect::MySql,
        "/*/**/;",
        &[Piece::Comment("/*/**/"), Piece::Semicolon],
    );
    refuses(Dialect::Postgres, "/*/**/", "unterminated");
    refuses(Dialect::MariaDb, "/*M!1*/", "executable_comment");
    check(Dialect::MariaDb, "'/*!1*/'", &[Piece::Text("'/*!1*/'")]);
}

#[test]
fn line_comments_start_as_the_server_has_it() {
    check(
        Dialect::Postgres,
        "1--2",
        &[Piece::Code("1"), Piece::Comment("--2")],
    );
    check(Dialect::MySql, "1--2", &[Piece::Code("1--2")]);
    check(
        Dialect::MySql,
        "1-- 2",
        &[Piece::Code("1"), Piece::Comment("-- 2")],
    );
    check(
        Dialect::MySql,
        "1#2",
        &[Piece::Code("1"), Piece::Comment("#2")],
    );
    check(Dialect::SqlServer, "#t", &[Piece::Code("#t")]);
    refuses(Dialect::Postgres, "-- a\rb", "unusual_character");
}

#[test]
fn hexadecimal_numbers_stay_whole() {
    check(
        Dialect::SqlServer,
        "0x1F,",
        &[Piece::Text("0x1F"), Piece::Code(",")],
    );
    check(Dialect::SqlServer, "a0x1F", &[Piece::Code("a0x1F")]);
}
