//! Capture turns a note into wiki pages and semantic sources.
//!
//! A model reads one note and edits a draft of the project's committed files with tools that check
//! every write. This crate writes no files: the caller publishes the changes of the draft as one
//! commit, or drops them. This crate must never know backends, the terminal or git.

mod capture;
mod desk;
mod draft;
mod length;
mod notes;
mod prompts;
mod tools;
mod transcript;
mod workspace;

pub use capture::{
    CaptureError, CaptureRequest, CaptureResult, ROLE, STEPS, capture, capture_for_user,
};
pub use desk::{NoteQueue, NoteStatus, Written, desk_tools};
pub use length::LONGEST_NOTE;
pub use notes::{Conversation, NoMessages, Worthless, read_conversation, worthless};
pub use prompts::{fenced, one_line};
pub use tools::{Quota, is_sound, write_schema};
pub use transcript::{BegunLoop, KeptLoop, LoopStart, TranscriptStore, begin_loop};
pub use workspace::{Changeset, DraftWorkspace};
