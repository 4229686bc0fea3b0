//! Arms: compared variants of an agent.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_file as file;
use ktx_agent_session::{ASK_AGENT, Agent, AgentTool, Equipment, Rule, ToolsRequest};
use ktx_context_tools::{
    LayerPart, ProjectContext, ResultWatcher, WithheldParts, custom_tools, watched_tools,
};
use ktx_diagnostics::{Code, Failure, nearest};
use ktx_llm_runtime::LlmRuntime;
use ktx_session_log::SessionId;
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet};
use serde_json::Value;

use super::rows::QueryResults;
use crate::commands::agent::agents::{self, Toolbox};
use crate::context;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

pub(super) const FULL: &str = "full";

/// Only names of tables and columns, and SQL.
pub(super) const BARE: &str = "bare";

const BARE_TOOLS: [&str; 3] = ["connection_list", "entity_details", "sql_execution"];

#[derive(Debug, Clone)]
pub(super) struct ArmPlan {
    pub(super) name: String,
    /// Tool names; `None` means the agent's.
    tools: Option<Vec<String>>,
    withheld: WithheldParts,
}

impl ArmPlan {
    fn without(name: &str, part: LayerPart) -> Self {
        Self {
            name: name.to_owned(),
            tools: None,
            withheld: WithheldParts::from_iter([part]),
        }
    }

    pub(super) fn full() -> Self {
        Self {
            name: FULL.to_owned(),
            tools: None,
            withheld: WithheldParts::default(),
        }
    }

    fn usual() -> Vec<Self> {
        let bare = Self {
            name: BARE.to_owned(),
            tools: Some(BARE_TOOLS.map(str::to_owned).to_vec()),
            withheld: WithheldParts::from_iter(LayerPart::ALL),
        };
        vec![
            Self::full(),
            bare,
            Self::without("no-wiki", LayerPart::Wiki),
            Self::without("no-semantic", LayerPart::Semantic),
            Self::without("no-descriptions", LayerPart::Descriptions),
            Self::without("no-joins", LayerPart::Joins),
            Self::without("no-dictionary", LayerPart::Dictionary),
        ]
    }

    /// The arm for asked agents; `None` if this arm allows none.
    pub(super) fn for_colleagues(&self, agent: &Agent) -> Option<Self> {
        let may_ask = match &self.tools {
            None => true,
            Some(names) => names.iter().any(|name| name == ASK_AGENT),
        };
        (may_ask && !agent.agents.is_empty()).then(|| Self {
            tools: None,
            ..self.clone()
        })
    }

    fn of_file(arm: &file::Arm) -> Self {
        let parts = arm.without.iter();
        Self {
            name: arm.name.clone(),
            tools: arm.tools.clone(),
            withheld: parts.filter_map(|part| LayerPart::parse(part)).collect(),
        }
    }
}

/// Returns the named arms in order. Arms of the file override those of `ktx`.
pub(super) fn chosen(names: &[String], of_file: &[file::Arm]) -> Outcome<Vec<ArmPlan>> {
    let mut known: Vec<ArmPlan> = of_file.iter().map(ArmPlan::of_file).collect();
    known.extend(ArmPlan::usual());
    let mut chosen: Vec<ArmPlan> = Vec::new();
    for name in names {
        if chosen.iter().any(|arm| arm.name == *name) {
            continue;
        }
        match known.iter().find(|arm| arm.name == *name) {
            Some(arm) => chosen.push(arm.clone()),
            None => return Err(unknown(name, &known)),
        }
    }
    Ok(chosen)
}

fn unknown(name: &str, known: &[ArmPlan]) -> Failure {
    let names: Vec<&str> = known.iter().map(|arm| arm.name.as_str()).collect();
    let failure = Failure::new(Code::UnknownArm, format!("there is no arm `{name}`"));
    match nearest(name, names.iter().copied()).first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("there are: {}", names.join(", "))),
    }
}

pub(super) struct Arm {
    pub(super) agent: Agent,
    pub(super) toolbox: Toolbox,
    pub(super) results: Arc<QueryResults>,
}

pub(super) fn context_of(
    plan: &ArmPlan,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Arc<dyn ProjectContext>> {
    if plan.withheld.is_empty() {
        context::open_for_agent(invocation, project)
    } else {
        context::open_withholding(invocation, project, plan.withheld.clone())
    }
}

impl Arm {
    /// Withholds parts of the layer and leaves out tools that could find nothing.
    pub(super) fn open(
        plan: &ArmPlan,
        agent: &Agent,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<Self> {
        let context = context_of(plan, invocation, project)?;
        let results = Arc::<QueryResults>::default();
        let watcher: Arc<dyn ResultWatcher> = Arc::clone(&results) as _;
        let all = watched_tools(&context, &watcher)
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let own = custom_tools(&context, &crate::custom_tools::read(project)?);
        let all = ToolSet::new(all.iter().cloned().chain(own).collect())
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let agent = agent_of(plan, agent);
        if !plan.withheld.is_empty() {
            agents::check_hides_layer(&agent, &plan.name, project)?;
        }
        let tools = agents::tools_among(&agent, &all)?;
        Ok(Self {
            toolbox: Toolbox::over(&tools, &agent, invocation, project)?,
            agent,
            results,
        })
    }
}

pub(super) struct ArmEquipment<'a> {
    pub(super) arm: Arc<Arm>,
    pub(super) runtime: Arc<dyn LlmRuntime>,
    pub(super) context: CommandContext<'a>,
    pub(super) open: &'a OpenModel<'a>,
}

pub(super) type OpenModel<'a> =
    dyn Fn(&OpenProject) -> Outcome<Arc<dyn LlmRuntime>> + Send + Sync + 'a;

#[async_trait]
impl Equipment for ArmEquipment<'_> {
    fn model(&self) -> Result<Arc<dyn LlmRuntime>, Failure> {
        let open = |model: &file::Model| (self.open)(&agents::with_model(model, self.context)?);
        self.arm.toolbox.open_models(&open)?;
        Ok(Arc::clone(&self.runtime))
    }

    async fn tools(&self, turn: &ToolsRequest<'_>) -> Result<ToolSet, Failure> {
        let tools = self.arm.toolbox.offered(self.context, turn).await?;
        Ok(tools.with_handlers(|tool| {
            Arc::new(OfSession {
                session: turn.session.clone(),
                handler: Arc::clone(&tool.handler),
            })
        }))
    }

    async fn close(&self) {
        self.arm.toolbox.close().await;
    }
}

fn agent_of(plan: &ArmPlan, agent: &Agent) -> Agent {
    let mut agent = agent.clone();
    if let Some(names) = &plan.tools {
        let before = std::mem::take(&mut agent.tools);
        for name in names.iter().filter(|name| *name != ASK_AGENT) {
            let own = before.iter().find(|tool| tool.name == *name);
            if own.is_none() {
                // The agent's permissions do not cover tools that only the arm has.
                agent.permissions.allow.push(Rule::Tool(name.clone()));
            }
            agent
                .tools
                .push(own.cloned().unwrap_or_else(|| AgentTool::named(name)));
        }
        agent.sources.retain(|source| names.contains(&source.name));
        let sources = &agent.sources;
        agent
            .tools
            .retain(|tool| sources.iter().all(|source| source.name != tool.name));
    }
    agent.tools.retain(|tool| plan.withheld.leave(&tool.tool));
    agent
}

/// Prefixes call ids with the session, because they are only unique in it.
struct OfSession {
    session: SessionId,
    handler: Arc<dyn ToolHandler>,
}

#[async_trait]
impl ToolHandler for OfSession {
    async fn call(
        &self,
        arguments: Value,
        mut context: CallContext,
    ) -> Result<ToolOutput, ToolError> {
        context.call_id = format!("{}/{}", self.session, context.call_id);
        self.handler.call(arguments, context).await
    }

    async fn workable(&self, arguments: Value) -> Vec<Value> {
        self.handler.workable(arguments).await
    }

    fn manual(&self) -> Option<&str> {
        self.handler.manual()
    }

    fn changed_files(&self) -> Vec<String> {
        self.handler.changed_files()
    }
}
