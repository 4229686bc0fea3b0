//! The settings of a server, before and after secrets are looked up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ktx_secrets::{Redactor, Secret, SecretError, SecretRef, SecretSource};
use ktx_tool_descriptors::matches_name;

use crate::fault::McpFault;

/// Maximum length of a message in bytes; a longer one ends the connection.
pub const MOST_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Maximum length of a result in bytes; the rest is cut off, and the result says so.
pub const MOST_RESULT_BYTES: usize = 200_000;

pub const MOST_TOOLS: usize = 128;

/// In bytes. Tool names begin with it.
const LONGEST_NAME: usize = 32;

const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// `env`, `headers` and `url` can be references (`env:NAME`, `file:PATH`) or contain `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The second part of tool names.
    pub name: String,
    pub transport: Transport,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub request_timeout: Duration,
    pub annotations: Annotations,
}

/// Whether ktx believes a server that calls a tool read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotations {
    /// Every tool counts as writing.
    Ignored,
    Trusted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio {
        /// A name on the `PATH`, or a path relative to `folder`.
        command: String,
        args: Vec<String>,
        /// Besides `PATH` and `HOME`.
        env: BTreeMap<String, String>,
        folder: PathBuf,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    /// Server-sent events over HTTP, as before 2025.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

impl ServerSettings {
    /// Looks up every reference.
    ///
    /// # Errors
    /// A reference without a value, by its key; a name that is too long.
    pub fn resolve(&self, source: &dyn SecretSource) -> Result<Resolved, McpFault> {
        if self.name.len() > LONGEST_NAME {
            return Err(McpFault::new(
                &self.name,
                format!("has a name of more than {LONGEST_NAME} characters"),
                "give it a shorter `name`",
            ));
        }
        let mut redactor = Redactor::new();
        let mut values = |key: &str, map: &BTreeMap<String, String>| {
            let each = map.iter().map(|(name, text)| {
                let value = value_of(text, source, &mut redactor)
                    .map_err(|error| McpFault::unresolved(&self.name, key, name, &error))?;
                Ok((name.clone(), value))
            });
            each.collect::<Result<BTreeMap<String, Secret>, McpFault>>()
        };
        let access = match &self.transport {
            Transport::Stdio {
                command,
                args,
                env,
                folder,
            } => {
                let mut variables = values("env", env)?;
                for name in INHERITED {
                    if let Some(value) = source.env(name) {
                        variables
                            .entry(name.to_owned())
                            .or_insert_with(|| Secret::new(value));
                    }
                }
                Access::Stdio {
                    command: command.clone(),
                    args: args.clone(),
                    variables,
                    folder: folder.clone(),
                }
            }
            Transport::Http { url, headers } => Access::Http {
                headers: values("headers", headers)?,
                url: value_of(url, source, &mut redactor)
                    .map_err(|error| McpFault::unresolved(&self.name, "url", "", &error))?,
            },
            Transport::Sse { url, headers } => Access::Sse {
                headers: values("headers", headers)?,
                url: value_of(url, source, &mut redactor)
                    .map_err(|error| McpFault::unresolved(&self.name, "url", "", &error))?,
            },
        };
        Ok(Resolved {
            settings: self.clone(),
            access,
            redactor,
        })
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|it| matches_name(it, tool));
        fits(&self.include) && !fits(&self.exclude)
    }
}

pub struct Resolved {
    pub(crate) settings: ServerSettings,
    pub(crate) access: Access,
    pub(crate) redactor: Redactor,
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolved")
            .field("name", &self.settings.name)
            .finish_non_exhaustive()
    }
}

pub(crate) enum Access {
    Stdio {
        command: String,
        args: Vec<String>,
        variables: BTreeMap<String, Secret>,
        folder: PathBuf,
    },
    Http {
        url: Secret,
        headers: BTreeMap<String, Secret>,
    },
    Sse {
        url: Secret,
        headers: BTreeMap<String, Secret>,
    },
}

/// The redactor learns looked-up values, not written ones.
fn value_of(
    text: &str,
    source: &dyn SecretSource,
    redactor: &mut Redactor,
) -> Result<Secret, SecretError> {
    let reference = SecretRef::parse(text);
    if !matches!(reference, SecretRef::Literal(_)) {
        let secret = reference.resolve(source)?;
        redactor.learn(&secret);
        return Ok(secret);
    }
    let mut value = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        let secret = SecretRef::Env(name.to_owned()).resolve(source)?;
        redactor.learn(&secret);
        value.push_str(before);
        value.push_str(secret.expose());
        rest = behind;
    }
    value.push_str(rest);
    Ok(Secret::new(value))
}
