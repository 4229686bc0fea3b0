//! Project folders: files, git, locks, local state. Knows no models or warehouses.
//!
//! Committed files have the paths of KTX 0.12. `.ktx/state/` ignores itself, so that no version's
//! `.gitignore` has to list it.

mod checkout;
mod failpoint;
mod files;
mod git;
mod init;
mod layout;
mod lock;
mod project_path;
mod publish;
mod rotation;
mod server;
mod state;
mod store;
mod sync;
mod transcripts;
mod trouble;
mod walk;
mod watch;

pub use checkout::{CheckoutError, Remote};
pub use failpoint::Failpoints;
pub use files::{
    FileError, RemoveEffect, WriteEffect, append_line, list, move_folder, read_optional, remove,
    remove_folder, write_atomically, write_privately,
};
pub use git::{GitError, ignored_files};
pub use init::{Force, InitError, Initialized, PROJECT_FILE_TEMPLATE, init};
pub use layout::{Layout, LocalServer};
pub use lock::{Holder, Interruption, LockError, ProjectLock, Wait};
pub use project_path::{ProjectPath, UnsafePath};
pub use publish::{
    BlamedCommit, BlamedLines, Change, Content, History, HistoryError, LoggedCommit,
    ProposedCommit, ProposedFile, PublishBase, PublishError, PublishRequest, PublishResult,
    Publisher, SkipReason, SkippedFile, is_committed_around,
};
pub use state::{Run, RunStatus, StageRow, StateDatabase, StateError, migrate, open_sqlite};
pub use store::{ConfigError, LoadedConfig, OpenError, Store};
pub use sync::{SyncRound, SyncState};
pub use transcripts::{KEPT_RUNS, RunFile};
pub use trouble::{StorageTrouble, cause_chain, failure_of};
pub use walk::{
    FolderList, OmissionReason, OmittedFile, WalkResult, WalkedFile, folders, walk, walk_readable,
};
pub use watch::{FolderWatch, WatchState};
