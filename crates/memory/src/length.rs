//! How long a note may be.

/// The longest note, in characters.
pub const LONGEST_NOTE: usize = 200_000;

/// The characters of a note that is too long for one capture.
pub(crate) fn beyond_limit(note: &str) -> Option<usize> {
    Some(note.chars().count()).filter(|length| *length > LONGEST_NOTE)
}

/// The message about a note of this many characters.
pub(crate) fn too_long(length: usize) -> String {
    format!("the note has {length} characters, at most {LONGEST_NOTE} are taken at once")
}
