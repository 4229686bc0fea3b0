//! Names in policies.

use ktx_vocabulary::TableRef;

use super::pattern::{ColumnPattern, Pattern};

#[test]
fn a_name_fits_every_table_that_ends_in_it() {
    let fits = |pattern: &str, table: &str| Pattern::of(pattern).fits(table.split('.'));
    let cases = [
        ("orders", "orders", true),
        ("orders", "public.orders", true),
        ("Orders", "shop.public.ORDERS", true),
        ("\"orders\"", "public.orders", true),
        ("public.orders", "public.orders", true),
        ("public.orders", "sales.orders", false),
        ("public.orders", "orders", false),
        ("hr.*", "hr.people", true),
        ("hr.*", "shop.hr.people", true),
        ("hr.*", "people", false),
        ("*_raw", "public.orders_raw", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxcyyb", false),
        ("*", "anything", true),
        ("order", "orders", false),
    ];
    for (pattern, table, expected) in cases {
        assert_eq!(fits(pattern, table), expected, "{pattern} {table}");
    }
}

#[test]
fn a_column_is_named_after_its_table() {
    assert_eq!(ColumnPattern::of("email"), None);
    let table = TableRef::new(None, Some("public"), "customers");
    let fits = |name: &str, column: &str| {
        ColumnPattern::of(name).is_some_and(|pattern| pattern.fits(&table, column))
    };
    assert!(fits("customers.email", "EMAIL"));
    assert!(fits("public.customers.e*", "email"));
    assert!(!fits("customers.email", "name"));
    assert!(!fits("orders.email", "email"));
}
