//! Finds the agents of a project.

mod delegates;
mod documents;
mod foreign;
mod from_file;
mod layer;
mod prompts;
mod share;
mod toolbox;
mod tools;
mod workspace;

use std::collections::BTreeMap;

use ktx_agent_session::{
    Agent, AgentSettings, AgentTool, ContextSettings, LONGEST_MESSAGE, MOST_ASKED_AT_ONCE,
    MOST_MESSAGES, Permissions, RESEARCH, Spending,
};
use ktx_diagnostics::{Code, Failure};

use crate::invocation::{Invocation, OpenProject};
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) use delegates::{Colleagues, equipped};
pub(super) use from_file::{agent_of, load, use_model, with_model};
pub(super) use layer::WRITES;
pub(super) use share::{AgentSink, limits_beside};
pub(super) use toolbox::Toolbox;
pub(super) use tools::{project_tools, tools_among};
pub(super) use workspace::check_hides_layer;

const NAME: &str = "research";

fn research(project: &OpenProject) -> Outcome<Agent> {
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
        file: None,
        model: None,
        tools: research
            .toolset
            .iter()
            .map(|name| AgentTool::named(name))
            .collect(),
        max_turns: u32::try_from(research.max_iterations).unwrap_or(u32::MAX),
        sources: Vec::new(),
        max_messages: MOST_MESSAGES,
        max_message_chars: LONGEST_MESSAGE,
        call_limits: BTreeMap::new(),
        spending: Spending::default(),
        permissions: Permissions::default(),
        settings: AgentSettings::default(),
        context: ContextSettings::default(),
        todo: None,
        agents: Vec::new(),
        max_parallel: MOST_ASKED_AT_ONCE,
        response_format: None,
    })
}

#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) project: &'a OpenProject,
    pub(super) printer: &'a Printer,
}

/// Returns the named agent, else the agent of the session, else the built-in one.
pub(super) fn current(
    named: Option<&str>,
    of_session: Option<&Agent>,
    place: Place<'_>,
) -> Outcome<Agent> {
    match named.or_else(|| of_session?.file.as_deref()) {
        Some(name) => from_file::load(name, place),
        None => research(place.project),
    }
}
