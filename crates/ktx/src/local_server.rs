//! The project's HTTP servers as seen from outside.

pub(crate) mod address;
pub(crate) mod ending;
pub(crate) mod listening;
pub(crate) mod state;
pub(crate) mod token;
