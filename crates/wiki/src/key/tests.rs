//! Tests of page keys.

use ktx_diagnostics::Hints as _;

use super::parse_key;

fn check(text: &str, expected: &str) {
    let shown = match parse_key(text) {
        Ok(key) => format!("ok {key}"),
        Err(error) => {
            let hints: Vec<String> = error.hints().iter().map(ToString::to_string).collect();
            format!("{error} | {}", hints.join(", "))
        }
    };
    assert_eq!(shown, expected);
}

#[test]
fn takes_flat_keys_and_proposes_the_dashed_form_of_others() {
    check("revenue-policy_2", "ok revenue-policy_2");
    check(
        "finance/revenue",
        "unsafe wiki key `finance/revenue`: keys are flat, of letters, digits, `_` and `-` | use `finance-revenue`",
    );
    check(
        "wiki/global/Net Revenue.md",
        "unsafe wiki key `wiki/global/Net Revenue.md`: keys are flat, of letters, digits, `_` and `-` | use `Net-Revenue`",
    );
    check(
        "../..",
        "unsafe wiki key `../..`: keys are flat, of letters, digits, `_` and `-` | ",
    );
}
