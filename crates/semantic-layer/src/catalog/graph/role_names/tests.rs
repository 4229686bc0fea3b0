//! Roles of key columns.

use super::role_of_key;

#[test]
fn the_role_is_the_key_column_without_what_makes_it_a_key() {
    let roles = [
        ("billing_address_id", "billing_address"),
        ("BillToAddressID", "BillToAddress"),
        ("shippingAddressId", "shippingAddress"),
        ("customer_key", "customer"),
        ("currency_code", "currency"),
        ("hausarzt_nr", "hausarzt"),
        ("id_cliente_factura", "cliente_factura"),
        ("fk_owner_id", "owner"),
        ("reports_to", "reports_to"),
        ("boss", "boss"),
        ("id", "id"),
        ("_id", "_id"),
        ("id_", "id"),
        ("größe_id", "größe"),
        ("ID", "ID"),
    ];
    for (column, role) in roles {
        assert_eq!(role_of_key(column, "number"), role, "{column}");
    }
}

#[test]
fn names_that_run_together_share_their_ending_with_the_key() {
    let roles = [
        ("billtoaddressid", "addressid", "billtoaddress"),
        ("SALESPERSONID", "BUSINESSENTITYID", "SALESPERSON"),
        ("sizeunitmeasurecode", "unitmeasurecode", "sizeunitmeasure"),
        ("paid", "number", "paid"),
        ("id", "id", "id"),
    ];
    for (column, far, role) in roles {
        assert_eq!(role_of_key(column, far), role, "{column}");
    }
}
