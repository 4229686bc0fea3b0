//! Certificates trusted by every encrypted connection.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// Skips broken entries.
pub fn system_certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// The system's authorities, or Mozilla's if there are none.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system_certificates());
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

pub fn all_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let (added, ignored) = roots.add_parsable_certificates(system_certificates());
    tracing::debug!(added, ignored, "certificates of the machine");
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    roots
}

/// A configuration without trusted certificates.
pub fn client_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}

/// Trusts the system's authorities.
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    Ok(client_builder()?
        .with_root_certificates(system_roots())
        .with_no_client_auth())
}
