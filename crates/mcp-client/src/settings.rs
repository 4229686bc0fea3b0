//! How a server is reached, as an agent file says it, and the same with every secret looked up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ktx_secrets::{Redactor, Secret, SecretError, SecretRef, SecretSource};
use ktx_tool_descriptors::matches_name;

use crate::fault::McpFault;

/// The longest message of a server, in bytes; a longer one ends the connection.
pub const MOST_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// The longest result of a call that is handed on, in bytes; the rest is cut off, and the result says so.
pub const MOST_RESULT_BYTES: usize = 200_000;

/// The most tools of one server.
pub const MOST_TOOLS: usize = 128;

/// The longest name of a server, in bytes: the names of its tools begin with it, and rules name them by it.
const LONGEST_NAME: usize = 32;

/// The variables of ktx that a server gets.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// A server as it is written: values of `env`, `headers` and `url` may be references (`env:NAME`, `file:PATH`) or
/// hold `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The second part of the names of its tools.
    pub name: String,
    pub transport: Transport,
    /// Patterns of the tools that are offered.
    pub include: Vec<String>,
    /// Patterns of those that are not.
    pub exclude: Vec<String>,
    /// The limit of one request.
    pub request_timeout: Duration,
    /// Whether a server is believed that a tool only reads.
    pub annotations: Annotations,
}

/// Whether a server is believed when it says that a tool only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotations {
    /// Every tool counts as writing.
    Ignored,
    Trusted,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// A name on the `PATH`, or a path that starts at `folder`.
        command: String,
        args: Vec<String>,
        /// Its variables besides `PATH` and `HOME`.
        env: BTreeMap<String, String>,
        /// The folder that it runs in.
        folder: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, as before 2025.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

impl ServerSettings {
    /// Looks every reference up.
    ///
    /// # Errors
    /// The first reference without a value, named by the key that holds it; a name that is too long.
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

    /// Whether a tool of the server is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|it| matches_name(it, tool));
        fits(&self.include) && !fits(&self.exclude)
    }
}

/// A server whose references have been looked up. Holds secrets.
pub struct Resolved {
    pub(crate) settings: ServerSettings,
    pub(crate) access: Access,
    /// Knows every looked-up value.
    pub(crate) redactor: Redactor,
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolved")
            .field("name", &self.settings.name)
            .finish_non_exhaustive()
    }
}

/// [`Transport`] with its values.
pub(crate) enum Access {
    Stdio {
        command: String,
        args: Vec<String>,
        /// The whole environment.
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

/// The value of a text: that of a reference, or the text with each `${NAME}` replaced. Looked-up values are secrets
/// for the redactor, written ones are not.
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
