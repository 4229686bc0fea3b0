//! The tools of an agent. MCP servers start with the first turn.

use std::sync::{Arc, OnceLock};

use ktx_agent_file::{Tool, ToolKind};
use ktx_agent_session::{Agent, Previews, ToolSource, ToolsRequest};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_client::Server;
use ktx_tool_descriptors::{ToolDescriptor, ToolSet};
use serde::Deserialize as _;
use tokio::sync::Mutex;

use super::documents;
use super::foreign::{ForeignServer, Need, server, unavailable};
use super::layer::Layer;
use super::prompts::{OpenModel, Prompt};
use super::tools::context_tools;
use super::workspace;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

/// Ends its servers when dropped.
pub(in crate::commands::agent) struct Toolbox {
    own: Vec<ToolDescriptor>,
    prompts: Vec<Prompt>,
    previews: Option<Arc<dyn Previews>>,
    /// Needs the model of each turn. `None` if the caller passes the tools of `ktx`.
    layer: Option<Layer>,
    servers: Mutex<Vec<Slot>>,
}

struct Slot {
    foreign: ForeignServer,
    running: Option<Running>,
    is_announced: bool,
}

struct Running {
    server: Server,
    tools: Vec<ToolDescriptor>,
}

impl Toolbox {
    /// Starts no servers.
    pub(in crate::commands::agent) fn open(
        agent: &Agent,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<Self> {
        let layer = Layer::of(agent, invocation, project);
        let own = context_tools(agent, &layer, invocation, project)?;
        let mut toolbox = Self::over(&own, agent, invocation, project)?;
        toolbox.layer = Some(layer);
        Ok(toolbox)
    }

    pub(in crate::commands::agent) fn over(
        own: &ToolSet,
        agent: &Agent,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<Self> {
        let mut toolbox = Self {
            own: own.iter().cloned().collect(),
            prompts: Vec::new(),
            previews: Layer::of(agent, invocation, project).previews(agent),
            layer: None,
            servers: Mutex::default(),
        };
        for source in &agent.sources {
            match workspace::tools(source, invocation, project)? {
                Some(tools) => toolbox.own.extend(tools),
                None => toolbox.add(source, invocation, project)?,
            }
        }
        checked(toolbox.own.clone())?;
        Ok(toolbox)
    }

    fn add(
        &mut self,
        source: &ToolSource,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<()> {
        let tool = tool_of(source)?;
        match tool.kind {
            ToolKind::Mcp(settings) => {
                let foreign = server(&source.name, *settings, tool.timeout_s, &project.dir)?;
                self.servers.get_mut().push(Slot {
                    foreign,
                    running: None,
                    is_announced: false,
                });
            }
            ToolKind::Prompt {
                template,
                parameters,
                model,
            } => self.prompts.push(Prompt {
                name: tool.name,
                description: tool.description,
                template,
                parameters,
                model: model.map(|model| *model),
                runtime: OnceLock::new(),
            }),
            ToolKind::Vectorstore(ref search) => {
                let search = documents::Search::by_size(search);
                self.own
                    .push(documents::tool(&tool, &search, invocation, project));
            }
            ToolKind::HierarchicalDocument(ref search) => {
                let search = documents::Search::by_headings(search);
                self.own
                    .push(documents::tool(&tool, &search, invocation, project));
            }
            ToolKind::Ktx | ToolKind::Function { .. } => return Err(another_form(&source.name)),
        }
        Ok(())
    }

    pub(in crate::commands::agent) fn open_models(&self, open: OpenModel<'_>) -> Outcome<()> {
        for prompt in &self.prompts {
            prompt.open(open)?;
        }
        Ok(())
    }

    pub(in crate::commands::agent) fn previews(&self) -> Option<Arc<dyn Previews>> {
        self.previews.clone()
    }

    /// Starts missing servers and reads changed tool lists.
    pub(in crate::commands::agent) async fn offered(
        &self,
        context: CommandContext<'_>,
        turn: &ToolsRequest<'_>,
    ) -> Outcome<ToolSet> {
        let beside = turn.runtime.beside_runs();
        let turn = &ToolsRequest {
            runtime: beside.as_ref().unwrap_or(turn.runtime),
            ..*turn
        };
        if let Some(layer) = &self.layer {
            layer.use_model(turn.runtime);
        }
        let mut tools = self.own.clone();
        tools.extend(self.prompts.iter().map(|prompt| prompt.tool(turn)));
        tools.extend(self.foreign(context).await?);
        checked(tools)
    }

    pub(in crate::commands::agent) async fn names(
        &self,
        context: CommandContext<'_>,
    ) -> Outcome<Vec<String>> {
        let foreign = self.foreign(context).await?;
        let tools = self.own.iter().chain(&foreign);
        let names = tools.map(|tool| tool.name.clone());
        Ok(names
            .chain(self.prompts.iter().map(|it| it.name.clone()))
            .collect())
    }

    async fn foreign(&self, context: CommandContext<'_>) -> Outcome<Vec<ToolDescriptor>> {
        let mut tools = Vec::new();
        for slot in self.servers.lock().await.iter_mut() {
            match slot.tools(context).await {
                Ok(foreign) => tools.extend(foreign),
                Err(failure) if slot.foreign.need == Need::Optional => {
                    slot.announce(context, &failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(tools)
    }

    pub(in crate::commands::agent) async fn lines(&self) -> Vec<String> {
        let line = |tool: &ToolDescriptor| format!("  {}  {}", tool.name, tool.title);
        let mut lines: Vec<String> = self.own.iter().map(line).collect();
        lines.extend(self.prompts.iter().map(Prompt::line));
        lines.sort();
        for slot in self.servers.lock().await.iter() {
            match &slot.running {
                Some(running) => lines.extend(running.tools.iter().map(line)),
                None => lines.push(format!(
                    "  mcp__{}__…  starts with the next question",
                    slot.foreign.settings.name
                )),
            }
        }
        lines
    }

    pub(in crate::commands::agent) async fn close(&self) {
        for slot in self.servers.lock().await.iter_mut() {
            if let Some(running) = slot.running.take() {
                running.server.close().await;
            }
        }
    }
}

fn tool_of(source: &ToolSource) -> Outcome<Tool> {
    Tool::deserialize(&source.settings).map_err(|_| another_form(&source.name))
}

fn another_form(name: &str) -> Failure {
    Failure::new(
        Code::AgentSettings,
        format!("the session keeps another form of `{name}`"),
    )
    .hint("ask in a new session")
}

fn checked(tools: Vec<ToolDescriptor>) -> Outcome<ToolSet> {
    ToolSet::new(tools).map_err(|error| Failure::from_error(Code::AgentSettings, &error))
}

impl Slot {
    async fn tools(&mut self, context: CommandContext<'_>) -> Outcome<Vec<ToolDescriptor>> {
        if let Some(running) = &self.running
            && running.server.is_closed()
            && let Some(ended) = self.running.take()
        {
            let name = &self.foreign.settings.name;
            let note = format!("the MCP server `{name}` has ended and is started again");
            context.printer.note(&note);
            ended.server.close().await;
        }
        if let Some(running) = &mut self.running {
            if running.server.has_changed() {
                let offer = running.server.offer().await;
                running.tools = offer.map_err(|fault| unavailable(&fault))?.tools;
            }
            return Ok(running.tools.clone());
        }
        let CommandContext {
            invocation,
            project,
            printer,
        } = context;
        let resolved = self
            .foreign
            .settings
            .resolve(&invocation.secrets(&project.dir));
        let resolved = resolved.map_err(|fault| unavailable(&fault))?;
        let server = Server::start(resolved).await;
        let server = server.map_err(|fault| unavailable(&fault))?;
        let offer = server.offer().await;
        let offer = match offer {
            Ok(offer) => offer,
            Err(fault) => {
                server.close().await;
                return Err(unavailable(&fault));
            }
        };
        for warning in offer.warnings.iter().filter(|_| !self.is_announced) {
            printer.note(&format!("warning: {warning}"));
        }
        self.is_announced = true;
        let tools = offer.tools.clone();
        self.running = Some(Running {
            server,
            tools: offer.tools,
        });
        Ok(tools)
    }

    /// Warns once that the agent works without a server.
    fn announce(&mut self, context: CommandContext<'_>, failure: &Failure) {
        if !self.is_announced {
            let note = format!("warning: {failure}; the agent works without it");
            context.printer.note(&note);
        }
        self.is_announced = true;
    }
}
