//! HTTPS clients and their certificates; plain HTTP only on this machine. Knows nothing about what
//! is sent.

mod address;
mod client;
mod exchange;
pub mod tls;

pub use address::BaseUrl;
pub use client::{ClientError, ClientSettings, Proxy, Redirects, client};
pub use exchange::{BodyError, RetryPolicy, read_body, root_cause, send};

#[cfg(test)]
mod tests;
