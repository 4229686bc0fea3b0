//! Tests of the verdicts on functions.

use ktx_warehouse::FunctionVerdict;

use super::{DatabaseFunction, verdict};

fn tax() -> DatabaseFunction {
    DatabaseFunction {
        schema: "public".to_owned(),
        signature: "tax(numeric)".to_owned(),
        volatility: "i".to_owned(),
        security_definer: false,
        language: "sql".to_owned(),
        kind: "f".to_owned(),
    }
}

#[track_caller]
fn refused(other: DatabaseFunction, because: &str) {
    let because = because.to_owned();
    let expected = FunctionVerdict::MayWrite { because };
    assert_eq!(verdict(&[tax(), other]), expected);
}

#[test]
fn every_overload_has_to_be_a_function_that_only_reads() {
    assert_eq!(verdict(&[]), FunctionVerdict::NotFound);
    let stable = DatabaseFunction {
        volatility: "s".to_owned(),
        language: "plpgsql".to_owned(),
        ..tax()
    };
    assert_eq!(verdict(&[tax(), stable]), FunctionVerdict::Reads);
    refused(
        DatabaseFunction {
            volatility: "v".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is VOLATILE",
    );
    refused(
        DatabaseFunction {
            security_definer: true,
            ..tax()
        },
        "`tax(numeric)` is SECURITY DEFINER and runs with the rights of its owner",
    );
    refused(
        DatabaseFunction {
            schema: "pg_catalog".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is a function of the server itself",
    );
    refused(
        DatabaseFunction {
            language: "plpython3u".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is written in `plpython3u`, where PostgreSQL does not enforce the volatility",
    );
    refused(
        DatabaseFunction {
            kind: "a".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is an aggregate, whose volatility PostgreSQL does not record",
    );
}
