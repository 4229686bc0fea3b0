//! Reports the turns of loops as they happen: a line each, and the events of a run (KTX-70).

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

    /// Prints a line, except in JSON mode.
    pub(super) fn line(&self, text: &str) {
        if self.printer.mode != Mode::Json {
            self.printer.note(text);
        }
    }

    pub(super) fn unit(&self, place: String, key: &str) -> StepCallback {
        let event = json!({ "type": "work_unit_step", "unitKey": key });
        self.callback(place, event)
    }

    pub(super) fn reconciliation(&self, place: String) -> StepCallback {
        self.callback(place, json!({ "type": "reconciliation_step" }))
    }

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

    /// Returns the number of turns since the last call.
    pub(super) fn taken(&self) -> usize {
        let count = self.held().len();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = count.saturating_sub(*told);
        *told = count;
        taken
    }

    pub(super) fn events(&self) -> Vec<Value> {
        self.held().clone()
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
