//! What the tests are told about the services.

use super::*;

#[test]
fn a_test_sees_an_address_or_finds_the_name_among_the_missing() {
    let states = BTreeMap::from([
        (
            Service::Postgres,
            Ok("postgres://127.0.0.1:5/postgres".to_owned()),
        ),
        (
            Service::MariaDb,
            Err(Absence::Failed("`mariadbd` is not installed".to_owned())),
        ),
        (Service::ClickHouse, Err(Absence::NotAsked)),
        (
            Service::ClaudeLatest,
            Err(Absence::Failed("no network".to_owned())),
        ),
    ]);
    assert_eq!(
        variables(&states),
        BTreeMap::from([
            (
                "KTX_TEST_POSTGRES_URL",
                "postgres://127.0.0.1:5/postgres".to_owned()
            ),
            ("KTX_TEST_MISSING", "mariadb,claude-latest".to_owned()),
            ("KTX_TEST_NOT_ASKED", "clickhouse".to_owned()),
        ])
    );
}

#[test]
fn a_server_is_ready_when_its_status_file_says_so() {
    let status = |state| format!("1\n/data\n2\n5432\n\n127.0.0.1\n3\n{state}\n");
    assert!(postgres::is_ready(&status("ready   ")));
    assert!(!postgres::is_ready(&status("starting")));
    assert!(!postgres::is_ready(""));
}

#[test]
fn releases_compare_by_their_numbers() {
    assert!(tools::release_order("0.3.330") > tools::release_order("0.3.142"));
    assert!(tools::release_order("0.3.1000") > tools::release_order("0.3.330"));
}
