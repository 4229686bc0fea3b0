//! Questions at certain times, with a clock that the example moves: `cargo run -p ktx --example scheduler -- --fake`.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use ktx_agent_session::{
    CatchUp, Clock, Pool, PoolLimits, Scheduled, Scheduler, Spending, Trigger, TriggerKind,
    Unattended,
};
use ktx_session_log::SessionStore;
use ktx_tool_descriptors::ToolSet;
use setting::{Done, SmallHost, agent, model, print, says, sessions};

/// Every full hour.
fn hours(after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let first = after.as_second().div_euclid(3600) + 1;
    let last = until.as_second().div_euclid(3600);
    let hours = (first..=last).filter_map(|hour| Timestamp::from_second(hour * 3600).ok());
    hours.collect()
}

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let start: Timestamp = "2026-11-23T05:30:00Z".parse()?;
    let time = Arc::new(Mutex::new(start));
    let shown = Arc::clone(&time);
    let clock: Clock = Arc::new(move || *shown.lock().unwrap_or_else(PoisonError::into_inner));
    let sessions = sessions(folder.path(), clock);
    let reporter = agent("reporter", "Report in one sentence.");
    let scheduler = Scheduler::new(sessions.clone(), SessionStore::new(folder.path()));
    let host = SmallHost {
        runtime: model([says("Nothing changed."), says("All is well.")])?,
        tools: ToolSet::new(Vec::new())?,
    };
    let limits = PoolLimits {
        agents: 10,
        running: 1,
    };
    let pool = Pool::new(sessions.clone(), Arc::new(host), limits);
    // The first look, the next hour, the same hour again, and two missed hours.
    for minutes in [0, 31, 32, 165] {
        let now = start.checked_add(SignedDuration::from_mins(minutes))?;
        *time.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let entry = Scheduled {
            agent: &reporter,
            file: "reporter",
            name: "hourly",
            message: "What changed?",
            trigger: Trigger {
                task_id: "reporter/hourly".to_owned(),
                spec: "every hour".to_owned(),
                kind: TriggerKind::Time,
                scheduled: None,
                on_ask: Some(Unattended::Park),
                max_turns: None,
                limits: Spending::default(),
            },
            catch_up: CatchUp::Within(SignedDuration::from_hours(24)),
            firings: &hours,
        };
        let tick = scheduler.tick(&[entry], now)?;
        print(&format!("{now}: {} due", tick.fired.len()))?;
        for skipped in &tick.skipped {
            print(&format!(
                "  {} skipped, {:?}",
                skipped.count, skipped.reason
            ))?;
        }
        for firing in &tick.fired {
            pool.resume_all(std::slice::from_ref(&firing.session))?;
            pool.settle().await;
            let messages = sessions.read(&firing.session)?.history.messages();
            let answer = messages.last().map(serde_json::to_string).transpose()?;
            print(&format!(
                "  {}: {}",
                firing.session,
                answer.unwrap_or_default()
            ))?;
        }
    }
    Ok(())
}
