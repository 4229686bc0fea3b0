//! Version ranges and places.

use super::{children_for, is_older, version_warning};

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
