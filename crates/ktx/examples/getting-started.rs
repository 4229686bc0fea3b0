//! One question, and what people see of its answer: `cargo run -p ktx --example getting-started -- --fake`.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::Arc;

use ktx_agent_session::ask;
use ktx_session_log::Channel;
use ktx_tool_descriptors::{ToolSet, WriteEffect};
use serde_json::json;
use setting::{Done, agent, calls, id, model, print_events, real_clock, sessions, tool, turn};

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let model = model([calls(&[("time", json!({}))], "It is noon.")])?;
    let clerk = agent("clerk", "Answer with the tool `time`.");
    let sessions = sessions(folder.path(), real_clock());
    let session = Arc::new(sessions.create(&id("first")?, &clerk)?);
    let tools = ToolSet::new(vec![tool("time", WriteEffect::ReadOnly, "12:00")])?;
    ask(
        &session,
        model.as_ref(),
        turn(&clerk, tools)?,
        "How late is it?",
    )
    .await?;
    print_events(&session, &[Channel::Progress], 0)
}
