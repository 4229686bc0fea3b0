//! `ktx agent`: questions to an agent with the project's own tools, and the sessions that keep them.

mod agents;
mod chat;
mod decide;
mod display;
mod failures;
mod files;
mod run;
mod sessions;
mod turns;
mod vault;

use crate::cli::{AgentArgs, AgentCommand};
use crate::invocation::Invocation;
use crate::report::Outcome;

pub(crate) fn run(args: &AgentArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        AgentCommand::Run(args) => run::run(args, invocation),
        AgentCommand::Chat(args) => chat::run(args, invocation),
        AgentCommand::Init(args) => files::init(args, invocation),
        AgentCommand::List(args) => files::list(args, invocation),
        AgentCommand::Validate(args) => files::validate(args, invocation),
        AgentCommand::Sessions(args) => sessions::run(args, invocation),
        AgentCommand::Approvals(args) => decide::list(args, invocation),
        AgentCommand::Decide(args) => decide::decide(args, invocation),
    }
}
