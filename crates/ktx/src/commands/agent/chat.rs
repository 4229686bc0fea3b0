//! `ktx agent chat`: many questions in one session.

use crate::cli::AgentChatArgs;
use crate::invocation::Invocation;
use crate::report::Outcome;

pub(super) fn run(_args: &AgentChatArgs, _invocation: &Invocation) -> Outcome {
    Ok(ktx_diagnostics::Exit::Success)
}
