//! The length limit of a note.

/// Maximum length of a note in characters.
pub const LONGEST_NOTE: usize = 200_000;

/// Returns the length in characters of a note that is too long for one capture.
pub(crate) fn beyond_limit(note: &str) -> Option<usize> {
    Some(note.chars().count()).filter(|length| *length > LONGEST_NOTE)
}

pub(crate) fn too_long(length: usize) -> String {
    format!("the note has {length} characters, at most {LONGEST_NOTE} are taken at once")
}
