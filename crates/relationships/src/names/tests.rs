//! Tests the reading of names.

use std::collections::BTreeSet;

use crate::names::entity::{ColumnName, KeyMark, TableName, entity_match};
use crate::names::modules::Modules;
use crate::names::prefix::{Prefix, shared_prefix};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn reads_the_entity_out_of_a_table_name() {
    let check = |name: &str, entity: &str, layer: Option<&str>, namespace: Option<&str>| {
        let modules = Modules {
            first: BTreeSet::from(["crm".to_owned()]),
            last: BTreeSet::from(["us".to_owned()]),
        };
        let read = TableName::read(name, None, &modules);
        assert_eq!(
            (read.words.join(" "), read.layer, read.namespace.as_deref()),
            (entity.to_owned(), layer, namespace),
            "{name}"
        );
    };
    check("orders", "orders", None, None);
    check("stg_orders", "orders", Some("staging"), None);
    check("DimCustomer", "customer", Some("mart"), None);
    check("tblCustomer", "customer", None, None);
    check("crm_customers_backup", "customers", None, Some("crm"));
    check("crm2_customers", "customers", None, Some("crm2"));
    check("order_items_us", "order items", None, Some("us"));
    check("SalesOrderHeader", "sales order", None, None);
    check("dim", "dim", None, None);
    check("bronze_t2048", "t 2048", Some("raw"), None);
    check("crm_t2048", "t 2048", None, Some("crm"));
}

#[test]
fn reads_the_base_out_of_a_column_name() {
    let none = BTreeSet::new();
    let check = |name: &str, base: &str, mark: KeyMark| {
        let read = ColumnName::read(name, None, &none);
        assert_eq!(
            (read.base().join(" "), read.mark),
            (base.to_owned(), mark),
            "{name}"
        );
    };
    check("customer_id", "customer", KeyMark::Strong);
    check("idCliente", "cliente", KeyMark::Strong);
    check("fk_cust", "cust", KeyMark::Strong);
    check("custNo", "cust", KeyMark::Weak);
    check("id", "", KeyMark::Strong);
    check("quantity", "quantity", KeyMark::None);
    assert!(ColumnName::read("quantity", None, &none).measure);
    assert!(ColumnName::read("num_items", None, &none).measure);
    assert!(!ColumnName::read("price_list_id", None, &none).measure);
    assert!(!ColumnName::read("c12", None, &none).telling);
    assert_eq!(
        ColumnName::read("l_orderkey", Some(&Prefix::Word("l".to_owned())), &none).bases,
        [words("orderkey"), words("order"), words("l orderkey")]
    );
    assert_eq!(
        shared_prefix(["l_orderkey", "l_partkey", "l_tax"].into_iter()),
        Some(Prefix::Word("l".to_owned()))
    );
    let glued = Prefix::Letters("oh".to_owned());
    assert_eq!(
        ColumnName::read("OHCUST", Some(&glued), &none).bases,
        [words("cust"), words("ohcust")]
    );
    assert_eq!(
        shared_prefix(["OHORD", "OHCUST", "OHDATE"].into_iter()),
        Some(glued)
    );
    assert_eq!(shared_prefix(["id", "name", "l_tax"].into_iter()), None);
}

#[test]
fn entities_are_matched_from_the_end_of_the_name() {
    let check = |base: &str, table: &str, low: f64, high: f64| {
        let found = entity_match(&words(base), &words(table));
        assert!((low..=high).contains(&found), "{base} {table} {found}");
    };
    check("customer", "customers", 0.95, 1.0);
    check("billing address", "addresses", 0.88, 0.95);
    check("address billing", "addresses", 0.55, 0.65);
    check("orderitem", "order items", 0.9, 1.0);
    check("customer", "crm customers", 0.82, 0.9);
    check("order", "order items", 0.3, 0.45);
    check("so", "sales order", 0.7, 0.75);
    check("cust", "customers", 0.8, 0.9);
    check("kundenadresse", "adresse", 0.75, 0.85);
    check("quantity", "customers", 0.0, 0.0);
}
