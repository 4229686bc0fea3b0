//! An agent that works through a list: tasks, a message that comes meanwhile, a tool that is denied, and the audit of
//! every call: `cargo run -p ktx --example agent-inbox -- --fake`.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::Arc;

use ktx_agent_session::{Rule, ask};
use ktx_session_log::Channel;
use ktx_tool_descriptors::{ToolSet, WriteEffect};
use serde_json::json;
use setting::{
    Done, agent, calls, id, model, print, print_events, real_clock, says, sessions, tool, turn,
};

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let plan = json!({ "todos": [
        { "id": "1", "title": "Read the mail", "status": "completed" },
        { "id": "2", "title": "Answer it", "status": "in_progress" },
    ] });
    let script = [
        calls(
            &[
                ("mail_read", json!({})),
                ("todo_write", plan),
                ("bash_run", json!({ "command": "ls" })),
            ],
            "The mail asks for the revenue; I may not run commands.",
        ),
        says("And thanks go to Ann, too."),
    ];
    let model = model(script)?;
    let mut clerk = agent("clerk", "Work through the inbox. Keep a list of tasks.");
    clerk.todo = Some(5);
    clerk
        .permissions
        .deny
        .push(Rule::Tool("bash_run".to_owned()));
    let tools = ToolSet::new(vec![
        tool(
            "mail_read",
            WriteEffect::ReadOnly,
            "What is the revenue? Ann",
        ),
        tool("bash_run", WriteEffect::Writes, "never"),
    ])?;
    let sessions = sessions(folder.path(), real_clock());
    let session = Arc::new(sessions.create(&id("inbox")?, &clerk)?);
    // It waits until the model has answered, or joins at a step before.
    session.queue("Thank Ann for the mail.")?;
    let result = ask(
        &session,
        model.as_ref(),
        turn(&clerk, tools)?,
        "What is in the inbox?",
    )
    .await?;
    print(&result.response)?;
    for task in session.history().tasks() {
        print(&format!("task {}: {}", task.id, task.title))?;
    }
    print_events(&session, &[Channel::Control, Channel::Monitor], 0)
}
