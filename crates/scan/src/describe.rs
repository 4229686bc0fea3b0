//! Descriptions of tables and columns through the runtime port: one call a table, each done once.

mod prompt;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use ktx_llm_runtime::{
    CallLabel, LlmError, LlmErrorKind, LlmRuntime, ObjectRequest, generate_typed,
};
use ktx_tool_descriptors::object_schema_for;
use ktx_vocabulary::{ModelRole, TableRef};
use ktx_warehouse::{ScanWarning, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::describe::prompt::{Asked, describe_prompt};
use crate::event::{ScanEvent, ScanStage};
use crate::pause::Pause;
use crate::profile::TableProfile;
use crate::profile::column::clipped;
use crate::prompts::DESCRIBE_SYSTEM;
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::{StageRows, digest, table_unit};
use crate::structural::hash::structure_hash;

/// Raised whenever the prompt changes.
const VERSION: &str = "describe-2";
/// Columns described in one call.
const COLUMNS_PER_CALL: usize = 40;
/// Characters kept of one description: about twice the words asked for.
const LENGTH: usize = 400;

/// The descriptions of one table; the form in which they stand in stage rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableDescription {
    /// Of the table.
    pub table: Option<String>,
    /// Of the columns, by name.
    pub columns: BTreeMap<String, String>,
    /// What the model was asked about twice and left out both times. It is asked about again when the table's structure, its samples, the prompt or the model changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// What a model left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeftOut {
    /// The columns, in the order of the table.
    pub columns: Vec<String>,
    /// Whether it left out the table itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub table: bool,
    /// The model that was asked.
    pub model: String,
    /// The version of the prompt.
    pub prompt_version: String,
}

/// What describing gave.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    /// By table.
    pub tables: BTreeMap<TableRef, TableDescription>,
    /// Calls made.
    pub calls: usize,
    /// What could not be described.
    pub warnings: Vec<ScanWarning>,
    /// Tables that the model did not come to.
    pub left: usize,
}

/// What the model answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Answer {
    /// What one row of the table is, in at most 24 words.
    table_description: String,
    /// The columns asked for.
    columns: Vec<AnsweredColumn>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnsweredColumn {
    /// The column's exact name.
    name: String,
    /// What it means, in at most 16 words.
    description: String,
}

/// Tables in a row whose calls crash before the program is taken for broken.
const CRASHES_IN_A_ROW: usize = 3;

/// Whether an error of one call means that no call can succeed: the scan stops and changes nothing.
pub(crate) fn is_fatal(kind: LlmErrorKind) -> bool {
    matches!(
        kind,
        LlmErrorKind::Process
            | LlmErrorKind::Crashed
            | LlmErrorKind::ModelNotFound
            | LlmErrorKind::Isolation
            | LlmErrorKind::Cancelled
    )
}

/// Describes every table, a few at a time. Without a runtime nothing is described; behind a pause
/// only what earlier scans have described.
pub(crate) async fn describe_all(
    request: &ScanRequest,
    tables: &[Table],
    profiles: &BTreeMap<TableRef, TableProfile>,
    rows: &StageRows,
    pause: &Pause,
) -> Result<Descriptions, ScanError> {
    let mut all = Descriptions::default();
    let Some(runtime) = request.runtime.as_deref() else {
        return Ok(all);
    };
    let total = tables.len();
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Descriptions,
        total: Some(total),
    });
    let describer = Describer {
        request,
        runtime,
        rows,
        pause,
        served: AtomicBool::new(false),
        crashes: AtomicUsize::new(0),
        crash: Mutex::default(),
    };
    let width = request.settings.description_concurrency.max(1);
    let work = tables
        .iter()
        .map(|table| describer.table(table, profiles.get(&table.table)));
    let mut results = stream::iter(work).buffer_unordered(width);
    let mut done = 0;
    let mut failed = None;
    while let Some(result) = results.next().await {
        let one = match result {
            Ok(one) => one,
            Err(error) => {
                // Calls that run are paid for: they end, and what they give is kept.
                pause.stop();
                failed.get_or_insert(error);
                continue;
            }
        };
        all.calls += one.calls;
        if one.is_left {
            all.left += 1;
            continue;
        }
        done += 1;
        for warning in one.warnings {
            request.events.event(ScanEvent::Warning(warning.clone()));
            all.warnings.push(warning);
        }
        let unit = one.table.to_string();
        let reused = one.calls == 0;
        all.tables.insert(one.table, one.description);
        request.events.event(ScanEvent::UnitDone {
            stage: ScanStage::Descriptions,
            unit,
            done,
            total,
            reused,
        });
    }
    drop(results);
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(source) = describer.broken() {
        return Err(ScanError::Model {
            connection: request.connection.clone(),
            source,
        });
    }
    if let Some(source) = pause.error() {
        if all.tables.is_empty() && needs_a_person(source.kind) {
            return Err(ScanError::Model {
                connection: request.connection.clone(),
                source,
            });
        }
        all.warnings.push(left_over(all.left, total));
    }
    all.warnings
        .sort_by(|left, right| (&left.table, &left.message).cmp(&(&right.table, &right.message)));
    Ok(all)
}

struct Describer<'r> {
    request: &'r ScanRequest,
    runtime: &'r dyn LlmRuntime,
    rows: &'r StageRows,
    pause: &'r Pause,
    /// Whether a call of this scan was answered.
    served: AtomicBool,
    /// Tables in a row whose calls crashed.
    crashes: AtomicUsize,
    /// The last crash.
    crash: Mutex<Option<LlmError>>,
}

struct OneTable {
    table: TableRef,
    description: TableDescription,
    calls: usize,
    warnings: Vec<ScanWarning>,
    /// Whether the model stopped before it was whole.
    is_left: bool,
}

impl OneTable {
    /// Says which columns the model left out, in this run or an earlier one.
    fn tell_left_out(&mut self) {
        let Some(left_out) = &self.description.left_out else {
            return;
        };
        let columns = left_out.columns.join(", ");
        let message = match (left_out.table, left_out.columns.len()) {
            (true, 0) => format!("the model did not describe `{}` itself", self.table),
            (true, count) => format!(
                "the model left out `{}` itself and {count} of its columns: {columns}",
                self.table
            ),
            (false, count) => {
                format!(
                    "the model left out {count} columns of `{}`: {columns}",
                    self.table
                )
            }
        };
        self.warnings.push(ScanWarning {
            code: "description_missing".to_owned(),
            message,
            table: Some(self.table.to_string()),
            column: None,
            recoverable: true,
        });
    }
}

impl Describer<'_> {
    /// The crash of a program that has answered nothing.
    fn broken(&self) -> Option<LlmError> {
        let served = self.served.load(Ordering::Relaxed);
        let last = self.crash.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone().filter(|_| !served)
    }

    async fn table(
        &self,
        table: &Table,
        profile: Option<&TableProfile>,
    ) -> Result<OneTable, ScanError> {
        if self.request.cancel.is_cancelled() {
            return Err(ScanError::Cancelled);
        }
        let mut one = OneTable {
            table: table.table.clone(),
            description: TableDescription::default(),
            calls: 0,
            warnings: Vec::new(),
            is_left: false,
        };
        let unit = table_unit(&table.table);
        let input = self.input(table, profile)?;
        if let Some(stored) = self.rows.get("description", &unit, &input)? {
            one.description = stored;
            one.tell_left_out();
            return Ok(one);
        }
        let columns: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        for group in columns.chunks(COLUMNS_PER_CALL) {
            self.group(table, profile, group, &mut one).await?;
        }
        let failed = |warning: &ScanWarning| warning.code == "enrichment_failed";
        if one.is_left || one.warnings.iter().any(failed) {
            return Ok(one);
        }
        let no_table = one.description.table.is_none();
        let described = |column: &&&str| one.description.columns.contains_key(**column);
        let missing: Vec<String> = columns
            .iter()
            .filter(|column| !described(column))
            .map(|column| (*column).to_owned())
            .collect();
        if no_table || !missing.is_empty() {
            one.description.left_out = Some(LeftOut {
                columns: missing,
                table: no_table,
                model: self.request.model.clone(),
                prompt_version: VERSION.to_owned(),
            });
            one.tell_left_out();
        }
        self.rows
            .put("description", &unit, &input, &one.description)?;
        Ok(one)
    }

    /// Asks about some columns, and once more for those that the answer left out.
    async fn group(
        &self,
        table: &Table,
        profile: Option<&TableProfile>,
        columns: &[&str],
        one: &mut OneTable,
    ) -> Result<(), ScanError> {
        let mut missing: Vec<&str> = columns.to_vec();
        for _ in 0..2 {
            let table_too = one.description.table.is_none();
            if missing.is_empty() && !table_too {
                break;
            }
            if self.pause.is_on() {
                one.is_left = true;
                return Ok(());
            }
            one.calls += 1;
            match self.ask(table, profile, &missing, table_too).await {
                Ok(answer) => take(answer, columns, one),
                Err(CallError::Scan(error)) => return Err(error),
                Err(CallError::Paused) => {
                    one.is_left = true;
                    return Ok(());
                }
                Err(CallError::Table(error)) => {
                    one.warnings
                        .retain(|known| known.code != "enrichment_failed");
                    one.warnings
                        .push(warning("enrichment_failed", &one.table, None, &error));
                    let again = match error.kind {
                        LlmErrorKind::StructuredOutput => true,
                        // The runtime has made this call twice.
                        LlmErrorKind::Crashed => false,
                        kind => kind.is_retryable(),
                    };
                    if !again {
                        return Ok(());
                    }
                }
            }
            missing.retain(|column| !one.description.columns.contains_key(*column));
        }
        if one.description.table.is_some() || one.description.columns.len() > missing.len() {
            // The retry mended what the first call had failed at.
            let mended = missing.is_empty();
            one.warnings
                .retain(|warning| !(mended && warning.code == "enrichment_failed"));
        }
        Ok(())
    }

    async fn ask(
        &self,
        table: &Table,
        profile: Option<&TableProfile>,
        columns: &[&str],
        table_too: bool,
    ) -> Result<Answer, CallError> {
        let asked = Asked {
            table,
            profile,
            columns,
            with_table: table_too,
            settings: &self.request.settings,
        };
        let prompt = describe_prompt(&asked).map_err(CallError::Scan)?;
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
                self.crashes.store(0, Ordering::Relaxed);
                Ok(answer)
            }
            Err(error) if error.kind == LlmErrorKind::Cancelled => {
                Err(CallError::Scan(ScanError::Cancelled))
            }
            Err(error) if error.kind == LlmErrorKind::Crashed => Err(self.crashed(error)),
            // A program that has answered in this scan may be back for the next one.
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

    /// A crash belongs to its table: something in it may be too much for the program. Several in a row
    /// mean that the program is broken.
    fn crashed(&self, error: LlmError) -> CallError {
        let crashes = self.crashes.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last = self.crash.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(error.clone());
        drop(last);
        if crashes < CRASHES_IN_A_ROW {
            return CallError::Table(error);
        }
        self.pause.hold(error);
        CallError::Paused
    }

    /// The hash of everything that a description depends on.
    fn input(&self, table: &Table, profile: Option<&TableProfile>) -> Result<String, ScanError> {
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let asked = Asked {
            table,
            profile,
            columns: &names,
            with_table: true,
            settings: &self.request.settings,
        };
        let prompt = describe_prompt(&asked)?;
        let structure = structure_hash(table);
        let backend = self.runtime.describe().name;
        Ok(digest([
            VERSION,
            backend,
            self.request.model.as_str(),
            structure.as_str(),
            prompt.as_str(),
        ]))
    }
}

/// Keeps what was asked for and reports what was not.
fn take(answer: Answer, asked: &[&str], one: &mut OneTable) {
    let text = clean(&answer.table_description);
    if one.description.table.is_none() && !text.is_empty() {
        one.description.table = Some(text);
    }
    let mut unknown: Vec<String> = Vec::new();
    for column in answer.columns {
        let text = clean(&column.description);
        if !asked.contains(&column.name.as_str()) {
            unknown.push(clipped(&column.name, 60));
        } else if !text.is_empty() {
            one.description.columns.insert(column.name, text);
        }
    }
    if !unknown.is_empty() {
        one.warnings.push(ScanWarning {
            code: "description_unknown_column".to_owned(),
            message: format!(
                "the model described columns that `{}` does not have: {}",
                one.table,
                unknown.join(", ")
            ),
            table: Some(one.table.to_string()),
            column: None,
            recoverable: true,
        });
    }
}

enum CallError {
    /// The scan cannot go on.
    Scan(ScanError),
    /// This table cannot be described now.
    Table(LlmError),
    /// No table can be described now.
    Paused,
}

/// Whether somebody has to do something before any call can succeed.
const fn needs_a_person(kind: LlmErrorKind) -> bool {
    matches!(kind, LlmErrorKind::Auth | LlmErrorKind::Billing)
}

fn left_over(left: usize, total: usize) -> ScanWarning {
    ScanWarning {
        code: "enrichment_paused".to_owned(),
        message: format!("the model stopped: {left} of {total} tables are not described yet"),
        table: None,
        column: None,
        recoverable: true,
    }
}

fn warning(code: &str, table: &TableRef, column: Option<&str>, error: &LlmError) -> ScanWarning {
    ScanWarning {
        code: code.to_owned(),
        message: format!("could not describe `{table}`: {error}"),
        table: Some(table.to_string()),
        column: column.map(str::to_owned),
        recoverable: true,
    }
}

/// One line of bounded length.
fn clean(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clipped(&words.join(" "), LENGTH)
}

#[cfg(test)]
mod tests;
