//! Credentials that Google's tools store on the machine.

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_secrets::Secret;
use serde::Deserialize;

const METADATA_SERVER: &str = "http://metadata.google.internal";

#[derive(Debug, Clone)]
pub enum GoogleCredentials {
    ServiceAccount(ServiceAccount),
    /// By `gcloud auth application-default login`.
    AuthorizedUser(AuthorizedUser),
    MetadataServer {
        url: String,
    },
    Token(Secret),
}

#[derive(Debug, Clone)]
pub struct ServiceAccount {
    pub client_email: String,
    /// RSA, PKCS#8 in PEM.
    pub private_key: Secret,
    pub private_key_id: Option<String>,
    pub token_uri: String,
    pub project_id: Option<String>,
}

#[derive(Debug, Clone)]
pub struct AuthorizedUser {
    pub client_id: String,
    pub client_secret: Secret,
    pub refresh_token: Secret,
    pub token_uri: String,
    pub quota_project_id: Option<String>,
}

#[derive(Deserialize)]
struct CredentialsFile {
    #[serde(rename = "type", default)]
    kind: String,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
    project_id: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    quota_project_id: Option<String>,
}

const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

impl GoogleCredentials {
    /// Parses `GOOGLE_APPLICATION_CREDENTIALS` or gcloud's `application_default_credentials.json`.
    pub fn from_json(text: &str) -> Result<Self, LlmError> {
        let broken = |reason: String| {
            LlmError::new(
                LlmErrorKind::Auth,
                format!("the Google credentials file is unusable: {reason}"),
            )
            .hint("run `gcloud auth application-default login`")
        };
        let file: CredentialsFile =
            serde_json::from_str(text).map_err(|error| broken(place_of(&error)))?;
        let need = |name: &str, value: Option<String>| {
            value.ok_or_else(|| broken(format!("`{name}` is missing")))
        };
        let token_uri = file.token_uri.unwrap_or_else(|| TOKEN_URI.to_owned());
        match file.kind.as_str() {
            "service_account" => Ok(Self::ServiceAccount(ServiceAccount {
                client_email: need("client_email", file.client_email)?,
                private_key: Secret::new(need("private_key", file.private_key)?),
                private_key_id: file.private_key_id,
                token_uri,
                project_id: file.project_id,
            })),
            "authorized_user" => Ok(Self::AuthorizedUser(AuthorizedUser {
                client_id: need("client_id", file.client_id)?,
                client_secret: Secret::new(need("client_secret", file.client_secret)?),
                refresh_token: Secret::new(need("refresh_token", file.refresh_token)?),
                token_uri,
                quota_project_id: file.quota_project_id,
            })),
            other => Err(broken(format!(
                "its type is `{other}`; `service_account` and `authorized_user` are supported"
            ))),
        }
    }

    pub fn metadata_server() -> Self {
        Self::MetadataServer {
            url: METADATA_SERVER.to_owned(),
        }
    }

    pub fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::ServiceAccount(account) => vec![&account.private_key],
            Self::AuthorizedUser(user) => vec![&user.client_secret, &user.refresh_token],
            Self::MetadataServer { .. } => Vec::new(),
            Self::Token(token) => vec![token],
        }
    }

    pub fn project(&self) -> Option<&str> {
        match self {
            Self::ServiceAccount(account) => account.project_id.as_deref(),
            Self::AuthorizedUser(user) => user.quota_project_id.as_deref(),
            Self::MetadataServer { .. } | Self::Token(_) => None,
        }
    }
}

/// Never quotes the file: it contains secrets.
fn place_of(error: &serde_json::Error) -> String {
    format!(
        "no JSON object at line {}, column {}",
        error.line(),
        error.column()
    )
}

#[cfg(test)]
mod tests;
