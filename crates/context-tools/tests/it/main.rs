//! A project folder with a SQLite warehouse.
#![expect(clippy::expect_used, reason = "test helpers fail the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "the tests write and change a project folder"
)]

mod bad_paths;
mod budget;
mod changes;
mod compatibility;
mod discovery;
mod drift;
mod entities;
mod hidden;
mod kept_index;
mod meaning;
mod project;
mod quality;
mod queries;
mod refusals;
mod reloaded;
mod side_by_side;
mod sources;
mod trouble;
mod warehouse;
mod wiki;
