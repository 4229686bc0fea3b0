//! Agent files (`agents/<name>.yaml`) and their cases: parsed with positions, validated, documented
//! from one table.
//!
//! This crate must never know which tools exist, or any backend. What only the project knows is
//! given as `Surroundings`.

mod form;
mod spec;
