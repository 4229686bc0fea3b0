//! The ledger of a context source: one small committed file for each unit, so that a clone need not
//! ask a model again and branches rarely conflict.

use ktx_project_store::{Change, Content, ProjectPath, UnsafePath};
use ktx_vocabulary::ConnectionId;
use serde::{Deserialize, Serialize};

use crate::documents::Verdict;
use crate::fingerprint::digest;
use crate::journal::ItemResult;
use crate::work_item::{Truncation, WorkItem};

const LONGEST_NAME: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitOutcome {
    Written,
    Nothing,
    /// The model was stopped; the next run asks again.
    Partial,
    /// Some changes wait for a person, on their own branch.
    Withheld,
    Skipped,
    /// The next run asks again.
    Failed,
}

impl UnitOutcome {
    pub(crate) const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Written | Self::Nothing | Self::Skipped | Self::Withheld
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) unit: String,
    pub(crate) outcome: UnitOutcome,
    /// The hash of the model input.
    pub(crate) input: String,
    /// The hash of the files' content, without their paths.
    pub(crate) content: String,
    pub(crate) files: Vec<String>,
    /// Keys of pages from all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sources: Vec<String>,
    /// For documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) triage: Option<Verdict>,
    /// Number of failed runs since the last success.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) failures: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Entry {
    pub(crate) fn of(item: &WorkItem, result: &ItemResult, truncation: Option<Truncation>) -> Self {
        let outcome = if truncation.is_some() {
            UnitOutcome::Partial
        } else if result.is_withheld {
            UnitOutcome::Withheld
        } else if result.wiki.is_empty() && result.sl.is_empty() {
            UnitOutcome::Nothing
        } else {
            UnitOutcome::Written
        };
        Self {
            unit: item.key.clone(),
            outcome,
            input: item.input.clone(),
            content: item.content.clone(),
            files: item.files.clone(),
            pages: result.wiki.iter().cloned().collect(),
            sources: result.sl.iter().cloned().collect(),
            triage: None,
            failures: 0,
        }
    }

    pub(crate) fn change(&self, source: &ConnectionId) -> Result<Change, UnsafePath> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        Ok(Change::write(path(source, &self.unit)?, text))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

pub(crate) fn removal(source: &ConnectionId, unit: &str) -> Result<Change, UnsafePath> {
    Ok(Change {
        path: path(source, unit)?,
        content: Content::Delete,
    })
}

pub(crate) fn folder(source: &ConnectionId) -> Result<ProjectPath, UnsafePath> {
    ProjectPath::parse(&format!("raw-sources/{source}/ledger"))
}

fn path(source: &ConnectionId, unit: &str) -> Result<ProjectPath, UnsafePath> {
    let folder = folder(source)?;
    ProjectPath::parse(&format!("{folder}/{}.json", file_name(unit)))
}

/// Keys with special characters get a hash, which keeps them apart.
pub(crate) fn file_name(unit: &str) -> String {
    let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-' | '_');
    if !unit.is_empty() && unit.len() <= LONGEST_NAME && unit.chars().all(is_plain) {
        return unit.to_owned();
    }
    let shown = unit
        .chars()
        .take(LONGEST_NAME / 2)
        .map(|letter| if is_plain(letter) { letter } else { '-' });
    let mut digits = digest(unit.as_bytes());
    digits.truncate(8);
    format!("{}.{digits}", shown.collect::<String>())
}

#[cfg(test)]
mod tests;
