//! The encrypted channel of everything that is reached over the network: whose certificates are believed.
//!
//! This crate must never know what is sent.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// The operating system's authorities. Broken entries of the system's store are passed over, as every
/// other client does.
pub fn system_certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// The operating system's authorities; the built-in list of Mozilla when there are none.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system_certificates());
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// The client's side of the handshake, before it is told whom to believe.
///
/// # Errors
/// A fault of the program: the library offers no protocol version.
pub fn client_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}

/// The client's side of the handshake with everybody whom the operating system believes.
///
/// # Errors
/// As [`client_builder`].
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    Ok(client_builder()?
        .with_root_certificates(system_roots())
        .with_no_client_auth())
}
