//! What a server offers beside its tools: resources, prompts, the names that complete their arguments, and
//! news of what has changed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio::sync::broadcast;

/// One resource of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    /// What `resources/read` takes.
    pub uri: String,
    /// The short name.
    pub name: String,
    /// The display name.
    pub title: String,
    /// One line about it; empty when there is none.
    pub description: String,
    /// The media type of its text.
    pub media_type: &'static str,
}

/// One part of the listing of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceList {
    /// In the order of the listing.
    pub entries: Vec<ResourceEntry>,
    /// What the client sends to read on; `None` at the end.
    pub next: Option<String>,
}

/// The form of the URIs of many resources, as RFC 6570.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceForm {
    /// Such as `shop://orders/{id}`.
    pub uri_template: &'static str,
    /// The short name.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// What the resources are.
    pub description: &'static str,
    /// The media type of their texts.
    pub media_type: &'static str,
}

/// A text with the URI that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    /// The URI that gives this text.
    pub uri: String,
    /// The media type of the text.
    pub media_type: &'static str,
    /// The text.
    pub text: String,
}

/// One prompt of the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptEntry {
    /// What `prompts/get` takes.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// Its arguments, in the order of a form.
    pub arguments: &'static [PromptArgument],
}

/// One argument of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptArgument {
    /// The name.
    pub name: &'static str,
    /// What to put in.
    pub description: &'static str,
    /// Whether the prompt needs it.
    pub need: Need,
}

/// Whether an argument may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It may not.
    Required,
    /// It may.
    Optional,
}

/// One part of the message that a prompt makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    /// Words to the model.
    Text(String),
    /// A resource that the words are about.
    Resource(ResourceText),
}

/// What an argument that is being typed belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A prompt, by its name.
    Prompt(String),
    /// The template of resources.
    Resource(String),
}

/// An argument that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// What it belongs to.
    pub subject: Subject,
    /// The argument's name.
    pub argument: String,
    /// What has been typed.
    pub text: String,
    /// The arguments that are known already.
    pub known: BTreeMap<String, String>,
}

/// Why a resource, a prompt or a completion cannot be given, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// There is no such resource.
    #[error("{0}")]
    NotFound(String),
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// It could not be read.
    #[error("{0}")]
    Failed(String),
}

/// How much a client wants to hear of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something has changed.
    Notice,
    /// Something is wrong, and the server continues without it.
    Warning,
    /// Something cannot be used.
    Error,
}

/// News of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The list of tools has changed.
    Tools,
    /// The list of resources has changed.
    Resources,
    /// The resources whose URIs begin with this may have changed.
    Changed(String),
    /// A line for the log of the clients.
    Log(Severity, String),
}

/// What a server offers beside its tools.
#[async_trait]
pub trait ServerContent: Send + Sync {
    /// Returns the resources from `cursor` on, which an earlier part gave.
    async fn resources(&self, cursor: Option<&str>) -> Result<ResourceList, ContentError>;

    /// Returns the forms of the URIs.
    fn forms(&self) -> Vec<ResourceForm>;

    /// Returns the texts of a resource, a bounded amount. Where there is more, the last one says how to read on.
    async fn read(&self, uri: &str) -> Result<Vec<ResourceText>, ContentError>;

    /// Returns the URI of the page that shows the results of a tool to people.
    fn page_of(&self, _tool: &str) -> Option<&'static str> {
        None
    }

    /// Returns the prompts.
    fn prompts(&self) -> Vec<PromptEntry>;

    /// Makes the message of a prompt.
    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptPart>, ContentError>;

    /// Returns all values that fit an argument, the likeliest first.
    async fn completions(&self, typed: &Typed) -> Result<Vec<String>, ContentError>;

    /// Hears of changes from now on. Only while someone hears are changes looked for.
    async fn news(&self) -> broadcast::Receiver<News>;
}
