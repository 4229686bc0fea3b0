//! Reads the samples of all tables within the budget.

use std::collections::{BTreeMap, BTreeSet};

use ktx_relationships::profile::TableProfile;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ErrorKind, ScanWarning, Table, WarehouseError};
use serde::{Deserialize, Serialize};

use crate::event::{ScanEvent, ScanStage};
use crate::lanes::{Lanes, Load, Onward};
use crate::profile::previous::{PreviousProfiles, PublishedProfile};
use crate::profile::table_read::{is_readable, read_table};
use crate::request::{ScanError, ScanRequest};
use crate::spending::{Spending, is_lost, is_strain};
use crate::stage_rows::{StageRows, table_unit};
use crate::structural::hash::structure_hash;

/// Change whenever a stored profile would be wrong.
const VERSION: &str = "profile-4";

pub(crate) const UNUSABLE: &str = "name_unusable";

#[derive(Debug, Default)]
pub(crate) struct Profiles {
    pub tables: BTreeMap<TableRef, TableProfile>,
    pub warnings: Vec<ScanWarning>,
    pub statements: usize,
    pub reused: usize,
    pub left: Vec<TableRef>,
    /// Tables not read in this run.
    pub kept: BTreeMap<TableRef, PublishedProfile>,
}

impl Profiles {
    pub(crate) fn left_kept(&self) -> usize {
        let kept = |table: &&TableRef| self.kept.contains_key(*table);
        self.left.iter().filter(kept).count()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredProfile {
    estimated_rows: Option<u64>,
    profile: TableProfile,
}

/// An unreadable table becomes a warning. Tables without a published profile come first, so that
/// scans with a budget make progress.
pub(crate) async fn read_all(
    request: &ScanRequest,
    tables: &[Table],
    (rows, previous_profiles): (&StageRows, &PreviousProfiles),
    spending: &Spending<'_>,
) -> Result<Profiles, ScanError> {
    let total = tables.len();
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Profile,
        total: Some(total),
    });
    let mut lanes = Lanes::new(request.settings.relationships.profile_concurrency);
    let mut done = 0;
    let mut profiles = Profiles {
        warnings: tables.iter().flat_map(unreadable_columns).collect(),
        ..Profiles::default()
    };
    for warning in &profiles.warnings {
        request.events.event(ScanEvent::Warning(warning.clone()));
    }
    let mut lost: Vec<(TableRef, ScanWarning)> = Vec::new();
    let mut unanswered: BTreeSet<TableRef> = BTreeSet::new();
    let mut order: Vec<&Table> = tables.iter().collect();
    order.sort_by_cached_key(|table| {
        let kept = previous_profiles.kept(table, &request.settings);
        kept.is_some_and(|kept| kept.columns.len() == table.columns.len())
    });
    let work = order
        .into_iter()
        .map(|table| read_or_reuse(request, table, rows, spending));
    let take = |result: Result<(&Table, ReadResult), ScanError>| {
        let (table, result) = result?;
        let (mut reused, mut load) = (false, Load::Easy);
        match result {
            Ok((profile, Origin::Stored)) => {
                (reused, load) = (true, Load::Idle);
                profiles.reused += 1;
                profiles.tables.insert(table.table.clone(), profile);
            }
            Ok((profile, Origin::Read)) => {
                profiles.statements += profile.statements;
                profiles.tables.insert(table.table.clone(), profile);
            }
            Err(_) if spending.stopped().is_some() => {
                profiles.left.push(table.table.clone());
                return Ok((Load::Idle, Onward::Go));
            }
            Err(error) => {
                if is_strain(error.kind) {
                    load = Load::Strained;
                    unanswered.insert(table.table.clone());
                }
                let warning = failed(&table.table, &error);
                if is_lost(error.kind) {
                    lost.push((table.table.clone(), warning));
                } else {
                    request.events.event(ScanEvent::Warning(warning.clone()));
                    profiles.warnings.push(warning);
                }
            }
        }
        done += 1;
        request.events.event(ScanEvent::UnitDone {
            stage: ScanStage::Profile,
            unit: table.table.to_string(),
            done,
            total,
            reused,
        });
        Ok((load, Onward::Go))
    };
    lanes.run(work, take).await?;
    // A table is not at fault if the scan stopped for that reason.
    if spending.stopped().is_some() {
        profiles
            .left
            .extend(lost.into_iter().map(|(table, _)| table));
    } else {
        profiles
            .warnings
            .extend(lost.into_iter().map(|(_, warning)| warning));
    }
    profiles.left.sort();
    unanswered.extend(profiles.left.iter().cloned());
    let not_read = tables
        .iter()
        .filter(|table| unanswered.contains(&table.table));
    profiles.kept = previous_profiles.of(not_read, &request.settings);
    if !unanswered.is_empty() {
        profiles
            .warnings
            .extend(previous_profiles.warnings.iter().cloned());
    }
    profiles
        .warnings
        .sort_by(|left, right| left.table.cmp(&right.table));
    Ok(profiles)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Stored,
    Read,
}

type ReadResult = Result<(TableProfile, Origin), WarehouseError>;

async fn read_or_reuse<'a>(
    request: &ScanRequest,
    table: &'a Table,
    rows: &StageRows,
    spending: &Spending<'_>,
) -> Result<(&'a Table, ReadResult), ScanError> {
    if request.cancel.is_cancelled() {
        return Err(ScanError::Cancelled);
    }
    if let Some(profile) = stored(request, table, rows)? {
        return Ok((table, Ok((profile, Origin::Stored))));
    }
    let mut result = read_table(request, table, spending).await;
    let broke = |error: &WarehouseError| is_lost(error.kind) && spending.stopped().is_none();
    if result.as_ref().is_err_and(broke) {
        // The second attempt opens a new connection.
        result = read_table(request, table, spending).await;
    }
    let profile = match result {
        Ok(profile) => profile,
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(ScanError::Cancelled),
        Err(error) => return Ok((table, Err(error))),
    };
    let stored = StoredProfile {
        estimated_rows: table.estimated_rows,
        profile,
    };
    let unit = table_unit(&table.table);
    rows.put("profile", &unit, &input(request, table), &stored)?;
    Ok((table, Ok((stored.profile, Origin::Read))))
}

pub(crate) fn stored(
    request: &ScanRequest,
    table: &Table,
    rows: &StageRows,
) -> Result<Option<TableProfile>, ScanError> {
    let unit = table_unit(&table.table);
    let stored: Option<StoredProfile> = rows.get("profile", &unit, &input(request, table))?;
    Ok(stored
        .filter(|stored| is_alike(stored.estimated_rows, table.estimated_rows))
        .map(|stored| stored.profile))
}

fn input(request: &ScanRequest, table: &Table) -> String {
    format!(
        "{VERSION}/{}/{}/{}",
        structure_hash(table),
        request.settings.whole_table_rows,
        request.settings.relationships.profile_sample_rows
    )
}

/// Returns whether the sizes are within a factor of two or a hundred rows.
pub(crate) fn is_alike(before: Option<u64>, now: Option<u64>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => {
            let (small, large) = (before.min(now), before.max(now));
            large <= small.saturating_mul(2) || (small > 0 && large - small <= 100)
        }
        (None, None) => true,
        _ => false,
    }
}

fn unreadable_columns(table: &Table) -> impl Iterator<Item = ScanWarning> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    names.filter(|name| !is_readable(name)).map(|name| {
        let place = format!("{}.{name}", table.table);
        ScanWarning {
            code: UNUSABLE.to_owned(),
            message: format!(
                "the column `{}` was not read: its name holds control characters; make a view with \
                 another name for it",
                place.escape_debug()
            ),
            table: Some(table.table.to_string()),
            column: Some(name.to_owned()),
            recoverable: true,
        }
    })
}

fn failed(table: &TableRef, error: &WarehouseError) -> ScanWarning {
    ScanWarning {
        code: "statistics_failed".to_owned(),
        message: format!("could not read a sample of `{table}`: {error}"),
        table: Some(table.to_string()),
        column: None,
        recoverable: true,
    }
}
