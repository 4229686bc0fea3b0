//! Tests modules and copies.

use crate::rivals::{drawn, links, table};

/// Another module's table contains the values as well.
#[tokio::test]
async fn the_table_of_the_own_module_is_meant() {
    let mut script = Vec::new();
    for (module, key, size) in [
        ("retail", "id", 300),
        ("wholesale", "id", 420),
        ("online", "", 500),
    ] {
        let own = |entity: &str| {
            let name = if key.is_empty() {
                format!("{entity}_id")
            } else {
                key.to_owned()
            };
            format!("{name} INTEGER")
        };
        let names = ["customer", "ticket", "audit"].map(own);
        script.push(table(
            &format!("{module}_customer"),
            size,
            &[
                (&names[0], "i"),
                ("title TEXT", "'t'"),
                ("audit_id INTEGER", &drawn(size, 60)),
            ],
        ));
        script.push(table(
            &format!("{module}_ticket"),
            size * 3,
            &[
                (&names[1], "i"),
                ("title TEXT", "'t'"),
                ("customer_id INTEGER", &drawn(size + 1, 200)),
            ],
        ));
        script.push(table(
            &format!("{module}_audit"),
            80,
            &[(&names[2], "i"), ("title TEXT", "'t'")],
        ));
    }
    assert_eq!(
        links(&script).await,
        [
            "online_customer.audit_id -> online_audit.audit_id",
            "online_ticket.customer_id -> online_customer.customer_id",
            "retail_customer.audit_id -> retail_audit.id",
            "retail_ticket.customer_id -> retail_customer.id",
            "wholesale_customer.audit_id -> wholesale_audit.id",
            "wholesale_ticket.customer_id -> wholesale_customer.id",
        ]
    );
}

#[tokio::test]
async fn an_audit_is_a_parent_where_a_column_names_it() {
    let script = [
        table(
            "contract",
            400,
            &[("id INTEGER", "i * 3 + 700"), ("signed TEXT", "'2020'")],
        ),
        table(
            "contract_audit",
            250,
            &[
                ("id INTEGER", "i * 2 + 9000"),
                (
                    "contract_id INTEGER",
                    &format!("{} * 3 + 700", drawn(7, 400)),
                ),
            ],
        ),
        table(
            "finding",
            900,
            &[
                ("id INTEGER", "i + 40000"),
                (
                    "contract_audit_id INTEGER",
                    &format!("{} * 2 + 9000", drawn(8, 250)),
                ),
                (
                    "contract_id INTEGER",
                    &format!("{} * 3 + 700", drawn(9, 400)),
                ),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "contract_audit.contract_id -> contract.id",
            "finding.contract_audit_id -> contract_audit.id",
            "finding.contract_id -> contract.id",
        ]
    );
}
