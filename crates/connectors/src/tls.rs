//! TLS: which certificates are trusted.

use std::error::Error;
use std::sync::Arc;

use ktx_warehouse::{ErrorKind, WarehouseError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    Off,
    /// Encrypted if offered, certificate unchecked; for this machine only.
    WhereOffered,
    Required(TlsTrust),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TlsTrust {
    /// The operating system's authorities, else Mozilla's built-in list.
    System,
    Authorities(String),
    /// Open to a man in the middle.
    Anything,
}

pub(crate) const HANDSHAKE_HINT: &str = "give the server's certificate authority in `sslrootcert`, \
     or set `rejectUnauthorized: false` to encrypt without checking the certificate";

pub(crate) const NO_TLS_HINT: &str =
    "enable TLS on the server, or set `sslmode: disable` if the network in between is trusted";

/// Finds the TLS error in the causes. An I/O wrapper hides its inner error from `source`, so it is
/// unwrapped separately.
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

pub(crate) fn client_config(trust: &TlsTrust) -> Result<ClientConfig, WarehouseError> {
    let builder = ktx_http::tls::client_builder().map_err(unusable)?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        TlsTrust::System => {
            let roots = ktx_http::tls::system_roots();
            return Ok(builder.with_root_certificates(roots).with_no_client_auth());
        }
        TlsTrust::Anything => Arc::new(AnyCertificate(Arc::new(ring::default_provider()))),
        TlsTrust::Authorities(text) => Arc::new(OwnCertificates::read(text)?),
    };
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn unusable(what: impl std::fmt::Display) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Tls,
        format!("the TLS settings cannot be used: {what}"),
    )
}

/// Trusts the user's certificates as authorities and as server certificates, because a self-signed
/// server certificate can be marked as an authority.
#[derive(Debug)]
struct OwnCertificates {
    own: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl OwnCertificates {
    fn read(text: &str) -> Result<Self, WarehouseError> {
        let own = CertificateDer::pem_slice_iter(text.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(unusable)?;
        if own.is_empty() {
            return Err(unusable("no certificate in the PEM text of `sslrootcert`"));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &own {
            roots.add(certificate.clone()).map_err(unusable)?;
        }
        let provider = Arc::new(ring::default_provider());
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(unusable)?;
        Ok(Self { own, usual })
    }
}

impl ServerCertVerifier for OwnCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let usual = &self.usual;
        match usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The verifier has checked the validity period but not the name.
            Err(error) if is_authority(&error) && self.own.iter().any(|own| own == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// The only objection is the authority mark, which has no error variant.
fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    other.to_string().contains("CaUsedAsEndEntity")
}

/// Still checks that the peer holds the certificate's key.
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
