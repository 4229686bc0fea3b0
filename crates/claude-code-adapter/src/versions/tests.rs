//! The tested range of versions.

use super::{is_older, version_fact, version_warning};

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
