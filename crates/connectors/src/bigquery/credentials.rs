//! BigQuery credentials: service account, signed-in user, machine or anonymous.

use std::path::PathBuf;

use ktx_http::BaseUrl;
use ktx_secrets::{Redactor, Secret, SecretRef};
use ktx_warehouse::WarehouseError;
use serde_json::Value;

use crate::jwt::RsaKey;
use crate::rest;
use crate::settings::ConnectionSettings;

const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const METADATA_SERVER: &str = "metadata.google.internal";
const ADC_FILE: &str = ".config/gcloud/application_default_credentials.json";

#[derive(Debug)]
pub(super) enum Credentials {
    ServiceAccount {
        email: String,
        key: RsaKey,
        key_id: Option<String>,
        token_uri: String,
        project: Option<String>,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: Secret,
        refresh_token: Secret,
        token_uri: String,
        project: Option<String>,
    },
    Machine {
        host: String,
    },
    /// For a local emulator.
    Anonymous,
}

impl Credentials {
    pub(super) fn read(
        settings: &ConnectionSettings<'_>,
        endpoint: &BaseUrl,
        redactor: &mut Redactor,
    ) -> Result<Self, WarehouseError> {
        if let Some(text) = settings.secret(&["credentials_json"])? {
            return Self::from_json(settings, "credentials_json", &text, redactor);
        }
        match settings.written(&["credentials"]).as_deref() {
            // The project's author chose the address, and the user's login is only for Google.
            None if settings.written(&["endpoint"]).is_some() => Err(settings
                .wrong("has an `endpoint` and names no credentials")
                .hint(
                    "add `credentials: adc` if that address may have your Google login, or give \
                     `credentials_json`",
                )),
            None | Some("adc") => Self::from_file(settings, redactor),
            Some("metadata") => Ok(Self::Machine {
                host: settings
                    .secrets()
                    .env("GCE_METADATA_HOST")
                    .unwrap_or_else(|| METADATA_SERVER.to_owned()),
            }),
            Some("none") if endpoint.is_this_machine() => Ok(Self::Anonymous),
            Some("none") => Err(settings
                .wrong("has `credentials: none`, which is for an emulator on this machine")
                .hint("set `endpoint` to the emulator, or give credentials")),
            Some(other) => Err(settings
                .wrong(&format!("has the unknown `credentials: {other}`"))
                .hint("use `adc`, `metadata` or `none`, or give `credentials_json`")),
        }
    }

    pub(super) fn project(&self) -> Option<&str> {
        match self {
            Self::ServiceAccount { project, .. } | Self::AuthorizedUser { project, .. } => {
                project.as_deref()
            }
            Self::Machine { .. } | Self::Anonymous => None,
        }
    }

    /// Returns the caller as `GRANT` statements name it.
    pub(super) fn member(&self) -> String {
        match self {
            Self::ServiceAccount { email, .. } => format!("serviceAccount:{email}"),
            Self::AuthorizedUser { .. } => "user:YOUR-ADDRESS".to_owned(),
            Self::Machine { .. } | Self::Anonymous => "serviceAccount:ITS-ADDRESS".to_owned(),
        }
    }

    fn from_file(
        settings: &ConnectionSettings<'_>,
        redactor: &mut Redactor,
    ) -> Result<Self, WarehouseError> {
        let secrets = settings.secrets();
        let named = secrets
            .env("GOOGLE_APPLICATION_CREDENTIALS")
            .filter(|path| !path.trim().is_empty())
            .map(PathBuf::from);
        let usual = || secrets.home().map(|home| home.join(ADC_FILE));
        let hint = "give the text of a service account's key in `credentials_json` (as \
             `file:key.json` or `env:NAME`), or run `gcloud auth application-default login`";
        let Some(path) = named.or_else(usual) else {
            return Err(settings.wrong("has no credentials").hint(hint));
        };
        let field = path.display().to_string();
        let text = SecretRef::File(path).resolve(secrets).map_err(|error| {
            settings
                .wrong(&format!("has no credentials: {error}"))
                .hint(hint)
        })?;
        Self::from_json(settings, &field, &text, redactor)
    }

    fn from_json(
        settings: &ConnectionSettings<'_>,
        place: &str,
        text: &Secret,
        redactor: &mut Redactor,
    ) -> Result<Self, WarehouseError> {
        let unusable = |why: &str| {
            settings
                .wrong(&format!("has unusable credentials in `{place}`: {why}"))
                .hint("create a JSON key for a service account and give the whole text of its file")
        };
        // The parser's message could contain part of the secret.
        let file: Value =
            serde_json::from_str(text.expose()).map_err(|_| unusable("they are not JSON"))?;
        let optional = |pointer: &str| rest::text(&file, pointer).map(str::to_owned);
        let need = |pointer: &str| {
            optional(pointer).ok_or_else(|| {
                unusable(&format!("`{}` is missing", pointer.trim_start_matches('/')))
            })
        };
        let token_uri = optional("/token_uri").unwrap_or_else(|| TOKEN_URI.to_owned());
        if BaseUrl::parse(&token_uri).is_none() {
            return Err(unusable("`token_uri` is not an HTTPS URL"));
        }
        match rest::text(&file, "/type").unwrap_or_default() {
            "service_account" => {
                let pem = Secret::new(need("/private_key")?);
                redactor.learn(&pem);
                let key = RsaKey::from_pem(&pem, None)
                    .map_err(|error| unusable(&format!("of `private_key`, {error}")))?;
                Ok(Self::ServiceAccount {
                    email: need("/client_email")?,
                    key,
                    key_id: optional("/private_key_id"),
                    token_uri,
                    project: optional("/project_id"),
                })
            }
            "authorized_user" => {
                let client_secret = Secret::new(need("/client_secret")?);
                let refresh_token = Secret::new(need("/refresh_token")?);
                redactor.learn(&client_secret);
                redactor.learn(&refresh_token);
                Ok(Self::AuthorizedUser {
                    client_id: need("/client_id")?,
                    client_secret,
                    refresh_token,
                    token_uri,
                    project: optional("/quota_project_id"),
                })
            }
            other => Err(unusable(&format!(
                "their type is `{other}`; `service_account` and `authorized_user` are supported"
            ))),
        }
    }
}
