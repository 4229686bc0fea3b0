//! Tests of the verdicts on functions.

use ktx_warehouse::FunctionVerdict;

use super::{Function, verdict};

fn tax() -> Function {
    Function {
        schema: "public".to_owned(),
        signature: "tax(numeric)".to_owned(),
        volatility: "i".to_owned(),
        security_definer: false,
        language: "sql".to_owned(),
        kind: "f".to_owned(),
    }
}

#[track_caller]
fn refused(other: Function, because: &str) {
    let because = because.to_owned();
    let expected = FunctionVerdict::MayWrite { because };
    assert_eq!(verdict(&[tax(), other]), expected);
}

#[test]
fn every_overload_has_to_be_a_function_that_only_reads() {
    assert_eq!(verdict(&[]), FunctionVerdict::NotFound);
    let stable = Function {
        volatility: "s".to_owned(),
        language: "plpgsql".to_owned(),
        ..tax()
    };
    assert_eq!(verdict(&[tax(), stable]), FunctionVerdict::Reads);
    refused(
        Function {
            volatility: "v".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is VOLATILE",
    );
    refused(
        Function {
            security_definer: true,
            ..tax()
        },
        "`tax(numeric)` is SECURITY DEFINER and runs with the rights of its owner",
    );
    refused(
        Function {
            schema: "pg_catalog".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is a function of the server itself",
    );
    refused(
        Function {
            language: "plpython3u".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is written in `plpython3u`, where PostgreSQL does not enforce the volatility",
    );
    refused(
        Function {
            kind: "a".to_owned(),
            ..tax()
        },
        "`tax(numeric)` is an aggregate, whose volatility PostgreSQL does not record",
    );
}
