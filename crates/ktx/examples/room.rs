//! Two agents in a room, a copy of one of them, and where it comes from:
//! `cargo run -p ktx --example room -- --fake`.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::Arc;

use ktx_agent_session::{Channels, ForkPoint, Host, MOST_HOPS, Member, OnAsk, Room, Talk};
use ktx_session_log::Channel;
use ktx_tool_descriptors::ToolSet;
use setting::{Done, SmallHost, agent, id, model, print, print_events, real_clock, says, sessions};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let script = [
        says("It is 15. @reviewer, is that right?"),
        says("15 counts paid orders only, so yes."),
    ];
    let host: Arc<dyn Host> = Arc::new(SmallHost {
        runtime: model(script)?,
        tools: ToolSet::new(Vec::new())?,
    });
    let sessions = sessions(folder.path(), real_clock());
    let mut room = Room::new("office");
    for name in ["analyst", "reviewer"] {
        let agent = agent(name, "Answer in one sentence. Name others with @.");
        let session = sessions.create(&id(&format!("office-{name}"))?, &agent)?;
        let session = Arc::new(session);
        room.join(name, Member { agent, session })?;
    }
    let (heard, _records) = mpsc::unbounded_channel();
    let talk = Talk {
        host: &host,
        on_ask: OnAsk::Deny,
        running: 1,
        hops: MOST_HOPS,
        cancel: CancellationToken::new(),
        heard,
        channels: Channels::default(),
    };
    let report = room
        .say("user", "@analyst What is the revenue?", &talk)
        .await?;
    for answer in report.answers {
        print(&format!(
            "{} ({}): {}",
            answer.member, answer.hop, answer.result?
        ))?;
    }
    if let Err(error) = room.say("user", "@analist?", &talk).await {
        print(&error.to_string())?;
    }
    let copy = sessions.fork(
        &id("office-reviewer")?,
        &ForkPoint::Last,
        &id("second-opinion")?,
    )?;
    print_events(&copy, &[Channel::State], 0)
}
