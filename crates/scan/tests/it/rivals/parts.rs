//! Tests words for roles, counts and copies.

use crate::rivals::{drawn, links, table};

const SEEDS: [u64; 3] = [40, 140, 240];

fn numbered(name: &str, rows: u64) -> String {
    let key = format!("{name}_id INTEGER");
    table(
        name,
        rows,
        &[(&key, "i"), ("label TEXT", "'n' || (i % 90)")],
    )
}

/// A reviewer is not a review.
#[tokio::test]
async fn who_does_something_is_one_of_the_people() {
    for seed in SEEDS {
        let script = [
            table(
                "player",
                437,
                &[
                    ("player_id INTEGER", "i"),
                    ("label TEXT", "'n' || (i % 90)"),
                    ("captain_id INTEGER", &drawn(seed, 437)),
                ],
            ),
            table(
                "review",
                3000,
                &[
                    ("review_id INTEGER", "i"),
                    ("reviewer_id INTEGER", &drawn(seed + 1, 437)),
                    ("session_id INTEGER", &drawn(seed + 2, 437)),
                ],
            ),
        ];
        assert_eq!(
            links(&script).await,
            [
                "player.captain_id -> player.player_id",
                "review.reviewer_id -> player.player_id",
            ],
            "seed {seed}"
        );
    }
}

#[tokio::test]
async fn two_sides_mean_the_keys_that_end_where_they_do() {
    for seed in SEEDS {
        let script = [
            numbered("account", 2864),
            numbered("card", 3016),
            table(
                "transfer",
                9000,
                &[
                    ("transfer_id INTEGER", "i"),
                    ("source_id INTEGER", &drawn(seed, 2864)),
                    ("target_id INTEGER", &drawn(seed + 1, 2864)),
                ],
            ),
        ];
        assert_eq!(
            links(&script).await,
            [
                "transfer.source_id -> account.account_id",
                "transfer.target_id -> account.account_id",
            ],
            "seed {seed}"
        );
    }
}

/// There is no table of products.
#[tokio::test]
async fn a_family_without_its_table_takes_no_other() {
    for seed in SEEDS {
        let of_product = |name: &str, seed: u64| {
            let key = format!("{name}_id INTEGER");
            table(
                name,
                2000,
                &[
                    (&key, "i + 9000"),
                    ("product_id INTEGER", &drawn(seed, 400)),
                ],
            )
        };
        let script = [
            numbered("remark", 412),
            of_product("product_image", seed),
            of_product("product_price", seed + 1),
        ];
        assert_eq!(links(&script).await, Vec::<String>::new(), "seed {seed}");
    }
}

/// A customer's `stores` is a count; `store` is a reference.
#[tokio::test]
async fn plurals_count_and_singulars_refer() {
    for seed in SEEDS {
        let script = [
            table(
                "stores",
                90,
                &[("id INTEGER", "i"), ("label TEXT", "'n' || (i % 40)")],
            ),
            table(
                "customers",
                800,
                &[
                    ("id INTEGER", "i"),
                    ("stores INTEGER", &drawn(seed, 42)),
                    ("store INTEGER", &drawn(seed + 1, 90)),
                ],
            ),
        ];
        assert_eq!(
            links(&script).await,
            ["customers.store -> stores.id"],
            "seed {seed}"
        );
    }
}

#[tokio::test]
async fn old_numbers_are_referred_to_by_their_name() {
    for seed in SEEDS {
        let script = [
            table(
                "account",
                400,
                &[
                    ("account_id INTEGER", "i"),
                    ("legacy_id INTEGER", "401 - i"),
                    ("legacy_account_id INTEGER", "1 + (i * 7) % 400"),
                ],
            ),
            table(
                "old_bill",
                1500,
                &[
                    ("bill_no INTEGER", "i + 5000"),
                    ("legacy_account_id INTEGER", &drawn(seed, 400)),
                    ("account_id INTEGER", &drawn(seed + 1, 400)),
                ],
            ),
        ];
        assert_eq!(
            links(&script).await,
            [
                "old_bill.account_id -> account.account_id",
                "old_bill.legacy_account_id -> account.legacy_id",
            ],
            "seed {seed}"
        );
    }
}

/// `partner` can mean a row of its own table.
#[tokio::test]
async fn a_module_before_a_word_of_a_role_names_a_table() {
    let mut script = Vec::new();
    for (seed, module, partners, other, size) in [
        (50, "fin", 150, "log", 210),
        (51, "hrm", 180, "fin", 150),
        (52, "log", 210, "fin", 150),
    ] {
        script.push(table(
            &format!("{module}_partner"),
            partners,
            &[("partner_id INTEGER", "i"), ("label TEXT", "'n'")],
        ));
        script.push(table(
            &format!("{module}_invoice"),
            900,
            &[("invoice_id INTEGER", "i"), ("total REAL", "i * 1.5")],
        ));
        script.push(table(
            &format!("{module}_document"),
            330,
            &[
                ("document_id INTEGER", "i"),
                (&format!("{other}_partner_id INTEGER"), &drawn(seed, size)),
            ],
        ));
    }
    let found = links(&script).await;
    assert_eq!(
        found,
        [
            "fin_document.log_partner_id -> log_partner.partner_id",
            "hrm_document.fin_partner_id -> fin_partner.partner_id",
            "log_document.fin_partner_id -> fin_partner.partner_id",
        ]
    );
}

#[tokio::test]
async fn a_smaller_snapshot_is_no_parent() {
    for seed in SEEDS {
        let script = [
            table(
                "customers",
                500,
                &[("cust_no INTEGER", "i + 999"), ("label TEXT", "'n'")],
            ),
            table(
                "cust_snapshot",
                420,
                &[("cust_no INTEGER", "i + 999"), ("label TEXT", "'n'")],
            ),
            table(
                "complaint",
                900,
                &[
                    ("complaint_id INTEGER", "i + 70000"),
                    ("cust_no INTEGER", &format!("999 + {}", drawn(seed, 500))),
                ],
            ),
        ];
        let found = links(&script).await;
        let wrong: Vec<&String> = found
            .iter()
            .filter(|link| link.contains("-> cust_snapshot"))
            .collect();
        assert_eq!(wrong, Vec::<&String>::new(), "seed {seed}");
        assert!(found.contains(&"complaint.cust_no -> customers.cust_no".to_owned()));
    }
}

#[tokio::test]
async fn a_word_for_a_layer_without_copies_says_nothing() {
    let code = "char(65 + (i - 1) % 26) || char(65 + (i - 1) / 26)";
    let script = [
        table(
            "dim_country",
            60,
            &[("cc TEXT", code), ("label TEXT", "'n' || (i % 40)")],
        ),
        table(
            "sessions",
            2000,
            &[
                ("id INTEGER", "i + 300"),
                (
                    "cc TEXT",
                    "char(65 + (i * 7) % 26) || char(65 + (i * 7) % 52 / 26)",
                ),
            ],
        ),
    ];
    assert_eq!(links(&script).await, ["sessions.cc -> dim_country.cc"]);
}

/// SQLite compares as numbers.
#[tokio::test]
async fn numbers_with_zeros_in_texts_are_joined_where_they_are_compared_as_numbers() {
    for seed in SEEDS {
        let padded = |number: String| format!("printf('%08d', {number} + 5000)");
        let script = [
            table(
                "segment",
                90,
                &[("segment_id INTEGER", "i + 5000"), ("label TEXT", "'n'")],
            ),
            table(
                "lane",
                90,
                &[
                    ("lane_code TEXT", "'' || (i + 7000)"),
                    ("label TEXT", "'n'"),
                ],
            ),
            table(
                "shipment",
                1500,
                &[
                    ("shipment_id INTEGER", "i + 40000"),
                    ("segment_id TEXT", &padded(drawn(seed, 90))),
                    (
                        "lane_code TEXT",
                        &format!("printf('%08d', {} + 7000)", drawn(seed + 1, 90)),
                    ),
                ],
            ),
        ];
        // Texts must be written alike.
        assert_eq!(
            links(&script).await,
            ["shipment.segment_id -> segment.segment_id"],
            "seed {seed}"
        );
    }
}

/// A join would double sales.
#[tokio::test]
async fn keys_that_repeat_are_left_to_a_person() {
    for seed in SEEDS {
        let script = [
            table(
                "product",
                506,
                &[
                    ("sku TEXT", "'P' || (10000 + (i - 1) % 500)"),
                    ("label TEXT", "'n' || i"),
                ],
            ),
            table(
                "sale",
                3000,
                &[
                    ("sale_id INTEGER", "i + 70000"),
                    ("sku TEXT", &format!("'P' || (9999 + {})", drawn(seed, 500))),
                ],
            ),
        ];
        assert_eq!(links(&script).await, Vec::<String>::new(), "seed {seed}");
    }
}

#[tokio::test]
async fn a_number_in_every_table_is_no_reference() {
    let load = ("etl_batch_id INTEGER", drawn(71, 60));
    let script: Vec<String> = [("batch", 70), ("oven", 90), ("shift", 800), ("sieve", 500)]
        .iter()
        .map(|(name, rows)| {
            let key = format!("{name}_id INTEGER");
            table(name, *rows, &[(&key, "i"), (load.0, &load.1)])
        })
        .collect();
    assert_eq!(links(&script).await, Vec::<String>::new());
}
