//! Calls in SQL texts.

use super::{FUNCTION, calls};

fn found(text: &str) -> Vec<String> {
    let shown =
        |call: &super::Call<'_>| format!("{} -> {}", call.whole, call.arguments.join(" | "));
    calls(text, FUNCTION).iter().map(shown).collect()
}

#[test]
fn calls_are_found_outside_of_quotes_and_names() {
    assert_eq!(
        found("avg(per(customers, count(orders.*))) + 1"),
        ["per(customers, count(orders.*)) -> customers | count(orders.*)"]
    );
    assert_eq!(
        found(
            "PER ( a , b.c ) = 'per(x, y)' and a.per(1, 2) and super(1, 2) and \"per(q, r)\" = 1"
        ),
        ["PER ( a , b.c ) -> a | b.c"]
    );
    assert_eq!(
        found("per(a, per(b, sum(c.d))) > per(a, count_if(c.e = ')'))"),
        [
            "per(a, per(b, sum(c.d))) -> a | per(b, sum(c.d))",
            "per(a, count_if(c.e = ')')) -> a | count_if(c.e = ')')"
        ]
    );
    assert!(found("per(a, b").is_empty());
}
