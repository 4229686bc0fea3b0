//! The project's servers over HTTP as seen from outside: whether it runs, where, and with which token.

pub(crate) mod address;
pub(crate) mod ending;
pub(crate) mod listening;
pub(crate) mod state;
pub(crate) mod token;
