//! Runs one model call about columns of a table.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use ktx_llm_runtime::{CallLabel, LlmError, LlmErrorKind, ObjectRequest, generate_typed};
use ktx_relationships::profile::TableProfile;
use ktx_tool_descriptors::object_schema_for;
use ktx_vocabulary::ModelRole;
use ktx_warehouse::Table;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Describer;
use super::prompt::{PromptSubject, describe_prompt};
use crate::pause::{FAILURES_IN_A_ROW, is_elsewhere, is_fatal};
use crate::prompts::DESCRIBE_SYSTEM;
use crate::request::ScanError;

/// What the model answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Answer {
    /// What one row of the table is, in at most 24 words.
    pub(super) table_description: String,
    /// The columns asked for.
    pub(super) columns: Vec<AnsweredColumn>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnsweredColumn {
    /// The column's exact name.
    pub(super) name: String,
    /// What it means, in at most 16 words.
    pub(super) description: String,
}

pub(super) enum CallError {
    Scan(ScanError),
    /// This table cannot be described now.
    Table(LlmError),
    /// No table can be described now.
    Paused,
}

impl Describer<'_> {
    pub(super) async fn ask(
        &self,
        table: &Table,
        profile: Option<&TableProfile>,
        columns: &[&str],
        table_too: bool,
    ) -> Result<Answer, CallError> {
        let subject = PromptSubject {
            table,
            profile,
            columns,
            with_table: table_too,
            settings: &self.request.settings,
        };
        let prompt = describe_prompt(&subject).map_err(CallError::Scan)?;
        let schema = object_schema_for::<Answer>().map_err(|error| {
            CallError::Scan(ScanError::Internal {
                reason: error.to_string(),
            })
        })?;
        let call = ObjectRequest {
            role: ModelRole::CandidateExtraction,
            system: DESCRIBE_SYSTEM.to_owned(),
            prompt,
            schema,
            cancel: self.request.cancel.clone(),
            label: CallLabel {
                run_id: self.request.run_id.clone(),
                stage: "descriptions".to_owned(),
                unit: Some(table.table.to_string()),
                connection: Some(self.request.connection.clone()),
            },
        };
        match generate_typed::<Answer>(self.runtime, call).await {
            Ok((answer, _)) => {
                self.served.store(true, Ordering::Relaxed);
                self.failures.store(0, Ordering::Relaxed);
                Ok(answer)
            }
            Err(error) if error.kind == LlmErrorKind::Cancelled => {
                Err(CallError::Scan(ScanError::Cancelled))
            }
            Err(error) if is_elsewhere(error.kind) => Err(self.failed(error)),
            // A program that answered earlier in this scan may work again in the next one.
            Err(error)
                if error.kind == LlmErrorKind::Process && self.served.load(Ordering::Relaxed) =>
            {
                self.pause.hold(error);
                Err(CallError::Paused)
            }
            Err(source) if is_fatal(source.kind) => Err(CallError::Scan(ScanError::Model {
                connection: self.request.connection.clone(),
                source,
            })),
            Err(error) => Err(match self.pause.take(error) {
                Ok(()) => CallError::Paused,
                Err(error) => CallError::Table(error),
            }),
        }
    }

    /// Attributes a failure to its table, whose content may be too much for the program. Several
    /// failures in a row mean that the program is broken or the service unavailable.
    fn failed(&self, error: LlmError) -> CallError {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(error.clone());
        drop(last);
        if failures < FAILURES_IN_A_ROW {
            return CallError::Table(error);
        }
        self.pause.hold(error);
        CallError::Paused
    }
}
