//! Tests version keys, and names that most keys share.

use crate::rivals::{artifact, drawn, links, table};

fn holders() -> Vec<String> {
    vec![
        table(
            "dim_holder",
            900,
            &[
                ("holder_sk INTEGER", "i"),
                ("holder_id INTEGER", "1 + i / 2"),
                ("valid_from TEXT", "'2020'"),
            ],
        ),
        table(
            "fact_claim",
            3000,
            &[
                ("claim_id INTEGER", "i"),
                ("holder_sk INTEGER", &drawn(1, 900)),
            ],
        ),
        table(
            "stg_payment",
            2000,
            &[
                ("payment_id INTEGER", "i"),
                ("holder_id INTEGER", &drawn(2, 440)),
            ],
        ),
    ]
}

/// Both count from 1.
#[tokio::test]
async fn a_repeated_key_is_not_taken_for_the_key_of_its_versions() {
    assert_eq!(
        links(&holders()).await,
        ["fact_claim.holder_sk -> dim_holder.holder_sk"]
    );
    let rejected = artifact(&holders()).await["rejected"].to_string();
    assert!(
        rejected.contains("`dim_holder.holder_id` is called like the column and holds its values, but repeats them"),
        "{rejected}"
    );
}

#[tokio::test]
async fn a_reference_of_a_table_to_itself_bars_no_other() {
    let script = [
        table(
            "comment",
            900,
            &[
                ("id INTEGER", "i"),
                (
                    "comment_id INTEGER",
                    "CASE WHEN i % 3 = 0 THEN 1 + i / 4 END",
                ),
            ],
        ),
        table(
            "vote",
            4000,
            &[
                ("vote_no INTEGER", "i"),
                ("comment_id INTEGER", &drawn(3, 900)),
            ],
        ),
    ];
    let found = links(&script).await;
    assert!(
        found.contains(&"vote.comment_id -> comment.id".to_owned()),
        "{found:?}"
    );
}

/// `rec_id` is the key of whatever table has it.
#[tokio::test]
async fn a_key_name_that_most_tables_share_names_no_entity() {
    let script = [
        table(
            "site",
            40,
            &[("rec_id INTEGER", "i"), ("city TEXT", "'c' || (i % 9)")],
        ),
        table(
            "device",
            700,
            &[
                ("rec_id INTEGER", "i"),
                ("site_rec_id INTEGER", &drawn(4, 40)),
            ],
        ),
        table(
            "alarm",
            900,
            &[
                ("rec_id INTEGER", "i"),
                ("device_rec_id INTEGER", &drawn(5, 700)),
            ],
        ),
        table(
            "visit",
            2600,
            &[
                ("rec_id INTEGER", "i"),
                ("device_rec_id INTEGER", &drawn(6, 700)),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "alarm.device_rec_id -> device.rec_id",
            "device.site_rec_id -> site.rec_id",
            "visit.device_rec_id -> device.rec_id",
        ]
    );
}

/// Other tables with this key extend its rows.
#[tokio::test]
async fn a_shared_key_that_names_a_table_is_that_tables() {
    let script = [
        table(
            "party",
            300,
            &[
                ("party_id INTEGER", "i * 7 + 5000"),
                ("since TEXT", "'2020'"),
            ],
        ),
        table(
            "person",
            180,
            &[
                ("party_id INTEGER", "i * 7 + 5000"),
                ("born TEXT", "'1990'"),
            ],
        ),
        table(
            "company",
            110,
            &[
                ("party_id INTEGER", "(i + 185) * 7 + 5000"),
                ("founded TEXT", "'1950'"),
            ],
        ),
    ];
    assert_eq!(
        links(&script).await,
        [
            "company.party_id -> party.party_id",
            "person.party_id -> party.party_id"
        ]
    );
}
