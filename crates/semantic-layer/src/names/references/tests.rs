//! Dotted names in queries.

use super::{references, renamed};

fn found(text: &str) -> Vec<String> {
    let all = references(text).into_iter();
    all.map(|one| one.names().join("|")).collect()
}

#[test]
fn dotted_names_are_found_outside_of_texts() {
    assert_eq!(found("orders.customer.name"), ["orders|customer|name"]);
    assert_eq!(
        found("sum(orders.total) / count_distinct(a.b.c) > 1.5 and d.e = 'x.y''z.w'"),
        [
            "sum",
            "orders|total",
            "count_distinct",
            "a|b|c",
            "and",
            "d|e"
        ]
    );
    assert_eq!(
        found("\"my table\".\"a \"\"b\"\"\" + `x`.y"),
        ["my table|a \"b\"", "x|y"]
    );
    assert_eq!(found("[My Table].[x] = 1"), ["My Table|x"]);
    assert_eq!(found("café.größe"), ["café|größe"]);
    assert_eq!(found("count(orders.*)"), ["count", "orders"]);
    assert_eq!(found("'never closed a.b"), [""; 0]);
}

#[test]
fn the_front_of_a_name_has_a_place() {
    let text = "sum(a.\"b c\".d)";
    let name = references(text).into_iter().nth(1).expect("a name");
    assert_eq!(
        name.front(2).and_then(|place| text.get(place)),
        Some("a.\"b c\"")
    );
    assert_eq!(name.front(0), None);
    assert_eq!(name.front(4), None);
}

#[test]
fn a_source_is_renamed_where_a_name_begins_with_it() {
    let text = "sum(country.area) > 1 and Country.name = 'country.x' and city.country.id = country";
    assert_eq!(
        renamed(text, "country", "orders.billing_address.city.country"),
        "sum(orders.billing_address.city.country.area) > 1 and orders.billing_address.city.country.name = \
         'country.x' and city.country.id = country"
    );
    assert_eq!(renamed("a.b.c + a.c", "a.b", "x"), "x.c + a.c");
}
