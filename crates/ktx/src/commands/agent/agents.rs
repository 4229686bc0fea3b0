//! The agents of a project.

use ktx_agent_session::{Agent, MOST_MESSAGES, Permissions, RESEARCH};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::chosen_tools;
use ktx_tool_descriptors::ToolSet;

use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

/// The name of the built-in agent.
const NAME: &str = "research";

/// Returns the built-in agent with the project's settings.
pub(super) fn research(project: &OpenProject) -> Outcome<Agent> {
    let research = &project.config.research;
    if !research.enabled {
        return Err(Failure::new(
            Code::AgentDisabled,
            "the research agent may not run here: `agent.run_research.enabled` is false",
        )
        .hint("set `agent: {run_research: {enabled: true}}` in ktx.yaml"));
    }
    if research.max_iterations == 0 {
        return Err(Failure::new(
            Code::NoTurns,
            "the research agent has no turns: `agent.run_research.max_iterations` is 0",
        )
        .hint("set it to 1 or more in ktx.yaml"));
    }
    Ok(Agent {
        name: NAME.to_owned(),
        instructions: RESEARCH.to_owned(),
        tools: research.toolset.clone(),
        max_turns: u32::try_from(research.max_iterations).unwrap_or(u32::MAX),
        max_messages: MOST_MESSAGES,
        permissions: Permissions::default(),
    })
}

/// Returns the tools of an agent.
pub(super) fn tools(
    agent: &Agent,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ToolSet> {
    let context = context::open_for_agent(invocation, project)?;
    let all = ktx_context_tools::context_tools(&context)
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    chosen_tools(&all, &agent.tools).map_err(|error| {
        let failure = Failure::new(
            Code::UnknownTool,
            format!("`agent.run_research.default_toolset`: {}", error.message),
        );
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}
