//! Tests columns that name a role.

use crate::rivals::{drawn, links, table};

#[tokio::test]
async fn unmarked_roles_are_told_from_quantities() {
    let script = [
        table(
            "party",
            1387,
            &[("party_id INTEGER", "i"), ("name TEXT", "'n' || (i % 700)")],
        ),
        table(
            "crate_kind",
            300,
            &[
                ("crate_kind_id INTEGER", "i"),
                ("name TEXT", "'n' || (i % 90)"),
            ],
        ),
        table(
            "freight",
            9000,
            &[
                ("freight_id INTEGER", "i"),
                ("consignee INTEGER", &drawn(20, 1387)),
                ("ship_to INTEGER", &drawn(21, 1387)),
                ("pallets INTEGER", &drawn(22, 33)),
                ("boxes INTEGER", &drawn(23, 300)),
                ("bags INTEGER", &drawn(24, 300)),
                ("metres INTEGER", &drawn(25, 1100)),
                ("litres INTEGER", &drawn(26, 1340)),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "freight.consignee -> party.party_id",
            "freight.ship_to -> party.party_id",
        ]
    );
}

#[tokio::test]
async fn words_for_who_does_something_mean_the_people() {
    let script = [
        table(
            "employee",
            437,
            &[
                ("employee_id INTEGER", "i"),
                ("name TEXT", "'n' || (i % 300)"),
            ],
        ),
        table(
            "appraisal",
            3000,
            &[
                ("appraisal_id INTEGER", "i"),
                ("appraiser_id INTEGER", &drawn(30, 437)),
            ],
        ),
        table(
            "page_view",
            3000,
            &[
                ("page_view_id INTEGER", "i + 9000"),
                ("session_id INTEGER", &drawn(31, 437)),
            ],
        ),
    ];
    let found = links(&script).await;
    assert_eq!(found, ["appraisal.appraiser_id -> employee.employee_id"]);
}

/// A host can be a person or a club.
#[tokio::test]
async fn a_part_whose_numbers_fit_another_table_is_left_to_a_person() {
    let script = [
        table(
            "person",
            1500,
            &[("id INTEGER", "i"), ("name TEXT", "'n' || (i % 900)")],
        ),
        table(
            "club",
            60,
            &[("id INTEGER", "i"), ("name TEXT", "'n' || (i % 40)")],
        ),
        table(
            "event",
            900,
            &[
                ("id INTEGER", "i + 3000"),
                ("host_id INTEGER", &drawn(32, 60)),
            ],
        ),
    ];
    assert_eq!(links(&script).await, Vec::<String>::new());
}

/// `pai` is a parent, not the singular of `pais` (country).
#[tokio::test]
async fn a_short_role_is_no_plural() {
    let script = [
        table(
            "pais",
            40,
            &[("cod_pais INTEGER", "i * 2"), ("nome TEXT", "'n' || i")],
        ),
        table(
            "categoria",
            24,
            &[
                ("cod_categoria INTEGER", "i * 2"),
                (
                    "cod_pai INTEGER",
                    "CASE WHEN i > 4 THEN 2 * (1 + i % 4) END",
                ),
            ],
        ),
        table(
            "cidade",
            300,
            &[
                ("cod_cidade INTEGER", "i * 3"),
                ("cod_pais INTEGER", &format!("2 * {}", drawn(33, 40))),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "categoria.cod_pai -> categoria.cod_categoria",
            "cidade.cod_pais -> pais.cod_pais",
        ]
    );
}

/// Some codes of the kinds are not among the merchants' codes.
#[tokio::test]
async fn a_table_whose_codes_are_partly_others_extends_nothing() {
    let code = "printf('%03d', i * 3)";
    let script = [
        table(
            "merchant",
            300,
            &[
                ("code TEXT", "printf('%03d', i + 14)"),
                ("name TEXT", "'n' || i"),
            ],
        ),
        table(
            "merchant_class",
            26,
            &[("code TEXT", code), ("label TEXT", "'l' || i")],
        ),
    ];
    assert_eq!(links(&script).await, Vec::<String>::new());
}

#[tokio::test]
async fn empty_tables_are_joined_only_where_types_agree() {
    let script = [
        table(
            "app_user",
            0,
            &[("user_code TEXT", "'u' || i"), ("name TEXT", "'n'")],
        ),
        table(
            "device",
            0,
            &[("device_id INTEGER", "i"), ("name TEXT", "'n'")],
        ),
        table(
            "audit_line",
            0,
            &[
                ("user_id INTEGER", "i"),
                ("device_id INTEGER", "i"),
                ("note TEXT", "'n'"),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        ["audit_line.device_id -> device.device_id"]
    );
}

/// The kind of a location is not a location.
#[tokio::test]
async fn a_kind_or_an_attribute_beside_a_role_refers_to_nothing() {
    let script = [
        table(
            "pathways",
            6,
            &[
                ("pathway_id INTEGER", "i - 1"),
                ("length INTEGER", "i * 30 + i % 4"),
            ],
        ),
        table(
            "agency",
            2,
            &[
                ("agency_id TEXT", "substr('FM', i, 1) || 'TA'"),
                (
                    "agency_timezone TEXT",
                    "CASE i WHEN 1 THEN 'Europe/Warsaw' ELSE 'Europe/Berlin' END",
                ),
            ],
        ),
        table(
            "stops",
            10,
            &[
                ("stop_id TEXT", "'stop-' || (i * 7)"),
                (
                    "location_type INTEGER",
                    "CASE WHEN i < 9 THEN i * 3 % 5 END",
                ),
                (
                    "stop_timezone TEXT",
                    "CASE i WHEN 1 THEN 'Europe/Berlin' WHEN 5 THEN 'Europe/Warsaw' END",
                ),
            ],
        ),
    ];
    assert_eq!(links(&script).await, Vec::<String>::new());
}
