//! Certificates trusted by every encrypted connection.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// The operating system's authorities. Skips broken entries, as every other client does.
pub fn system_certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// The operating system's authorities, or Mozilla's built-in list if there are none.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system_certificates());
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// The operating system's authorities and Mozilla's built-in list.
pub fn all_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let (added, ignored) = roots.add_parsable_certificates(system_certificates());
    tracing::debug!(added, ignored, "certificates of the machine");
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    roots
}

/// A TLS client configuration that does not choose its trusted certificates yet.
///
/// # Errors
/// A bug of the program: the library offers no protocol version.
pub fn client_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}

/// A TLS client configuration that trusts the operating system's authorities.
///
/// # Errors
/// Same as [`client_builder`].
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    Ok(client_builder()?
        .with_root_certificates(system_roots())
        .with_no_client_auth())
}
