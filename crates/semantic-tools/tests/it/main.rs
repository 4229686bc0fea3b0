//! Whole models, and the fuzz targets over their corpus.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test helpers fail the test"
)]

mod forms;
mod models;
mod mutations;
