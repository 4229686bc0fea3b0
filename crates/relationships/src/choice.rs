//! Chooses among competing candidates.

mod contained;
pub(crate) mod decided;
pub(crate) mod implied;
pub(crate) mod measured;
mod namesake;
pub(crate) mod resolve;
mod sole;
mod staff;
mod verdict;
mod views;
