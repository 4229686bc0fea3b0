//! Run progress and turns (KTX-70).

use std::sync::Arc;

use ktx_ingest::{Event, EventSink, Lane, Task, Turn};
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use crate::ingesting::continues;
use crate::printer::{Mode, Printer};

pub(super) fn sink(printer: &Printer) -> EventSink {
    let printer = printer.clone();
    Arc::new(move |source, event| {
        if printer.mode != Mode::Json {
            printer.note(&line(source, &event));
        }
    })
}

fn line(source: &ConnectionId, event: &Event) -> String {
    match event {
        Event::Triaged {
            position,
            count,
            name,
            lane,
        } => format!(
            "[{position}/{count}] {source} · triage · {name} · {}",
            lane_name(*lane)
        ),
        Event::Started(task) => task_name(source, task),
        Event::Continued { task, turns } => {
            format!("{} · {}", task_name(source, task), continues(*turns))
        }
        Event::Turn(Turn {
            task,
            index,
            budget,
        }) => format!("{} · turn {index} of {budget}", task_name(source, task)),
    }
}

fn task_name(source: &ConnectionId, task: &Task) -> String {
    match task {
        Task::Unit {
            position,
            count,
            name,
            ..
        } => format!("[{position}/{count}] {source} · {name}"),
        Task::Curation { pass } => format!("{source} · curation, pass {pass}"),
        Task::Reconciliation => format!("{source} · reconciliation"),
        Task::Verdicts => format!("{source} · verdicts about files that are gone"),
    }
}

const fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Skip => "skip",
        Lane::Light => "light",
        Lane::Full => "full",
    }
}

pub(super) fn turn_json(turn: &Turn) -> Value {
    let Turn {
        task,
        index,
        budget,
    } = turn;
    match task {
        Task::Unit { key, .. } => json!({
            "type": "work_unit_step", "unitKey": key, "stepIndex": index, "stepBudget": budget,
        }),
        Task::Curation { pass } => json!({
            "type": "curation_step", "passIndex": pass, "stepIndex": index, "stepBudget": budget,
        }),
        Task::Reconciliation => json!({
            "type": "reconciliation_step", "stepIndex": index, "stepBudget": budget,
        }),
        Task::Verdicts => json!({
            "type": "verdicts_step", "stepIndex": index, "stepBudget": budget,
        }),
    }
}
