//! The three results of the lookup.

use super::*;

#[track_caller]
fn check(value: Option<&str>, missing: Option<&str>, expected: Result<Service, &str>) {
    let absent = MissingServices {
        missing: missing.unwrap_or_default().to_owned(),
        not_asked: String::new(),
    };
    let found = find(ServiceName::MariaDb, value.map(str::to_owned), &absent);
    assert_eq!(found, expected.map_err(str::to_owned));
}

#[test]
fn a_variable_that_is_set_is_the_service() {
    let url = "mysql://root@127.0.0.1:1/test";
    check(Some(url), None, Ok(Service::Available(url.to_owned())));
    check(
        Some(url),
        Some("postgres"),
        Ok(Service::Available(url.to_owned())),
    );
}

#[test]
fn a_service_that_did_not_start_is_reported() {
    let notice = "not run: mariadb could not be brought up";
    check(None, Some("postgres,mariadb"), Err(notice));
    check(Some(""), Some("mariadb"), Err(notice));
}

#[test]
fn an_unrequested_heavy_service_is_reported() {
    let absent = MissingServices {
        missing: "postgres".to_owned(),
        not_asked: "clickhouse".to_owned(),
    };
    assert_eq!(
        find(ServiceName::ClickHouse, None, &absent),
        Err(
            "not run: clickhouse was not asked for; `cargo xtask test --heavy` brings it up"
                .to_owned()
        )
    );
}

#[test]
fn without_xtask_the_cure_is_named() {
    let notice =
        "not run: `KTX_TEST_MARIADB_URL` is not set; start the tests with `cargo xtask test`";
    check(None, None, Err(notice));
    check(None, Some(""), Err(notice));
}
