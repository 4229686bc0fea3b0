//! The local audit log of sent and refused statements, one JSON line each.

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use ktx_context_tools::{AuditEntry, AuditOutcome, AuditSink};
use ktx_diagnostics::Code;
use ktx_project_store::Store;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementText {
    Kept,
    Hashed,
}

#[derive(Debug)]
pub(crate) struct AuditLog {
    store: Store,
    text: StatementText,
    warned: AtomicBool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AuditLine<'a> {
    at: String,
    tool: &'a str,
    call_id: &'a str,
    connection_id: &'a str,
    sql_sha256: String,
    outcome: &'static str,
    rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<&'a str>,
}

impl AuditLog {
    /// `KTX_AUDIT_SQL` adds the statements, which can contain personal data.
    pub(crate) fn new(store: &Store) -> Self {
        let text = if store.environment().flag("KTX_AUDIT_SQL") {
            StatementText::Kept
        } else {
            StatementText::Hashed
        };
        Self {
            store: store.clone(),
            text,
            warned: AtomicBool::new(false),
        }
    }

    fn append(&self, entry: &AuditEntry) -> Result<(), String> {
        let line = line(entry, Timestamp::now(), self.text);
        let line = serde_json::to_vec(&line).map_err(|error| error.to_string())?;
        self.store
            .append_audit(&line)
            .map_err(|error| ktx_diagnostics::chain(&error).join(": "))
    }
}

impl AuditSink for AuditLog {
    /// Warns once per process on failure; the statement continues.
    fn note(&self, entry: AuditEntry) {
        if let Err(reason) = self.append(&entry)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            crate::printer::stderr_line(&format!(
                "warning: the audit log cannot be written: {reason}"
            ));
        }
    }
}

fn line(entry: &AuditEntry, at: Timestamp, text: StatementText) -> AuditLine<'_> {
    let (outcome, rows, code) = match entry.outcome {
        AuditOutcome::Executed { rows } => ("executed", rows, None),
        AuditOutcome::Refused { code } => ("refused", 0, Some(code)),
        AuditOutcome::Failed { code } => ("failed", 0, Some(code)),
    };
    AuditLine {
        at: at.to_string(),
        tool: entry.tool,
        call_id: &entry.call_id,
        connection_id: entry.connection.as_str(),
        sql_sha256: hex(&Sha256::digest(entry.sql.as_bytes())),
        outcome,
        rows,
        code: code.map(Code::as_str),
        sql: (text == StatementText::Kept).then_some(entry.sql.as_str()),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests;
