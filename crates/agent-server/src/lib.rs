//! Sessions of agents for other programs: requests and answers over HTTP, events as they come (KODE-70).
//!
//! This crate must never know the terminal, and who runs the models.

mod answer;
mod events;
mod path;
mod routes;

pub use routes::{AgentRoutes, Catalog};
