//! Compares the functions with SQLite's own.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::add;

fn session() -> Connection {
    let session = Connection::open_in_memory().unwrap();
    add(&session).unwrap();
    session
}

#[test]
fn no_function_depends_on_how_the_library_was_compiled() {
    let session = session();
    for call in [
        "acos 1",
        "acosh 1",
        "asin 1",
        "asinh 1",
        "atan 1",
        "atan2 2",
        "atanh 1",
        "ceil 1",
        "ceiling 1",
        "cos 1",
        "cosh 1",
        "degrees 1",
        "exp 1",
        "floor 1",
        "ln 1",
        "log 1",
        "log 2",
        "log10 1",
        "log2 1",
        "mod 2",
        "pi 0",
        "pow 2",
        "power 2",
        "radians 1",
        "sin 1",
        "sinh 1",
        "sqrt 1",
        "tan 1",
        "tanh 1",
        "trunc 1",
    ] {
        let (name, arguments) = call.split_once(' ').unwrap();
        let arguments: i64 = arguments.parse().unwrap();
        let ours: bool = session
            .query_row(
                "SELECT count(*) > 0 FROM pragma_function_list
                 WHERE name = ?1 AND narg = ?2 AND NOT builtin",
                rusqlite::params![name, arguments],
                |row| row.get(0),
            )
            .unwrap();
        assert!(ours, "{call}");
    }
}

#[test]
fn functions_answer_as_sqlite_does() {
    let session = session();
    for (expression, expected) in [
        ("ceil(2)", Some(2.0)),
        ("ceil(2.1)", Some(3.0)),
        ("ceil('2.1')", Some(3.0)),
        ("ceiling('x')", None),
        ("ceil(x'31')", None),
        ("floor(-2.5)", Some(-3.0)),
        ("trunc(-2.7)", Some(-2.0)),
        ("ln(0)", None),
        ("ln(-1)", None),
        ("ln(exp(1))", Some(1.0)),
        ("log(100)", Some(2.0)),
        ("log('100')", Some(2.0)),
        ("log(2, 8)", Some(3.0)),
        ("log(1, 8)", None),
        ("log(0.5, 8)", None),
        ("log(2, 0)", None),
        ("log10(100)", Some(2.0)),
        ("log2(8)", Some(3.0)),
        ("sqrt(-1)", None),
        ("sqrt(NULL)", None),
        ("sqrt('1e2')", Some(10.0)),
        ("sqrt('1.')", Some(1.0)),
        ("sqrt('inf')", None),
        ("sqrt('')", None),
        ("sqrt('9x')", None),
        ("mod(7, 3)", Some(1.0)),
        ("mod(-7, 2)", Some(-1.0)),
        ("mod(7, 0)", None),
        ("mod(5.5, 2)", Some(1.5)),
        ("pow(2, 10)", Some(1024.0)),
        ("power('2', '3')", Some(8.0)),
        ("atan2(1, 1) * 4 - pi()", Some(0.0)),
        ("degrees(pi())", Some(180.0)),
        ("radians(180) - pi()", Some(0.0)),
        ("acos(2)", None),
        (
            "acos(1) + asin(0) + atan(0) + acosh(1) + asinh(0) + atanh(0)",
            Some(0.0),
        ),
        (
            "cos(0) + cosh(0) + sin(0) + sinh(0) + tan(0) + tanh(0)",
            Some(2.0),
        ),
    ] {
        let value: Option<f64> = session
            .query_row(&format!("SELECT {expression}"), [], |row| {
                Ok(match row.get(0)? {
                    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
                    Value::Integer(whole) => Some(whole as f64),
                    Value::Real(real) => Some(real),
                    _ => None,
                })
            })
            .unwrap();
        assert_eq!(value, expected, "{expression}");
    }
}

#[test]
fn a_whole_number_stays_exact() {
    let session = session();
    let whole: i64 = session
        .query_row(
            "SELECT trunc(9007199254740993) + ceil(0) + floor(' 3 ')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(whole, 9_007_199_254_740_996);
}
