//! The turns of loops as they come: a line each for people, and the events of a run (KTX-70).

use std::sync::{Arc, Mutex, PoisonError};

use ktx_llm_runtime::StepCallback;
use serde_json::{Value, json};

use crate::printer::{Mode, Printer};

/// The events of one source.
#[derive(Clone)]
pub(super) struct Progress {
    printer: Printer,
    events: Arc<Mutex<Vec<Value>>>,
    told: Arc<Mutex<usize>>,
}

impl Progress {
    pub(super) fn new(printer: Printer) -> Self {
        Self {
            printer,
            events: Arc::default(),
            told: Arc::default(),
        }
    }

    /// A line for people.
    pub(super) fn line(&self, text: &str) {
        if self.printer.mode != Mode::Json {
            self.printer.note(text);
        }
    }

    /// Told of every turn of a unit.
    pub(super) fn unit(&self, place: String, key: &str) -> StepCallback {
        let event = json!({ "type": "work_unit_step", "unitKey": key });
        self.callback(place, event)
    }

    /// Told of every turn of a reconciliation.
    pub(super) fn reconciliation(&self, place: String) -> StepCallback {
        self.callback(place, json!({ "type": "reconciliation_step" }))
    }

    /// Told of every turn of a pass of the curation.
    pub(super) fn curation(&self, place: String, pass: usize) -> StepCallback {
        let event = json!({ "type": "curation_step", "passIndex": pass });
        self.callback(place, event)
    }

    fn callback(&self, place: String, event: Value) -> StepCallback {
        let progress = self.clone();
        Arc::new(move |step| {
            progress.line(&format!("{place} · turn {} of {}", step.index, step.budget));
            let mut event = event.clone();
            if let Some(event) = event.as_object_mut() {
                event.insert("stepIndex".to_owned(), json!(step.index));
                event.insert("stepBudget".to_owned(), json!(step.budget));
            }
            progress.held().push(event);
            Ok(())
        })
    }

    /// Turns since this was asked last.
    pub(super) fn taken(&self) -> usize {
        let count = self.held().len();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = count.saturating_sub(*told);
        *told = count;
        taken
    }

    /// All turns.
    pub(super) fn events(&self) -> Vec<Value> {
        self.held().clone()
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
