//! `ktx agent`.

mod agents;
mod cases;
mod chat;
mod decide;
mod display;
mod failures;
mod files;
mod hosting;
mod room;
mod run;
mod schedule;
mod serve;
mod session_store;
mod sessions;
mod testing;
mod turns;

use crate::cli::{AgentArgs, AgentCommand};
use crate::invocation::Invocation;
use crate::report::Outcome;

pub(crate) fn run(args: &AgentArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        AgentCommand::Run(args) => run::run(args, invocation),
        AgentCommand::Chat(args) => chat::run(args, invocation),
        AgentCommand::Test(args) => testing::run(args, invocation),
        AgentCommand::Cases(args) => cases::run(args, invocation),
        AgentCommand::Init(args) => files::init(args, invocation),
        AgentCommand::List(args) => files::list(args, invocation),
        AgentCommand::Validate(args) => files::validate(args, invocation),
        AgentCommand::Sessions(args) => sessions::run(args, invocation),
        AgentCommand::Approvals(args) => decide::list(args, invocation),
        AgentCommand::Decide(args) => decide::decide(args, invocation),
        AgentCommand::Room(args) => room::run(args, invocation),
        AgentCommand::Serve(args) => serve::run(args, invocation),
        AgentCommand::Tick(args) => schedule::tick(args, invocation),
        AgentCommand::Schedule(args) => schedule::run(args, invocation),
    }
}
