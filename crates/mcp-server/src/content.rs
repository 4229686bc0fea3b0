//! A project's pages, sources and schemas as resources, prompts and completions.

mod address;
mod completions;
mod listing;
mod prompts;
mod reading;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use ktx_context_tools::{ProjectContext, context_tools};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_bridge::{
    ContentError, LazyTools, News, PromptEntry, PromptPart, ResourceForm, ResourceList,
    ResourceText, ServerContent, Typed,
};
use ktx_tool_descriptors::ToolSet;
use tokio::sync::broadcast;

use crate::app::app_page;
use watch::Watch;

/// The list of tools names this page.
const APP: &str = "ui://ktx/result";

const APP_TYPE: &str = "text/html;profile=mcp-app";

pub(crate) struct ProjectContent {
    context: Arc<dyn ProjectContext>,
    /// They keep every result within its budget.
    readers: OnceLock<Result<ToolSet, ContentError>>,
    watch: Arc<Watch>,
}

impl ProjectContent {
    /// `tools` are recreated when `ktx.yaml` changes.
    pub(crate) fn new(context: Arc<dyn ProjectContext>, tools: Arc<LazyTools>) -> Self {
        Self {
            watch: Arc::new(Watch::new(Arc::clone(&context), tools)),
            readers: OnceLock::new(),
            context,
        }
    }

    fn readers(&self) -> Result<&ToolSet, ContentError> {
        let readers = self.readers.get_or_init(|| {
            context_tools(&self.context).map_err(|error| ContentError::Failed(error.to_string()))
        });
        readers.as_ref().map_err(Clone::clone)
    }
}

#[async_trait]
impl ServerContent for ProjectContent {
    async fn resources(&self, cursor: Option<&str>) -> Result<ResourceList, ContentError> {
        listing::resources(&*self.context, cursor).await
    }

    fn forms(&self) -> Vec<ResourceForm> {
        address::FORMS.to_vec()
    }

    async fn read(&self, uri: &str) -> Result<Vec<ResourceText>, ContentError> {
        if uri == APP {
            return Ok(vec![ResourceText {
                uri: APP.to_owned(),
                media_type: APP_TYPE,
                text: app_page().to_owned(),
            }]);
        }
        self.read_resource(uri).await
    }

    fn page_of(&self, tool: &str) -> Option<&'static str> {
        ["sl_query", "sql_execution"].contains(&tool).then_some(APP)
    }

    fn prompts(&self) -> Vec<PromptEntry> {
        prompts::PROMPTS.to_vec()
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptPart>, ContentError> {
        self.make_prompt(name, arguments).await
    }

    async fn completions(&self, typed: &Typed) -> Result<Vec<String>, ContentError> {
        completions::fitting(&*self.context, typed).await
    }

    async fn news(&self) -> broadcast::Receiver<News> {
        self.watch.hear().await
    }
}

fn unread(failure: &Failure) -> ContentError {
    let text = in_words(failure);
    match failure.code {
        Code::PageNotFound
        | Code::UnknownSource
        | Code::UnknownConnection
        | Code::InvalidWikiKey
        | Code::NotAWarehouse => ContentError::NotFound(text),
        _ => ContentError::Failed(text),
    }
}

fn in_words(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    for hint in &failure.hints {
        text.push_str("; ");
        text.push_str(hint.as_str());
    }
    text
}
