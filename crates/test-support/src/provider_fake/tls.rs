//! Certificates of the fake, valid until 2126. The authority's key is gone, so it cannot sign
//! anything else.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const AUTHORITY: &[u8] = include_bytes!("certificates/authority.pem");
const SERVER: &[u8] = include_bytes!("certificates/server.pem");
const SERVER_KEY: &[u8] = include_bytes!("certificates/server.key.pem");

const HOSTS: &[&str] = &[
    "api.anthropic.com",
    "platform.claude.com",
    "console.anthropic.com",
    "claude.ai",
];

pub(super) fn is_ours(host: &str) -> bool {
    HOSTS.contains(&host)
}

#[expect(clippy::disallowed_methods, reason = "a certificate of a test")]
pub(super) fn acceptor(authority: &Path) -> anyhow::Result<TlsAcceptor> {
    std::fs::write(authority, AUTHORITY)?;
    let chain = vec![CertificateDer::from_pem_slice(SERVER)?];
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(SERVER_KEY)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
