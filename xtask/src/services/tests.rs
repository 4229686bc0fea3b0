//! Variables of services.

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
            Err(ServiceAbsence::Failed(
                "`mariadbd` is not installed".to_owned(),
            )),
        ),
        (Service::ClickHouse, Err(ServiceAbsence::NotAsked)),
        (
            Service::ClaudeNewestTested,
            Err(ServiceAbsence::Failed("no network".to_owned())),
        ),
    ]);
    assert_eq!(
        variables(&states),
        BTreeMap::from([
            (
                "KTX_TEST_POSTGRES_URL",
                "postgres://127.0.0.1:5/postgres".to_owned()
            ),
            (
                "KTX_TEST_MISSING",
                "mariadb,claude-newest-tested".to_owned()
            ),
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

/// For repeatable test runs.
#[test]
fn every_package_has_an_exact_release() {
    let named = [
        tools::BIGQUERY.as_slice(),
        &tools::SNOWFLAKE,
        &[tools::MCP_SDK, tools::MCP_CONFORMANCE],
    ]
    .concat();
    for package in named {
        let (_, release) = package.rsplit_once(['@', '=']).unwrap_or_default();
        assert!(is_exact(release), "{package}");
    }
    assert!(is_exact(tools::CLAUDE_NEWEST_TESTED) && is_exact(tools::NODE));
    assert!(!is_exact("5") && !is_exact("") && !is_exact("latest"));
}

fn is_exact(release: &str) -> bool {
    let (release, alpha) = release.split_once("-alpha.").unwrap_or((release, "0"));
    let numbers: Vec<&str> = release.split('.').chain([alpha]).collect();
    numbers.len() == 4 && numbers.iter().all(|number| number.parse::<u64>().is_ok())
}
