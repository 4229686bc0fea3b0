//! The client of every HTTPS connection, and the certificates that it trusts.
//!
//! This crate must not know what is sent.

pub mod tls;
