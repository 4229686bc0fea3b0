//! The three answers of the look-up.

use super::*;

#[track_caller]
fn check(value: Option<&str>, missing: Option<&str>, expected: Result<Service, &str>) {
    let found = find(ServiceName::MariaDb, value.map(str::to_owned), missing);
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
fn a_service_that_did_not_start_says_so() {
    let notice = "not run: mariadb could not be brought up";
    check(None, Some("postgres,mariadb"), Err(notice));
    check(Some(""), Some("mariadb"), Err(notice));
}

#[test]
fn without_xtask_the_cure_is_named() {
    let notice =
        "not run: `KTX_TEST_MARIADB_URL` is not set; start the tests with `cargo xtask test`";
    check(None, None, Err(notice));
    check(None, Some(""), Err(notice));
}
