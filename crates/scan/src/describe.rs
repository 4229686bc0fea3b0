//! Describes tables and columns with the model, storing each result so that it is paid for once.

mod call;
pub(crate) mod known;
mod prompt;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use ktx_llm_runtime::{LlmError, LlmErrorKind, LlmRuntime};
use ktx_relationships::profile::TableProfile;
use ktx_relationships::profile::column::clipped;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, Table};
use serde::{Deserialize, Serialize};

use crate::describe::call::{Answer, CallError};
use crate::describe::known::{DescribedFrom, KnownDescriptions, Rows};
use crate::describe::prompt::{PromptSubject, describe_prompt};
use crate::event::{ScanEvent, ScanStage};
use crate::pause::Pause;
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::{StageRows, digest};
use crate::structural::hash::structure_hash;

/// Change whenever the prompt changes.
const VERSION: &str = "describe-2";
const COLUMNS_PER_CALL: usize = 40;
const ASKS: usize = 2;
const LENGTH: usize = 400;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableDescription {
    pub table: Option<String>,
    pub columns: BTreeMap<String, String>,
    /// Not asked about again until the inputs change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    #[serde(skip)]
    pub from: Option<DescribedFrom>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeftOut {
    pub columns: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub table: bool,
    pub model: String,
    pub prompt_version: String,
}

impl TableDescription {
    fn is_whole(&self, table: &Table) -> bool {
        self.table.is_some() && self.columns.len() == table.columns.len()
    }

    fn lacks(&self, column: &str) -> bool {
        let was_left_out =
            |left_out: &LeftOut| left_out.columns.iter().any(|known| known == column);
        !self.columns.contains_key(column) && !self.left_out.as_ref().is_some_and(was_left_out)
    }

    fn lacks_table(&self) -> bool {
        self.table.is_none()
            && !self
                .left_out
                .as_ref()
                .is_some_and(|left_out| left_out.table)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    pub tables: BTreeMap<TableRef, TableDescription>,
    pub rest: BTreeMap<TableRef, TableDescription>,
    pub calls: usize,
    pub warnings: Vec<ScanWarning>,
    pub left: usize,
}

/// During a pause, returns only earlier descriptions.
pub(crate) async fn describe_all(
    request: &ScanRequest,
    tables: &[Table],
    profiles: &BTreeMap<TableRef, TableProfile>,
    (rows, known): (&StageRows, &KnownDescriptions),
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
        known,
        pause,
        served: AtomicBool::new(false),
        failures: AtomicUsize::new(0),
        failure: Mutex::default(),
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
                // Running calls are already paid for.
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
    known: &'r KnownDescriptions,
    pause: &'r Pause,
    served: AtomicBool,
    failures: AtomicUsize,
    failure: Mutex<Option<LlmError>>,
}

struct OneTable {
    table: TableRef,
    description: TableDescription,
    calls: usize,
    warnings: Vec<ScanWarning>,
    is_left: bool,
}

impl OneTable {
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
    fn broken(&self) -> Option<LlmError> {
        let served = self.served.load(Ordering::Relaxed);
        let last = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
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
        let now = DescribedFrom::now(self.request, table, profile);
        let known = self.known.about(table, &now);
        let from = known.as_ref().and_then(|known| known.from.clone());
        let from = from.unwrap_or(now);
        let input = self.input(table, profile)?;
        let rows = Rows::new(self.rows, table, &self.request.model, input);
        if let Some(stored) = rows.whole()? {
            one.description = stored;
            one.description.from = Some(from);
            one.tell_left_out();
            return Ok(one);
        }
        let columns: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        one.description = rows.part()?.or(known).unwrap_or_default();
        one.description.from = Some(from);
        for group in columns.chunks(COLUMNS_PER_CALL) {
            self.group(table, profile, group, &rows, &mut one).await?;
        }
        let failed = |warning: &ScanWarning| warning.code == "enrichment_failed";
        if one.is_left || one.warnings.iter().any(failed) {
            return Ok(one);
        }
        one.tell_left_out();
        rows.put_whole(&one.description)?;
        Ok(one)
    }

    async fn group(
        &self,
        table: &Table,
        profile: Option<&TableProfile>,
        columns: &[&str],
        rows: &Rows<'_>,
        one: &mut OneTable,
    ) -> Result<(), ScanError> {
        let mut missing = columns.to_vec();
        missing.retain(|column| one.description.lacks(column));
        let mut answers = 0;
        for _ in 0..ASKS {
            if missing.is_empty() && !one.description.lacks_table() {
                break;
            }
            if self.pause.is_on() {
                one.is_left = true;
                return Ok(());
            }
            one.calls += 1;
            let table_too = one.description.table.is_none();
            let answer = self.ask(table, profile, &missing, table_too).await;
            answers += usize::from(answer.is_ok());
            match answer {
                Ok(answer) => {
                    take(answer, columns, one);
                    if !one.description.is_whole(table) {
                        // Paid results must be stored before anything else can fail.
                        rows.put_part(&one.description)?;
                    }
                }
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
                    // The runtime has already retried every other temporary failure.
                    if error.kind != LlmErrorKind::StructuredOutput {
                        return Ok(());
                    }
                }
            }
            missing.retain(|column| !one.description.columns.contains_key(*column));
        }
        if one.description.table.is_some() || one.description.columns.len() > missing.len() {
            let mended = missing.is_empty();
            one.warnings
                .retain(|warning| !(mended && warning.code == "enrichment_failed"));
        }
        let is_done = missing.is_empty() && one.description.table.is_some();
        if answers == ASKS || is_done && answers > 0 {
            self.leave_out(&missing, &mut one.description);
            if !one.description.is_whole(table) {
                rows.put_part(&one.description)?;
            }
        }
        Ok(())
    }

    fn leave_out(&self, missing: &[&str], description: &mut TableDescription) {
        let no_table = description.table.is_none();
        if missing.is_empty() && !no_table && description.left_out.is_none() {
            return;
        }
        let mut left_out = description.left_out.take().unwrap_or_else(|| LeftOut {
            columns: Vec::new(),
            table: false,
            model: self.request.model.clone(),
            prompt_version: VERSION.to_owned(),
        });
        left_out.table = no_table;
        let missing = missing.iter().map(|column| (*column).to_owned());
        left_out.columns.extend(missing);
        let says_something = no_table || !left_out.columns.is_empty();
        description.left_out = says_something.then_some(left_out);
    }

    fn input(&self, table: &Table, profile: Option<&TableProfile>) -> Result<String, ScanError> {
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let subject = PromptSubject {
            table,
            profile,
            columns: &names,
            with_table: true,
            settings: &self.request.settings,
        };
        let prompt = describe_prompt(&subject)?;
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

fn clean(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clipped(&words.join(" "), LENGTH)
}

#[cfg(test)]
mod tests;
