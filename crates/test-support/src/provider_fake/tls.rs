//! Certificates of the fake: an authority, and one certificate for the API's hosts.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// The hosts that the fake answers for.
const HOSTS: &[&str] = &[
    "api.anthropic.com",
    "platform.claude.com",
    "console.anthropic.com",
    "claude.ai",
];

pub(super) fn is_ours(host: &str) -> bool {
    HOSTS.contains(&host)
}

/// Creates the certificates, and writes the authority's to the file.
#[expect(clippy::disallowed_methods, reason = "a certificate of a test")]
pub(super) fn acceptor(authority: &Path) -> anyhow::Result<TlsAcceptor> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "ktx test authority");
    let key = KeyPair::generate()?;
    std::fs::write(authority, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);

    let names: Vec<String> = HOSTS.iter().map(|host| (*host).to_owned()).collect();
    let leaf_key = KeyPair::generate()?;
    let leaf = CertificateParams::new(names)?.signed_by(&leaf_key, &issuer)?;
    let secret = PrivateKeyDer::try_from(leaf_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], secret)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
