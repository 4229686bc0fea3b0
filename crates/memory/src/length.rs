//! The length limit of a note.

pub const LONGEST_NOTE: usize = 200_000;

pub(crate) fn beyond_limit(note: &str) -> Option<usize> {
    Some(note.chars().count()).filter(|length| *length > LONGEST_NOTE)
}

pub(crate) fn too_long(length: usize) -> String {
    format!("the note has {length} characters; a note may have at most {LONGEST_NOTE}")
}
