//! RSA keys and signed tokens (JWT, RS256).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ktx_secrets::Secret;
use pkcs8::EncryptedPrivateKeyInfoRef;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct RsaKey {
    pair: Box<RsaKeyPair>,
}

/// Never contains key material.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("it is not a private key in PEM form")]
    NotPem,
    #[error("it is encrypted and no passphrase is given")]
    NoPassphrase,
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    #[error("it is encrypted in a form that cannot be read")]
    UnknownEncryption,
    #[error("it is not an RSA key of at least 2048 bits")]
    NotRsa,
    #[error("it cannot sign")]
    CannotSign,
}

/// DER of RSA with empty parameters in a `SubjectPublicKeyInfo`.
const RSA_ALGORITHM: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

impl RsaKey {
    /// Parses PKCS#8, encrypted PKCS#8 or PKCS#1. A literal `\n`, common in environment variables
    /// and JSON, counts as a line break.
    pub(crate) fn from_pem(pem: &Secret, passphrase: Option<&Secret>) -> Result<Self, KeyError> {
        let text = pem.expose().replace("\\n", "\n");
        let (label, body) = unwrap_pem(&text).ok_or(KeyError::NotPem)?;
        if body.contains("ENCRYPTED") {
            return Err(KeyError::UnknownEncryption);
        }
        let body: String = body.split_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| KeyError::NotPem)?;
        let pair = match label {
            "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
            "ENCRYPTED PRIVATE KEY" => {
                let passphrase = passphrase.ok_or(KeyError::NoPassphrase)?;
                let sealed = EncryptedPrivateKeyInfoRef::try_from(der.as_slice())
                    .map_err(|_| KeyError::UnknownEncryption)?;
                let open = sealed
                    .decrypt(passphrase.expose())
                    .map_err(|_| KeyError::WrongPassphrase)?;
                RsaKeyPair::from_pkcs8(open.as_bytes())
            }
            _ => return Err(KeyError::NotPem),
        };
        let pair = pair.map_err(|_| KeyError::NotRsa)?;
        Ok(Self {
            pair: Box::new(pair),
        })
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> Result<Secret, KeyError> {
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header.to_string()),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(
                &RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                signed.as_bytes(),
                &mut signature,
            )
            .map_err(|_| KeyError::CannotSign)?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(Secret::new(format!("{signed}.{signature}")))
    }

    pub(crate) fn fingerprint(&self) -> String {
        let mut bits = vec![0];
        bits.extend_from_slice(self.pair.public_key().as_ref());
        let mut content = RSA_ALGORITHM.to_vec();
        content.extend(element(0x03, &bits));
        let digest = digest(&SHA256, &element(0x30, &content));
        format!("SHA256:{}", STANDARD.encode(digest))
    }
}

fn unwrap_pem(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    Some((label, body))
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = content.len().to_be_bytes();
    let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    match digits.as_slice() {
        [] => bytes.push(0),
        [short] if *short < 0x80 => bytes.push(*short),
        long => {
            bytes.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            bytes.extend_from_slice(long);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

#[cfg(test)]
mod tests;
