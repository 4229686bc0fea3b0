//! Serves a tool set and a server's content over MCP.
#![expect(
    deprecated,
    reason = "the log is on its way out of the protocol, and clients use it"
)]

mod calls;
mod choice;
mod shapes;

use std::sync::Arc;

use ktx_tool_descriptors::ToolSet;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CompletionInfo, CustomRequest, CustomResult, ErrorCode, ErrorData,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::content::ServerContent;
use crate::lazy::LazyTools;
use crate::observer::CallObserver;
use crate::serve::{Offer, ServerIdentity};
use crate::session::{RequestedLevel, Session, digest, listen};
use shapes::{
    contents, message, prompt, refused, resource, shown_by, template, texts, tool, typed,
};

const RUNNING: usize = 16;

/// The extension of clients that show a server's pages.
const PAGES: &str = "io.modelcontextprotocol/ui";

const KNOWN: [&str; 9] = [
    "initialize",
    "ping",
    "tools/list",
    "logging/setLevel",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
];

#[derive(Clone)]
pub(crate) struct Bridge {
    tools: Arc<LazyTools>,
    content: Option<Arc<dyn ServerContent>>,
    observer: Option<Arc<dyn CallObserver>>,
    identity: Arc<ServerIdentity>,
    running: Arc<Semaphore>,
    session: Session,
    /// Canceled after the last client left.
    left: CancellationToken,
}

impl Bridge {
    pub(crate) fn new(offer: Offer, identity: ServerIdentity, left: CancellationToken) -> Self {
        Self {
            tools: offer.tools,
            content: offer.content,
            observer: offer.observer,
            identity: Arc::new(identity),
            running: Arc::new(Semaphore::new(RUNNING)),
            session: Session::new(),
            left,
        }
    }

    pub(crate) fn for_another(&self) -> Self {
        Self {
            session: Session::new(),
            ..self.clone()
        }
    }

    fn tools(&self) -> Result<Arc<ToolSet>, ErrorData> {
        let tools = self.tools.get();
        tools.map_err(|error| ErrorData::internal_error(shapes::unavailable(&error), None))
    }

    fn content<M: rmcp::model::ConstString>(&self) -> Result<&Arc<dyn ServerContent>, ErrorData> {
        let content = self.content.as_ref();
        content.ok_or_else(ErrorData::method_not_found::<M>)
    }
}

/// Methods that the newer protocol no longer has.
const REMOVED: [&str; 2] = ["initialize", "logging/setLevel"];

fn is_newer(request: &RequestContext<RoleServer>) -> bool {
    let version = request.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn requested_level(request: &RequestContext<RoleServer>) -> Option<RequestedLevel> {
    is_newer(request).then(|| RequestedLevel(request.meta.log_level()))
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let identity = &self.identity;
        let builder = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed();
        let capabilities = if self.content.is_some() {
            builder
                .enable_completions()
                .enable_prompts()
                .enable_resources()
                .enable_resources_list_changed()
                .enable_resources_subscribe()
                .build()
        } else {
            builder.build()
        };
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new(&identity.name, &identity.version).with_title(&identity.title),
            )
            .with_instructions(&identity.instructions)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // The listing and the call report a failed creation.
        let tools = self.tools.get().ok()?;
        let known = tools.get(name)?;
        Some(tool(known, self.tools.listed(known)))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools()?;
        let extensions = context
            .client_capabilities()
            .and_then(|known| known.extensions);
        let shows_pages = extensions.is_some_and(|known| known.contains_key(PAGES));
        let pages = self.content.as_ref().filter(|_| shows_pages);
        let listed = tools.iter().map(|one| {
            let listed = tool(one, self.tools.listed(one));
            match pages.and_then(|content| content.page_of(&one.name)) {
                Some(uri) => shown_by(listed, uri),
                None => listed,
            }
        });
        Ok(ListToolsResult::with_all_items(listed.collect()))
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let content = self.content::<ListResourcesRequestMethod>()?;
        let cursor = page.and_then(|page| page.cursor);
        let list = content.resources(cursor.as_deref()).await;
        let list = list.map_err(refused)?;
        let entries = list.entries.into_iter().map(resource);
        let mut listed = ListResourcesResult::with_all_items(entries.collect());
        listed.next_cursor = list.next;
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let content = self.content::<ListResourceTemplatesRequestMethod>()?;
        let forms = content.forms().into_iter().map(template);
        Ok(ListResourceTemplatesResult::with_all_items(forms.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let content = self.content::<ReadResourceRequestMethod>()?;
        let texts = content.read(&request.uri).await.map_err(refused)?;
        Ok(ReadResourceResult::new(texts.into_iter().map(contents).collect()).into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let content = self.content::<ListPromptsRequestMethod>()?;
        let prompts = content.prompts().into_iter().map(prompt);
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let content = self.content::<GetPromptRequestMethod>()?;
        let arguments = texts(request.arguments)?;
        let parts = content.prompt(&request.name, &arguments).await;
        let parts = parts.map_err(refused)?;
        Ok(GetPromptResult::new(parts.into_iter().map(message).collect()).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let content = self.content::<CompleteRequestMethod>()?;
        let fitting = content.completions(&typed(request)?).await;
        let mut fitting = fitting.map_err(refused)?;
        let total = u32::try_from(fitting.len()).unwrap_or(u32::MAX);
        let has_more = fitting.len() > CompletionInfo::MAX_VALUES;
        fitting.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(fitting, Some(total), has_more);
        let info = info.map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_newer(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.session.set_level(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let content = self.content::<SubscribeRequestMethod>()?;
        content.read(&request.uri).await.map_err(refused)?;
        // Starts watching before the client's first notification arrives.
        drop(content.news().await);
        let digest = digest(&**content, &request.uri).await;
        if self.session.watch(&request.uri, digest) {
            return Ok(());
        }
        let text = "the session watches too many resources; unsubscribe from some";
        Err(ErrorData::invalid_request(text, None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.unwatch(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.content.as_ref().map(|_| requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        if let Some(content) = &self.content {
            listen(&subscription, &**content).await;
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(content) = &self.content {
            self.session.hear(Arc::clone(content), context.peer);
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.run(request, context).await.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A call whose parameters have the wrong shape arrives here.
        if request.method == "tools/call" {
            let text = "MCP error -32602: `params` must be {\"name\": text, \"arguments\": object}";
            return Ok(CustomResult::new(json!({
                "content": [{"type": "text", "text": text}],
                "isError": true,
            })));
        }
        let method = request.method.as_str();
        let is_removed = is_newer(&context) && REMOVED.contains(&method);
        if KNOWN.contains(&method) && !is_removed {
            let text = format!(
                "the parameters of `{}` have the wrong shape",
                request.method
            );
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            request.method,
            None,
        ))
    }
}

#[cfg(test)]
mod tests;
