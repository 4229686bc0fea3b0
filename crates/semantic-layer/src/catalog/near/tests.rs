//! Discarding candidates never loses a name.

use super::*;

fn check(wanted: &str, candidates: &[&str]) {
    assert_eq!(
        nearest(wanted, candidates.iter().copied()),
        ktx_diagnostics::nearest(wanted, candidates.iter().copied()),
        "{wanted}"
    );
}

#[test]
fn finds_what_comparing_everything_finds() {
    let long = "customer_lifetime_value_in_the_currency_of_the_shop_where_it_was_bought";
    let names = [
        "orders",
        "Orders",
        "order_items",
        "ordres",
        "sredro",
        "customers",
        "customer",
        "id",
        "",
        "größe",
        "GRÖSSE",
        "x",
        "aa",
        "revenue_2024",
        long,
    ];
    for wanted in names
        .into_iter()
        .chain(["ordesr", "revenue", "grosse", "i", "customer_lifetime"])
    {
        check(wanted, &names);
    }
    assert_eq!(nearest("ordesr", names), ["Orders", "orders", "ordres"]);
}
