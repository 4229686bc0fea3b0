//! HTTP API of agent sessions, with event streams (KODE-70).
//!
//! This crate must never know the terminal, or who runs the models.

mod answer;
mod events;
mod path;
mod routes;

pub use routes::{AgentRoutes, Catalog};
