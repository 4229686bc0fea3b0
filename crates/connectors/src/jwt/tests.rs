//! Tests of keys and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ktx_secrets::Secret;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use super::{RsaKey, element};

const PLAIN: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa.pem");
const DES3: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa-des3.pem");
const AES: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa-aes256.pem");
const PKCS1: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa-pkcs1.pem");
const LEGACY: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-rsa-legacy.pem");
const ELLIPTIC: &str = include_str!("../../../../fixtures/connectors/keys/throwaway-elliptic.pem");

/// From `openssl rsa -pubout -outform DER | openssl dgst -sha256 -binary | base64`.
const FINGERPRINT: &str = "SHA256:Hj7ZV5qpZVgqBC5nefCylrlVn6hqMxyu0f/J8Rn4mkU=";

#[track_caller]
fn check(pem: &str, passphrase: Option<&str>, expected: Result<&str, &str>) {
    let passphrase = passphrase.map(Secret::new);
    let found = RsaKey::from_pem(&Secret::new(pem), passphrase.as_ref())
        .map(|key| key.fingerprint())
        .map_err(|error| error.to_string());
    let expected = expected.map(str::to_owned).map_err(str::to_owned);
    assert_eq!(found, expected);
}

#[test]
fn reads_every_form_of_a_key() {
    check(PLAIN, None, Ok(FINGERPRINT));
    check(PLAIN, Some("not needed"), Ok(FINGERPRINT));
    check(&PLAIN.replace('\n', "\\n"), None, Ok(FINGERPRINT));
    check(&format!("Bag: x\n{PKCS1}"), None, Ok(FINGERPRINT));
    check(DES3, Some("open-sesame"), Ok(FINGERPRINT));
    check(AES, Some("open-sesame"), Ok(FINGERPRINT));
}

#[test]
fn says_why_a_key_cannot_be_used() {
    check(
        DES3,
        None,
        Err("it is encrypted and no passphrase is given"),
    );
    check(DES3, Some("open"), Err("the passphrase is wrong"));
    check(
        LEGACY,
        Some("open-sesame"),
        Err("it is encrypted in a form that cannot be read"),
    );
    check(
        ELLIPTIC,
        None,
        Err("it is not an RSA key of at least 2048 bits"),
    );
    for text in [
        "",
        "rsa_key.p8",
        "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----",
    ] {
        check(text, None, Err("it is not a private key in PEM form"));
    }
    let public = PLAIN.replace("PRIVATE", "PUBLIC");
    check(&public, None, Err("it is not a private key in PEM form"));
}

#[test]
fn signs_what_it_says() {
    let key = RsaKey::from_pem(&Secret::new(PLAIN), None).unwrap();
    let token = key
        .sign(&json!({"alg": "RS256"}), &json!({"iss": "me", "iat": 1}))
        .unwrap();
    let parts: Vec<&str> = token.expose().split('.').collect();
    let [header, claims, signature] = parts.as_slice() else {
        panic!("a token has three parts")
    };
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    assert_eq!(read(header), json!({"alg": "RS256"}));
    assert_eq!(read(claims), json!({"iss": "me", "iat": 1}));
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.pair.public_key().as_ref())
        .verify(
            format!("{header}.{claims}").as_bytes(),
            &URL_SAFE_NO_PAD.decode(signature).unwrap(),
        )
        .unwrap();
    assert!(!format!("{key:?} {token:?}").contains(signature));
}

#[test]
fn writes_lengths_of_every_size() {
    assert_eq!(element(4, &[]), [4, 0]);
    assert_eq!(element(4, &[7]), [4, 1, 7]);
    assert_eq!(element(4, &[0; 127]).get(..2), Some([4, 127].as_slice()));
    assert_eq!(
        element(4, &[0; 128]).get(..3),
        Some([4, 0x81, 128].as_slice())
    );
    assert_eq!(
        element(4, &[0; 256]).get(..4),
        Some([4, 0x82, 1, 0].as_slice())
    );
}
