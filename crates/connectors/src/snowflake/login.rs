//! Snowflake login: a key-signed or external token.

use ktx_secrets::{Redactor, Secret};
use ktx_warehouse::{ErrorKind, WarehouseError};
use serde_json::json;

use super::account;
use crate::jwt::RsaKey;
use crate::settings::{Clock, ConnectionSettings};

/// In seconds; Snowflake accepts at most an hour.
const SIGNED_SECONDS: u64 = 3540;

#[derive(Debug)]
pub(super) enum SnowflakeLogin {
    /// Snowflake has the user's public key.
    KeyPair {
        key: RsaKey,
        subject: String,
        clock: Clock,
    },
    OAuth(Secret),
    AccessToken(Secret),
}

impl SnowflakeLogin {
    pub(super) fn read(
        settings: &ConnectionSettings<'_>,
        name: &str,
        redactor: &mut Redactor,
    ) -> Result<Self, WarehouseError> {
        let method = settings.written(&["authMethod"]);
        let has = |key: &str| settings.value(key).is_some_and(|value| !value.is_null());
        match method.as_deref() {
            Some("rsa") => Self::key_pair(settings, name, redactor),
            None if has("privateKey") => Self::key_pair(settings, name, redactor),
            Some("oauth") => token(settings, redactor).map(Self::OAuth),
            Some("pat") => token(settings, redactor).map(Self::AccessToken),
            Some("password") => Err(password(settings)),
            None if has("token") => Err(settings
                .wrong("has a `token` of an unknown kind")
                .hint("add `authMethod: pat` for a programmatic access token, or `authMethod: oauth`")),
            None if has("password") => Err(password(settings)),
            None => Err(settings
                .wrong("does not say how the user signs in")
                .hint("add `authMethod: rsa` with `username` and `privateKey`, or `authMethod: pat` with `token`")),
            Some(other) => Err(settings
                .wrong(&format!("has the unknown `authMethod: {other}`"))
                .hint("use `rsa`, `oauth` or `pat`")),
        }
    }

    fn key_pair(
        settings: &ConnectionSettings<'_>,
        name: &str,
        redactor: &mut Redactor,
    ) -> Result<Self, WarehouseError> {
        let user = settings.text(&["username", "user"])?.ok_or_else(|| {
            settings
                .wrong("names no user")
                .hint("add `username`: the user whose public key Snowflake has")
        })?;
        let pem = settings.secret(&["privateKey"])?.ok_or_else(|| {
            settings
                .wrong("has no `privateKey`")
                .hint("add `privateKey: file:rsa_key.p8`, or an `env:` reference to its text")
        })?;
        let passphrase = settings.secret(&["passphrase"])?;
        redactor.learn(&pem);
        if let Some(passphrase) = &passphrase {
            redactor.learn(passphrase);
        }
        let key = RsaKey::from_pem(&pem, passphrase.as_ref()).map_err(|error| {
            settings
                .wrong(&format!("has a `privateKey` that cannot be used: {error}"))
                .hint(
                    "make one with `openssl genrsa 2048 | openssl pkcs8 -topk8 -inform PEM -out \
                     rsa_key.p8`, and put its passphrase into `passphrase`",
                )
        })?;
        Ok(Self::KeyPair {
            key,
            subject: format!(
                "{}.{}",
                account::in_tokens(name),
                account::identifier(&user)
            ),
            clock: settings.clock(),
        })
    }

    pub(super) fn token(&self) -> Result<(Secret, &'static str), WarehouseError> {
        match self {
            Self::OAuth(token) => Ok((token.clone(), "OAUTH")),
            Self::AccessToken(token) => Ok((token.clone(), "PROGRAMMATIC_ACCESS_TOKEN")),
            Self::KeyPair {
                key,
                subject,
                clock,
            } => {
                let now = clock.unix_now();
                let claims = json!({
                    "iss": format!("{subject}.{}", key.fingerprint()),
                    "sub": subject,
                    "iat": now,
                    "exp": now + SIGNED_SECONDS,
                });
                let token = key
                    .sign(&json!({"alg": "RS256", "typ": "JWT"}), &claims)
                    .map_err(|error| {
                        WarehouseError::new(
                            ErrorKind::Authentication,
                            format!("the private key of the connection: {error}"),
                        )
                    })?;
                Ok((token, "KEYPAIR_JWT"))
            }
        }
    }

    pub(super) fn hint(&self) -> String {
        match self {
            Self::KeyPair { key, subject, .. } => {
                let user = subject.split_once('.').map_or("", |(_, user)| user);
                format!(
                    "check `account` and `username`, and that `DESC USER {user}` shows \
                     RSA_PUBLIC_KEY_FP = {} for the public key",
                    key.fingerprint()
                )
            }
            Self::OAuth(_) => "get a new OAuth token and put it into `token`".to_owned(),
            Self::AccessToken(_) => {
                "check that the programmatic access token in `token` has not expired, \
                 and that its user has a network policy"
                    .to_owned()
            }
        }
    }
}

fn token(
    settings: &ConnectionSettings<'_>,
    redactor: &mut Redactor,
) -> Result<Secret, WarehouseError> {
    let token = settings.secret(&["token"])?.ok_or_else(|| {
        settings
            .wrong("has no `token`")
            .hint("add `token: env:NAME`, or a `file:` reference")
    })?;
    redactor.learn(&token);
    Ok(token)
}

/// The SQL API does not support passwords.
fn password(settings: &ConnectionSettings<'_>) -> WarehouseError {
    let user = settings.written(&["username", "user"]);
    let user = user.as_deref().unwrap_or("YOUR_USER");
    settings
        .wrong("signs in with a password, which Snowflake's SQL API does not support")
        .hint(format!(
            "make a key pair: `openssl genrsa 2048 | openssl pkcs8 -topk8 -nocrypt -inform PEM -out \
             rsa_key.p8`, then `openssl rsa -in rsa_key.p8 -pubout -out rsa_key.pub`, then in \
             Snowflake `ALTER USER {user} SET RSA_PUBLIC_KEY = '…'` with the text between the \
             first and the last line of rsa_key.pub; then set `authMethod: rsa` and `privateKey: \
             file:rsa_key.p8`"
        ))
}
