//! Changes of stamps.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::of;

fn edit(path: &Path, text: &str) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_modified(modified).unwrap();
}

fn stamp(path: &Path, now: SystemTime) -> String {
    of(path, &fs::metadata(path).unwrap(), now)
}

fn file() -> (tempfile::NamedTempFile, SystemTime) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"sum(a)").unwrap();
    let written = fs::metadata(file.path()).unwrap().modified().unwrap();
    (file, written)
}

#[test]
fn an_edit_within_one_tick_of_the_clock_shows() {
    let (file, written) = file();
    let first = stamp(file.path(), written);
    assert_eq!(stamp(file.path(), written), first);
    edit(file.path(), "sum(b)");
    assert_ne!(stamp(file.path(), written), first);
    edit(file.path(), "sum(a)");
    // The metadata may differ.
    assert_eq!(
        stamp(file.path(), written).rsplit(':').next(),
        first.rsplit(':').next()
    );
}

#[cfg(unix)]
#[test]
fn a_file_at_rest_is_not_read_and_an_edit_in_place_of_the_same_time_shows() {
    use std::os::unix::fs::MetadataExt as _;

    let (file, written) = file();
    let later = written + Duration::from_hours(1);
    let first = stamp(file.path(), later);
    assert_eq!(first.split(':').count(), 4, "{first}");
    let changed = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let before = changed(file.path());
    edit(file.path(), "sum(b)");
    while changed(file.path()) == before {
        edit(file.path(), "sum(b)");
    }
    assert_ne!(stamp(file.path(), later), first);
}

#[test]
fn times_of_a_clock_that_is_ahead_are_not_trusted() {
    let (file, written) = file();
    let behind = written - Duration::from_hours(1);
    let first = stamp(file.path(), behind);
    edit(file.path(), "sum(b)");
    assert_ne!(stamp(file.path(), behind), first);
}
