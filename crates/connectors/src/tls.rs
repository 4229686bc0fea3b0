//! The encrypted channel: whose certificates are believed.

use std::error::Error;
use std::sync::Arc;

use ktx_warehouse::{ErrorKind, WarehouseError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Whether and how a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Plain text, because the settings say so or the server is reached through a file.
    Off,
    /// On this machine only: encrypted when the server offers it, without a look at its certificate.
    WhereOffered,
    /// Encrypted, or no connection.
    Required(Trust),
}

/// Whose certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The authorities of the operating system; the built-in list of Mozilla when there are none.
    System,
    /// These authorities, as PEM text.
    Authorities(String),
    /// Any certificate: encrypted, but not protected from somebody in between.
    Anything,
}

/// Hint for a failed handshake.
pub(crate) const HANDSHAKE_HINT: &str = "give the server's certificate authority in `sslrootcert`, \
     or set `rejectUnauthorized: false` to encrypt without checking the certificate";

/// Hint for a server that offers no TLS.
pub(crate) const NO_TLS_HINT: &str =
    "switch TLS on at the server, or set `sslmode: disable` if the network in between is trusted";

/// The TLS library's own error somewhere behind `error`. A network error that wraps another one does
/// not tell it as its source, so it is taken apart.
pub(crate) fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}

/// Makes the client's side of the handshake.
pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, WarehouseError> {
    let builder = ktx_tls::client_builder().map_err(|error| unusable(&error.to_string()))?;
    let roots = match trust {
        Trust::Anything => {
            return Ok(builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(Arc::new(
                    ring::default_provider(),
                ))))
                .with_no_client_auth());
        }
        Trust::System => ktx_tls::system_roots(),
        Trust::Authorities(text) => own_roots(text)?,
    };
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn own_roots(text: &str) -> Result<RootCertStore, WarehouseError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(&error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| unusable(&error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("no certificate in the PEM text of `sslrootcert`"));
    }
    Ok(roots)
}

fn unusable(what: &str) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Tls,
        format!("the TLS settings cannot be used: {what}"),
    )
}

/// Believes every certificate but still checks that the peer holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
