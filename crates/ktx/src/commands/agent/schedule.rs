//! `ktx agent tick` and `ktx agent schedule` (KODE-66).

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ktx_agent_file::{AgentFile, CatchUp as WhenMissed, OnAsk, Schedule, Timing};
use ktx_agent_session::{
    CatchUp, Cause, Pool, PoolLimits, Scheduled, Scheduler, SessionError, Spending, Tick, Trigger,
    TriggerKind, TurnEnd, Unattended, WhySkipped,
};
use ktx_diagnostics::Exit;
use ktx_project_store::Layout;
use ktx_session_log::{LogError, SessionStore};
use serde_json::{Value, json};

use super::agents::agent_of;
use super::failures::session_failure;
use super::hosting::{ProjectHost, pool_failure};
use super::{files, session_store};
use crate::cli::{AgentScheduleArgs, AgentTickArgs, ScheduleCommand};
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::tables::Report as Table;

/// Maximum wait for another planner.
const PATIENCE: Duration = Duration::from_secs(10);

const LOOKS: Duration = Duration::from_millis(50);

pub(super) fn run(args: &AgentScheduleArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        ScheduleCommand::List { output } => {
            let printer = invocation.printer(output)?;
            list(&printer, invocation)
        }
    }
}

pub(super) fn tick(args: &AgentTickArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let limits = compose::limits_of(&args.spending)?;
    let project = open_project(invocation, &printer)?;
    let now = now_of(invocation);
    let alone = scheduler(invocation, &project).alone();
    let Some(_alone) = alone.map_err(session_failure)? else {
        if printer.mode == Mode::Json {
            printer.json(&envelope(&Vec::<Value>::new(), "agent tick"))?;
        } else {
            printer.note("another process asks what is due");
        }
        return Ok(Exit::Success);
    };
    let tick = due(invocation, &project, &printer, now)?;
    for skipped in &tick.skipped {
        printer.note(&format!(
            "{}/{}: {} skipped ({})",
            skipped.agent,
            skipped.name,
            skipped.count,
            if skipped.reason == WhySkipped::Missed {
                "missed"
            } else {
                "the last one was not over"
            }
        ));
    }
    let host = ProjectHost {
        invocation: invocation.clone(),
        dir: project.dir.clone(),
        printer: printer.clone(),
        limits,
    };
    let sessions = session_store::sessions(invocation, &project.dir);
    let pool = Pool::new(
        sessions,
        Arc::new(host),
        PoolLimits {
            agents: usize::MAX,
            running: 1,
        },
    );
    let fired = &tick.fired;
    if !fired.is_empty() {
        compose::block_on(|cancel| {
            let pool = pool.clone();
            async move {
                for firing in fired {
                    let ids = std::slice::from_ref(&firing.session);
                    pool.resume_all(ids).map_err(pool_failure)?;
                    tokio::select! {
                        () = pool.settle() => {}
                        () = cancel.cancelled() => {
                            pool.shutdown(Duration::ZERO).await;
                            break;
                        }
                    }
                }
                Ok(())
            }
        })?;
    }
    told(&tick, &pool, &printer)
}

fn now_of(invocation: &Invocation) -> Timestamp {
    let set = invocation.environment.test_now();
    set.and_then(|text| text.parse().ok())
        .unwrap_or(invocation.now)
}

fn told(tick: &Tick, pool: &Pool, printer: &Printer) -> Outcome {
    let mut exit = Exit::Success;
    let mut items = Vec::new();
    for firing in &tick.fired {
        let report = pool.sessions().read(&firing.session);
        let history = report.map_err(session_failure)?.history;
        let state = match history.end() {
            Some(end) if end.reason == TurnEnd::Completed => "answered",
            Some(end) if end.cause == Some(Cause::Parked) => "parked",
            Some(_) => "failed",
            None => "interrupted",
        };
        if state != "answered" {
            exit = Exit::Partial;
        }
        items.push(json!({
            "agent": firing.agent,
            "name": firing.name,
            "scheduled": firing.scheduled,
            "session": firing.session,
            "state": state,
        }));
    }
    if printer.mode == Mode::Json {
        let mut answer = envelope(&items, "agent tick");
        answer["data"]["skipped"] = json!(tick.skipped);
        printer.json(&answer)?;
        return Ok(exit);
    }
    if items.is_empty() {
        printer.note("nothing is due");
        return Ok(exit);
    }
    let mut table = Table::new(["agent", "name", "scheduled", "session", "state"]);
    for item in &items {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        table.row([
            &text("agent"),
            &text("name"),
            &text("scheduled"),
            &text("session"),
            &text("state"),
        ]);
    }
    table.print(printer)?;
    Ok(exit)
}

pub(super) fn due(
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
    now: Timestamp,
) -> Outcome<Tick> {
    let files = files::with_schedule(invocation, project, printer)?;
    let scheduler = scheduler(invocation, project);
    let mut agents = Vec::new();
    for (name, file) in &files {
        agents.push((name, file, agent_of(file)?));
    }
    let firings: Vec<_> = agents
        .iter()
        .flat_map(|(name, file, agent)| {
            file.schedule
                .iter()
                .map(move |it| (*name, *file, agent, it))
        })
        .map(|(name, file, agent, entry)| {
            let moments = move |after, until| entry.firings(after, until);
            (name, file, agent, entry, moments)
        })
        .collect();
    let entries: Vec<Scheduled<'_>> = firings
        .iter()
        .map(|(name, file, agent, entry, moments)| Scheduled {
            agent,
            file: name,
            name: &entry.name,
            message: &entry.message,
            trigger: trigger(file, entry),
            catch_up: match entry.catch_up {
                WhenMissed::Once => {
                    let seconds = i64::try_from(entry.within).unwrap_or(i64::MAX);
                    CatchUp::Within(SignedDuration::from_secs(seconds))
                }
                WhenMissed::Never => CatchUp::Never,
            },
            firings: moments,
        })
        .collect();
    if entries.is_empty() {
        return Ok(Tick::default());
    }
    let mut waited = Duration::ZERO;
    loop {
        match scheduler.tick(&entries, now) {
            // Another process plans, which is quick.
            Err(SessionError::Log(LogError::Busy { .. })) if waited < PATIENCE => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a lock of another process has no event to wait on"
                )]
                std::thread::sleep(LOOKS);
                waited += LOOKS;
            }
            result => return result.map_err(session_failure),
        }
    }
}

pub(super) fn scheduler(invocation: &Invocation, project: &OpenProject) -> Scheduler {
    let store = SessionStore::new(Layout::new(&project.dir).agents());
    Scheduler::new(session_store::sessions(invocation, &project.dir), store)
}

fn trigger(file: &AgentFile, entry: &Schedule) -> Trigger {
    let limits = entry.limits;
    Trigger {
        task_id: format!("{}/{}", file.name, entry.name),
        spec: entry.spec(),
        kind: match entry.timing {
            Timing::Cron(_) => TriggerKind::Cron,
            Timing::EveryMinutes(_) => TriggerKind::Time,
        },
        scheduled: None,
        on_ask: Some(match entry.on_ask {
            OnAsk::Park => Unattended::Park,
            OnAsk::Deny => Unattended::Deny,
            OnAsk::Fail => Unattended::Fail,
        }),
        max_turns: limits.and_then(|limits| limits.max_turns),
        limits: Spending {
            usd: limits.and_then(|limits| limits.max_usd),
            tokens: limits.and_then(|limits| limits.max_tokens),
            minutes: limits.and_then(|limits| limits.max_minutes),
        },
    }
}

fn list(printer: &Printer, invocation: &Invocation) -> Outcome {
    let project = open_project(invocation, printer)?;
    let now = now_of(invocation);
    let files = files::with_schedule(invocation, &project, printer)?;
    let known = scheduler(invocation, &project).journal();
    let known = known.map_err(session_failure)?;
    let mut items: Vec<Value> = Vec::new();
    for (agent, file) in &files {
        for entry in &file.schedule {
            let known = known
                .iter()
                .find(|known| known.agent == *agent && known.name == entry.name);
            let last = known.and_then(|known| known.last.as_ref());
            items.push(json!({
                "agent": agent,
                "name": entry.name,
                "when": entry.spec(),
                "next": entry.next(now),
                "last": last.map(|last| json!({ "scheduled": last.scheduled, "session": last.session })),
                "skipped": known.map_or(0, |known| known.skipped),
            }));
        }
    }
    if printer.mode == Mode::Json {
        printer.json(&envelope(&items, "agent schedule list"))?;
        return Ok(Exit::Success);
    }
    if items.is_empty() {
        printer.note("no agent has a schedule; see `schedule` in its file");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["agent", "name", "when", "next", "last session", "skipped"]);
    for item in &items {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        table.row([
            &text(&item["agent"]),
            &text(&item["name"]),
            &text(&item["when"]),
            &text(&item["next"]),
            &text(&item["last"]["session"]),
            &item["skipped"].to_string(),
        ]);
    }
    table.print(printer)?;
    Ok(Exit::Success)
}
