//! The client of every HTTPS connection, and the certificates that it trusts.
//!
//! Addresses are HTTPS, or plain HTTP on this machine. Clients follow no redirect to another origin,
//! retries are bounded, and so are the bytes read of an answer. This crate must not know what is
//! sent, and its errors are those of the HTTP library: each caller words its own.

mod address;
mod client;
mod exchange;
pub mod tls;

pub use address::BaseUrl;
pub use client::{ClientError, ClientSettings, Proxy, Redirects, client};
pub use exchange::{BodyError, RetryPolicy, read_body, root_cause, send};

#[cfg(test)]
mod tests;
