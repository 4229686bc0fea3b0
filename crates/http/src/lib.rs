//! HTTPS clients and the certificates that they trust.
//!
//! Addresses are HTTPS, or plain HTTP on this machine. Clients follow no redirect to another
//! origin; retries and the bytes read of an answer are bounded. This crate must not know what is
//! sent. Its errors are those of the HTTP library: each caller words its own.

mod address;
mod client;
mod exchange;
pub mod tls;

pub use address::BaseUrl;
pub use client::{ClientError, ClientSettings, Proxy, Redirects, client};
pub use exchange::{BodyError, RetryPolicy, read_body, root_cause, send};

#[cfg(test)]
mod tests;
