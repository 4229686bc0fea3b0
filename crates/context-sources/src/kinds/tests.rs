//! The table of kinds.

use ktx_config::{Driver, DriverKind};

use super::KINDS;
use crate::source::Contents;

#[test]
fn every_driver_of_a_context_source_has_one_kind() {
    let drivers = Driver::ALL.into_iter();
    let drivers: Vec<Driver> = drivers
        .filter(|driver| driver.kind() == DriverKind::ContextSource)
        .collect();
    assert_eq!(KINDS.map(|kind| kind.kind().driver).to_vec(), drivers);
}

#[test]
fn only_notion_has_documents() {
    let contents = KINDS.map(|kind| (kind.kind().product, kind.kind().contents));
    assert_eq!(
        contents,
        [
            ("dbt", Contents::Facts),
            ("MetricFlow", Contents::Facts),
            ("LookML", Contents::Facts),
            ("Cube", Contents::Facts),
            ("Looker", Contents::Facts),
            ("Metabase", Contents::Facts),
            ("Notion", Contents::Documents),
        ]
    );
}
