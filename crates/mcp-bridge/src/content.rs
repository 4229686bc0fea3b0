//! A server's resources, prompts, completions and news.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio::sync::broadcast;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    pub uri: String,
    pub name: String,
    pub title: String,
    pub description: String,
    pub media_type: &'static str,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceList {
    pub entries: Vec<ResourceEntry>,
    /// The next cursor; `None` at the end.
    pub next: Option<String>,
}

/// A URI template of RFC 6570.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceForm {
    /// `shop://orders/{id}`.
    pub uri_template: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub media_type: &'static str,
}

/// A text and its URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    pub uri: String,
    pub media_type: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// In the order of the form.
    pub arguments: &'static [PromptArgument],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: &'static str,
    pub description: &'static str,
    pub need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    Resource(ResourceText),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Prompt(String),
    Resource(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    pub subject: Subject,
    pub argument: String,
    pub text: String,
    pub known: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Failed(String),
}

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Notice,
    /// Something is wrong, and the server continues without it.
    Warning,
    /// Something cannot be used.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Tools,
    Resources,
    /// Resources with this URI prefix.
    Changed(String),
    Log(Severity, String),
}

/// What a server offers besides tools.
#[async_trait]
pub trait ServerContent: Send + Sync {
    async fn resources(&self, cursor: Option<&str>) -> Result<ResourceList, ContentError>;

    fn forms(&self) -> Vec<ResourceForm>;

    /// Returns a bounded amount; the last text says how to continue.
    async fn read(&self, uri: &str) -> Result<Vec<ResourceText>, ContentError>;

    fn page_of(&self, _tool: &str) -> Option<&'static str> {
        None
    }

    fn prompts(&self) -> Vec<PromptEntry>;

    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptPart>, ContentError>;

    /// Returns all fitting values, the likeliest first.
    async fn completions(&self, typed: &Typed) -> Result<Vec<String>, ContentError>;

    /// Without subscribers, the server does not look for changes.
    async fn news(&self) -> broadcast::Receiver<News>;
}
