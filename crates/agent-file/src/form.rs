//! Forms of text: names, references, times, patterns.

mod secret;
mod time;

use ktx_diagnostics::{Code, nearest};
use ktx_vocabulary::{AgentProvider, AuthProvider, ModelRole};
use regex::Regex;
use serde_json::{Value, json};

pub(crate) use secret::{
    is_reference, is_secret_name, looks_like_secret, plain_secret_fault, reference,
};

const GROUPS: [&str; 3] = ["@read", "@write", "@all"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    AgentName,
    ToolName,
    EntryName,
    ToolPattern,
    Provider,
    AuthProvider,
    Role,
    Secret,
    /// An `http` or `https` address, or a reference to one.
    Address,
    /// Text, number or boolean, as text; a secret must be a reference.
    Loose,
    /// A duration such as `15m`, or `never`.
    Period,
    Duration,
    Cron,
    TimeZone,
    Date,
    Regex,
}

#[derive(Debug)]
pub(crate) struct FormFault {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl FormFault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            code: Code::BadValue,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    fn near<'n>(self, text: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        match nearest(text, names).first() {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => self,
        }
    }
}

pub fn name_fault(name: &str) -> Option<String> {
    TextForm::AgentName.fault(name).map(|fault| fault.message)
}

pub(crate) fn providers() -> Vec<&'static str> {
    AgentProvider::all().map(AgentProvider::as_str).collect()
}

impl TextForm {
    pub(crate) fn fault(self, text: &str) -> Option<FormFault> {
        match self {
            Self::AgentName => require(
                text,
                |text| is_name(text, char::is_alphabetic, "-", 100),
                "use letters, digits and `-`, beginning with a letter, at most 100",
            ),
            Self::ToolName => require(
                text,
                |text| is_name(text, |_| true, "_", 48),
                "use letters, digits and `_`, at most 48",
            ),
            Self::EntryName => require(
                text,
                |text| is_name(text, |_| true, "-", 64) && text.to_lowercase() == text,
                "use small letters, digits and `-`, at most 64",
            ),
            Self::ToolPattern => tool_pattern(text),
            Self::Provider => provider(text),
            Self::AuthProvider => auth_provider(text),
            Self::Role => role(text),
            Self::Secret if is_reference(text) => None,
            Self::Secret => Some(plain_secret_fault()),
            Self::Address => address(text),
            Self::Loose => None,
            Self::Period if text == "never" => None,
            Self::Period => require(
                text,
                |text| time::seconds(text).is_some(),
                "use `never` or a time such as `15m`, `8h` or `2d`",
            ),
            Self::Duration => require(
                text,
                |text| time::seconds(text).is_some(),
                "use a time such as `15m`, `8h` or `2d`",
            ),
            Self::Cron => time::cron_fault(text).map(FormFault::new),
            Self::TimeZone => time::zone_fault(text),
            Self::Date => require(text, time::is_date, "use a date such as `2026-01-31`"),
            Self::Regex => Regex::new(text).err().map(|error| {
                FormFault::new(format!("is not a regular expression: {}", reason(&error)))
            }),
        }
    }

    pub(crate) fn complete(self, text: &str) -> Value {
        match self {
            Self::Secret | Self::Address | Self::Loose => Value::from(reference(text)),
            Self::Period | Self::Duration => json!(time::seconds(text)),
            _ => Value::from(text),
        }
    }

    pub(crate) fn schema(self) -> Value {
        match self {
            Self::AgentName => pattern("^[A-Za-z][A-Za-z0-9-]{0,99}$"),
            Self::ToolName => pattern("^[0-9A-Za-z_]{1,48}$"),
            Self::EntryName => pattern("^[a-z0-9-]{1,64}$"),
            Self::ToolPattern => {
                pattern(r"^(@read|@write|@all|@mcp:[0-9A-Za-z_]+|[0-9A-Za-z_*]+)$")
            }
            Self::Provider => json!({ "type": "string", "enum": providers() }),
            Self::AuthProvider => {
                json!({ "type": "string", "enum": AuthProvider::ALL.map(AuthProvider::as_str) })
            }
            Self::Role => {
                json!({ "type": "string", "enum": ModelRole::ALL.map(ModelRole::as_str) })
            }
            Self::Secret => pattern(r"^(env:.+|file:.+|\$\{[A-Za-z_][A-Za-z0-9_]*\})$"),
            Self::Address => {
                pattern(r"^(https?://.+|env:.+|file:.+|\$\{[A-Za-z_][A-Za-z0-9_]*\})$")
            }
            Self::Loose => json!({ "type": ["string", "number", "boolean"] }),
            Self::Period => pattern("^(never|[1-9][0-9]{0,5}[smhd])$"),
            Self::Duration => pattern("^[1-9][0-9]{0,5}[smhd]$"),
            Self::Date => pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
            Self::Cron | Self::TimeZone | Self::Regex => {
                json!({ "type": "string", "minLength": 1 })
            }
        }
    }

    pub(crate) fn described(self) -> String {
        match self {
            Self::AgentName | Self::ToolName | Self::EntryName => "a name",
            Self::ToolPattern => "a pattern of tool names",
            Self::Provider => return listed(&providers()),
            Self::AuthProvider => return listed(&AuthProvider::ALL.map(AuthProvider::as_str)),
            Self::Role => return listed(&ModelRole::ALL.map(ModelRole::as_str)),
            Self::Secret => "a reference: `env:NAME` or `file:PATH`",
            Self::Address => "an address or a reference to one",
            Self::Loose => "text",
            Self::Period => "`never` or a time such as `15m`",
            Self::Duration => "a time such as `15m`",
            Self::Cron => "five fields of cron",
            Self::TimeZone => "a time zone",
            Self::Date => "a date",
            Self::Regex => "a regular expression",
        }
        .to_owned()
    }
}

pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn require(text: &str, holds: impl FnOnce(&str) -> bool, message: &str) -> Option<FormFault> {
    (!holds(text)).then(|| FormFault::new(message))
}

fn is_name(text: &str, begins: fn(char) -> bool, signs: &str, most: usize) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || signs.contains(letter);
    text.starts_with(begins) && text.len() <= most && text.chars().all(allowed)
}

fn tool_pattern(text: &str) -> Option<FormFault> {
    if !text.starts_with('@') {
        return require(
            text,
            |text| {
                let allowed =
                    |letter: char| letter.is_ascii_alphanumeric() || "_*".contains(letter);
                !text.is_empty() && text.chars().all(allowed)
            },
            "use a tool's name, with `*` for any characters, or a group such as `@read`",
        );
    }
    let server = text.strip_prefix("@mcp:");
    if GROUPS.contains(&text) || server.is_some_and(|name| TextForm::ToolName.fault(name).is_none())
    {
        return None;
    }
    let message = format!(
        "there is no group `{text}`; there are: {}, @mcp:SERVER",
        GROUPS.join(", ")
    );
    Some(FormFault::new(message).near(text, GROUPS))
}

fn provider(text: &str) -> Option<FormFault> {
    let names = providers();
    if names.contains(&text) {
        return None;
    }
    let message = format!(
        "there is no provider `{text}`; there are: {}",
        names.join(", ")
    );
    Some(FormFault::new(message).near(text, names))
}

fn auth_provider(text: &str) -> Option<FormFault> {
    if AuthProvider::parse(text).is_some() {
        return None;
    }
    let names = AuthProvider::ALL.map(AuthProvider::as_str);
    let there_are = names.join(", ");
    if AuthProvider::LATER.contains(&text) {
        return Some(FormFault::new(format!(
            "`{text}` is not supported yet; there are: {there_are}"
        )));
    }
    let fault = FormFault::new(format!("there is no `{text}`; there are: {there_are}"));
    Some(fault.near(text, names))
}

fn role(text: &str) -> Option<FormFault> {
    if ModelRole::parse(text).is_some() {
        return None;
    }
    let names = ModelRole::ALL.map(ModelRole::as_str);
    let message = format!("there is no role `{text}`; there are: {}", names.join(", "));
    Some(FormFault::new(message).near(text, names))
}

fn address(text: &str) -> Option<FormFault> {
    if is_reference(text) {
        return None;
    }
    if ktx_secrets::redact_url(text) != text {
        return Some(plain_secret_fault());
    }
    require(
        text,
        |text| {
            let rest = text
                .strip_prefix("https://")
                .or_else(|| text.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty())
        },
        "use an address that begins with `https://` or `http://`",
    )
}

fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests;
