//! Asks the user at the terminal about tool calls.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use ktx_agent_session::{Approver, Call, Decision, DecisionRecord};
use tokio::sync::Mutex;

use super::input::{Input, Line};
use crate::printer::Printer;

const PERSON: &str = "the person at the terminal";

pub(super) struct AtTerminal {
    input: Arc<Mutex<Input>>,
    printer: Printer,
    /// Tools allowed for the rest of the chat.
    trusted: std::sync::Mutex<BTreeSet<String>>,
}

impl AtTerminal {
    pub(super) fn new(input: Arc<Mutex<Input>>, printer: Printer) -> Self {
        Self {
            input,
            printer,
            trusted: std::sync::Mutex::default(),
        }
    }

    fn is_trusted(&self, tool: &str) -> bool {
        let trusted = self.trusted.lock().unwrap_or_else(PoisonError::into_inner);
        trusted.contains(tool)
    }

    fn trust(&self, tool: &str) {
        let mut trusted = self.trusted.lock().unwrap_or_else(PoisonError::into_inner);
        trusted.insert(tool.to_owned());
    }
}

#[async_trait]
impl Approver for AtTerminal {
    async fn decide(&self, call: &Call, subagent: Option<&str>) -> Option<DecisionRecord> {
        let decided = |decision, note| {
            Some(DecisionRecord {
                call_id: call.id.clone(),
                decision,
                decided_by: PERSON.to_owned(),
                note,
                session: None,
            })
        };
        let mut input = self.input.lock().await;
        if self.is_trusted(&call.name) {
            return decided(Decision::Allow, None);
        }
        let view = call.view();
        self.printer.note(&format!(
            "? {} wants to call {} {}",
            subagent.map_or_else(|| "the agent".to_owned(), |name| format!("`{name}`")),
            view.name,
            view.input_preview
        ));
        if let Some(preview) = &call.preview {
            self.printer.notes(preview.diff.trim_end());
            for number in &preview.numbers {
                self.printer.note(&format!("  {number}"));
            }
        }
        loop {
            let line = input.next("  allow, deny, session, view, later? ").await;
            let Line::Text(text) = line else {
                return None;
            };
            let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
            match word {
                "a" | "allow" => return decided(Decision::Allow, None),
                "d" | "deny" => {
                    let note = (!rest.trim().is_empty()).then(|| rest.trim().to_owned());
                    return decided(Decision::Deny, note);
                }
                "s" | "session" => {
                    self.trust(&call.name);
                    return decided(Decision::Allow, None);
                }
                "v" | "view" => {
                    let whole = serde_json::to_string_pretty(&call.input).unwrap_or_default();
                    self.printer.notes(&whole);
                }
                "l" | "later" => return None,
                _ => self
                    .printer
                    .note("  write `a`, `d` and a reason if you like, `s`, `v` or `l`"),
            }
        }
    }
}
