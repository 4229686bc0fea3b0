//! Tests keys numbered per tenant, and groups of which nearly all exist.

use crate::rivals::{drawn, links, table};

/// Any table's `(tenant_id, id)` contains that of another.
#[tokio::test]
async fn rows_counted_for_each_tenant_are_joined_by_their_names() {
    let tenant = "1 + (i - 1) % 6";
    let script = [
        table(
            "tenant",
            6,
            &[("id INTEGER", "i"), ("name TEXT", "'n' || i")],
        ),
        table(
            "plant",
            90,
            &[
                ("tenant_id INTEGER", tenant),
                ("id INTEGER", "1 + (i - 1) / 6"),
                ("city TEXT", "'c'"),
            ],
        ),
        table(
            "machine",
            300,
            &[
                ("tenant_id INTEGER", tenant),
                ("id INTEGER", "1 + (i - 1) / 6"),
                ("plant_id INTEGER", &drawn(10, 14)),
                (
                    "parent_id INTEGER",
                    "CASE WHEN i % 4 = 1 THEN 1 + i / 40 END",
                ),
            ],
        ),
        table(
            "shift",
            1800,
            &[
                ("tenant_id INTEGER", tenant),
                ("id INTEGER", "1 + (i - 1) / 6"),
                ("machine_id INTEGER", &drawn(11, 49)),
                // Two tenants have no plants.
                (
                    "plant_id INTEGER",
                    &format!("CASE WHEN i % 6 < 4 THEN {} END", drawn(12, 14)),
                ),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "machine.parent_id+tenant_id -> machine.id+tenant_id",
            "machine.plant_id+tenant_id -> plant.id+tenant_id",
            "machine.tenant_id -> tenant.id",
            "plant.tenant_id -> tenant.id",
            "shift.machine_id+tenant_id -> machine.id+tenant_id",
            "shift.plant_id+tenant_id -> plant.id+tenant_id",
            "shift.tenant_id -> tenant.id",
        ]
    );
}

/// A budget with a row for each period is not the parent.
#[tokio::test]
async fn groups_that_all_exist_need_a_column_that_names_the_table() {
    let month = "1 + (i - 1) / 5 % 12";
    let year = "2021 + (i - 1) / 60";
    let company = "1 + (i - 1) % 5";
    let script = [
        table(
            "company",
            5,
            &[("company_id INTEGER", "i"), ("name TEXT", "'n' || i")],
        ),
        table(
            "fiscal_period",
            180,
            &[
                ("company_id INTEGER", company),
                ("fiscal_year INTEGER", year),
                ("period_no INTEGER", month),
            ],
        ),
        table(
            "entry",
            4000,
            &[
                ("entry_no INTEGER", "i + 70000"),
                ("company_id INTEGER", &drawn(13, 5)),
                ("fiscal_year INTEGER", &format!("2020 + {}", drawn(14, 3))),
                ("period_no INTEGER", &drawn(15, 12)),
            ],
        ),
        table(
            "budget",
            60,
            &[
                ("company_id INTEGER", company),
                ("month INTEGER", month),
                ("planned REAL", "i * 1.7"),
            ],
        ),
        table(
            "inventory",
            60,
            &[
                ("company_id INTEGER", company),
                ("month INTEGER", month),
                ("counted REAL", "i * 2.3"),
            ],
        ),
    ];
    let found = links(&script).await;
    assert!(
        found.contains(
            &"entry.company_id+fiscal_year+period_no -> fiscal_period.company_id+fiscal_year+period_no".to_owned()
        ),
        "{found:?}"
    );
    let wrong: Vec<&String> = found
        .iter()
        .filter(|link| {
            link.contains("budget.company_id+month") || link.contains("inventory.company_id+month")
        })
        .collect();
    assert_eq!(wrong, Vec::<&String>::new());
}

/// Nearly all combinations exist.
#[tokio::test]
async fn lines_mean_the_document_of_their_year_and_number() {
    let script = [
        table(
            "document",
            1200,
            &[
                ("year INTEGER", "2021 + (i - 1) / 400"),
                ("doc_serial INTEGER", "1 + (i - 1) % 400"),
                ("kind TEXT", "'k' || (i % 3)"),
            ],
        ),
        table(
            "document_row",
            4000,
            &[
                ("year INTEGER", &format!("2020 + {}", drawn(61, 3))),
                ("doc_serial INTEGER", &drawn(62, 400)),
                ("amount REAL", "i * 1.7"),
            ],
        ),
        table(
            "weather",
            36,
            &[
                ("year INTEGER", "2021 + (i - 1) / 12"),
                ("month INTEGER", "1 + (i - 1) % 12"),
                ("rain REAL", "i * 0.7"),
            ],
        ),
        table(
            "expense",
            2500,
            &[
                ("expense_id INTEGER", "i + 90000"),
                ("year INTEGER", &format!("2020 + {}", drawn(63, 3))),
                ("month INTEGER", &drawn(64, 12)),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        ["document_row.doc_serial+year -> document.doc_serial+year"]
    );
}

#[tokio::test]
async fn lists_of_each_tenant_are_meant_by_tenant_and_number() {
    let script = [
        table(
            "tenant",
            5,
            &[("id INTEGER", "i"), ("name TEXT", "'n' || i")],
        ),
        table(
            "country",
            60,
            &[
                ("tenant_id INTEGER", "1 + (i - 1) % 5"),
                ("country_id INTEGER", "1 + (i - 1) / 5"),
                (
                    "iso TEXT",
                    "printf('%c%c', char(65 + i % 26), char(65 + i / 26))",
                ),
            ],
        ),
        table(
            "customer",
            900,
            &[
                ("tenant_id INTEGER", "1 + (i - 1) % 5"),
                ("customer_id INTEGER", "1 + (i - 1) / 5"),
                ("country_id INTEGER", &drawn(65, 12)),
            ],
        ),
    ];
    let found = links(&script).await;
    assert!(
        found.contains(&"customer.country_id+tenant_id -> country.country_id+tenant_id".to_owned()),
        "{found:?}"
    );
}
