//! Connection settings with resolved references.

mod target;

use std::time::Instant;

use ktx_config::Connection;
use ktx_secrets::{Secret, SecretError, SecretRef, SecretSource};
use ktx_warehouse::{ErrorKind, WarehouseError};
use serde_json::Value;

pub(crate) use target::{LoginTarget, ServerKind};

/// Wall clock, read once and advanced monotonically, for signed logins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    unix_start: u64,
    started: Instant,
}

impl Clock {
    pub(crate) fn new(unix_now: u64) -> Self {
        Self {
            unix_start: unix_now,
            started: Instant::now(),
        }
    }

    pub(crate) fn unix_now(self) -> u64 {
        self.unix_start + self.started.elapsed().as_secs()
    }
}

/// Default session time zone, so that the same data gives the same days everywhere.
pub(crate) const UTC: &str = "UTC";

pub(crate) struct ConnectionSettings<'a> {
    connection: &'a Connection,
    secrets: &'a dyn SecretSource,
    clock: Clock,
}

impl<'a> ConnectionSettings<'a> {
    pub(crate) fn new(
        connection: &'a Connection,
        secrets: &'a dyn SecretSource,
        clock: Clock,
    ) -> Self {
        Self {
            connection,
            secrets,
            clock,
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn secrets(&self) -> &'a dyn SecretSource {
        self.secrets
    }

    pub(crate) fn written(&self, keys: &[&str]) -> Option<String> {
        self.connection.text(keys)
    }

    pub(crate) fn list(&self, keys: &[&str]) -> Vec<String> {
        self.connection.texts(keys)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&'a Value> {
        self.connection.fields.get(key)
    }

    pub(crate) fn secret(&self, keys: &[&str]) -> Result<Option<Secret>, WarehouseError> {
        let Some(written) = self.connection.text(keys) else {
            return Ok(None);
        };
        let key = keys
            .iter()
            .find(|key| self.connection.fields.contains_key(**key));
        let secret = self.resolve(
            &SecretRef::parse(&written),
            key.copied().unwrap_or_default(),
        )?;
        Ok((!secret.expose().is_empty()).then_some(secret))
    }

    /// Like [`Self::secret`], for displayable values.
    pub(crate) fn text(&self, keys: &[&str]) -> Result<Option<String>, WarehouseError> {
        Ok(self.secret(keys)?.map(|secret| secret.expose().to_owned()))
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>, WarehouseError> {
        match self.written(&[key]) {
            None => Ok(None),
            Some(text) => match text.parse::<usize>() {
                Ok(count) if count > 0 => Ok(Some(count)),
                _ => Err(self.wrong(&format!(
                    "has `{key}: {text}`; it must be a positive whole number"
                ))),
            },
        }
    }

    pub(crate) fn timezone(&self) -> Result<String, WarehouseError> {
        let Some(text) = self.written(&["timezone"]) else {
            return Ok(UTC.to_owned());
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "+-_/:".contains(letter);
        if !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain) {
            return Ok(text);
        }
        Err(self
            .wrong(&format!("has the `timezone` `{text}`"))
            .hint("write a name such as `UTC` or `Europe/Berlin`"))
    }

    /// Errors name the field, never the value.
    pub(crate) fn resolve(
        &self,
        reference: &SecretRef,
        key: &str,
    ) -> Result<Secret, WarehouseError> {
        reference.resolve(self.secrets).map_err(|error| {
            let hint = match &error {
                SecretError::MissingVariable { name } => {
                    format!("set the environment variable `{name}` and run the command again")
                }
                SecretError::UnreadableFile { .. } => {
                    "check that the file exists and that you may read it".to_owned()
                }
                SecretError::EmptyFile { .. } => "write the value into the file".to_owned(),
            };
            self.wrong(&format!("has no value for `{key}`: {error}"))
                .hint(hint)
        })
    }

    /// `what` continues "connection `x` …".
    pub(crate) fn wrong(&self, what: &str) -> WarehouseError {
        WarehouseError::new(
            ErrorKind::Config,
            format!("connection `{}` {what}", self.connection.id),
        )
    }
}
