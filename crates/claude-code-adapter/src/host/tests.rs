//! Version ranges and places.

use super::{available_memory, children_for, is_older, version_fact, version_warning, within};

#[test]
fn untested_versions_are_named() {
    for tested in ["2.1.76", "2.1.142", "2.1.330", "2.1.99"] {
        assert_eq!(version_warning(tested), None);
    }
    assert_eq!(
        version_warning("2.2.0").as_deref(),
        Some("Claude Code 2.2.0 is outside the tested range 2.1.76 to 2.1.330")
    );
    assert_eq!(
        version_warning("1.9.999").as_deref(),
        Some("Claude Code 1.9.999 is outside the tested range 2.1.76 to 2.1.330")
    );
    assert_eq!(version_warning("unknown"), None);
    assert_eq!(version_warning("2.1.331"), None);
    assert_eq!(
        ["2.1.330", "2.1.331", "2.2.0", "unknown"].map(version_fact),
        [
            "2.1.330",
            "2.1.331 (newer than tested: 2.1.330)",
            "2.2.0",
            "unknown"
        ]
    );
    let older = ["2.0.76", "2.1.75", "2.1.76", "3.0.0", "unknown"].map(is_older);
    assert_eq!(older, [true, true, false, false, false]);
}

#[test]
fn the_memory_bounds_the_children() {
    let gibibyte = 1024 * 1024 * 1024;
    assert_eq!(children_for(None), 8);
    assert_eq!(children_for(Some(0)), 1);
    assert_eq!(children_for(Some(2 * gibibyte)), 4);
    assert_eq!(children_for(Some(64 * gibibyte)), 8);
}

/// A container's memory limit bounds the children, however large the machine is.
#[test]
fn the_limit_of_a_container_bounds_the_children() {
    let gibibyte = 1024 * 1024 * 1024;
    let machine = Some(64 * gibibyte);
    assert_eq!(within(machine, None), machine);
    assert_eq!(
        within(machine, Some((3 * gibibyte, gibibyte))),
        Some(2 * gibibyte)
    );
    assert_eq!(within(machine, Some((gibibyte, 2 * gibibyte))), Some(0));
    assert_eq!(within(Some(gibibyte), Some((u64::MAX, 0))), Some(gibibyte));
    assert_eq!(within(None, None), None);
    let told = available_memory();
    assert!(told.is_none_or(|bytes| bytes > 1024 * 1024), "{told:?}");
}
