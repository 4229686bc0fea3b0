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
    FileError, Removed, Written, append_line, list, move_folder, read_optional, remove,
    remove_folder, write_atomically, write_privately,
};
pub use git::{GitError, ignored_files};
pub use init::{Force, InitError, Initialized, PROJECT_FILE_TEMPLATE, init};
pub use layout::{Layout, LocalServer};
pub use lock::{Holder, Interruption, LockError, ProjectLock, Wait};
pub use project_path::{ProjectPath, UnsafePath};
pub use publish::{
    Base, BlamedCommit, BlamedLines, Change, Content, History, HistoryError, LoggedCommit,
    ProposedCommit, ProposedFile, PublishError, PublishRequest, Published, Publisher, SkipReason,
    Skipped, is_committed_around,
};
pub use state::{Run, RunStatus, StageRow, StateDatabase, StateError, migrate, open_sqlite};
pub use store::{Config, ConfigError, OpenError, Store};
pub use sync::{SyncRound, SyncState};
pub use transcripts::{KEPT_RUNS, RunFile};
pub use trouble::{Trouble, cause_chain, failure_of};
pub use walk::{Folders, LeftOut, Walked, WalkedFile, WhyLeftOut, folders, walk, walk_what_opens};
pub use watch::{FolderWatch, Watched};
