//! Value tests of field kinds.

use super::*;

#[track_caller]
fn check(driver: Driver, path: &[&str], expected: Option<FieldKind>) {
    assert_eq!(field_kind(driver, path), expected, "{driver} {path:?}");
}

#[test]
fn every_field_of_a_driver_is_known_by_its_names() {
    check(Driver::Postgres, &["password"], Some(FieldKind::Secret));
    check(Driver::Postgres, &["url"], Some(FieldKind::Secret));
    check(Driver::Postgres, &["user"], Some(FieldKind::Text));
    check(Driver::Postgres, &["schema"], Some(FieldKind::Texts));
    check(Driver::Postgres, &["port"], Some(FieldKind::Other));
    check(Driver::Postgres, &["ssl", "ca"], Some(FieldKind::Text));
    check(Driver::Sqlite, &["path"], Some(FieldKind::Text));
    check(Driver::Sqlite, &["host"], None);
    check(
        Driver::MetricFlow,
        &["metricflow", "auth_token_ref"],
        Some(FieldKind::Secret),
    );
    check(
        Driver::Metabase,
        &["mappings", "databaseMappings", "1"],
        Some(FieldKind::Text),
    );
    check(Driver::Metabase, &["api_url", "more"], None);
    check(Driver::Postgres, &[], None);
}

#[test]
fn the_names_begin_with_the_drivers_own() {
    assert_eq!(
        field_names(Driver::Sqlite).collect::<Vec<_>>(),
        [
            "path",
            "url",
            "enabled_tables",
            "allowed_functions",
            "context"
        ]
    );
}
