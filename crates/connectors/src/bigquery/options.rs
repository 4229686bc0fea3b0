//! BigQuery connection settings.

use std::time::Duration;

use ktx_warehouse::WarehouseError;

use super::credentials::Credentials;
use crate::settings::ConnectionSettings;

/// Default billing cap of a statement: 10 GiB.
const MAX_BYTES: u64 = 10 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BigQueryOptions {
    pub(super) project: String,
    /// Job location; by default derived from the tables.
    pub(super) location: Option<String>,
    pub(super) datasets: Vec<Dataset>,
    pub(super) max_bytes: u64,
    pub(super) timezone: String,
    job_time: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dataset {
    pub(super) project: String,
    pub(super) name: String,
}

impl Dataset {
    /// Parses `dataset` or `project.dataset`. Only projects can contain dots.
    pub(super) fn parse(text: &str, project: &str) -> Self {
        let (project, name) = text.rsplit_once('.').unwrap_or((project, text));
        Self {
            project: project.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl BigQueryOptions {
    pub(super) fn read(
        settings: &ConnectionSettings<'_>,
        credentials: &Credentials,
    ) -> Result<Self, WarehouseError> {
        let project = match settings.text(&["project_id"])? {
            Some(project) => project,
            None => credentials
                .project()
                .ok_or_else(|| {
                    settings
                        .wrong("names no project")
                        .hint("add `project_id`: the project that queries are billed to")
                })?
                .to_owned(),
        };
        let datasets = settings.list(&["dataset_ids", "dataset_id"]);
        Ok(Self {
            datasets: datasets
                .iter()
                .map(|text| Dataset::parse(text, &project))
                .collect(),
            location: settings.text(&["location"])?,
            timezone: settings.timezone()?,
            max_bytes: count(settings, "max_bytes_billed")?.unwrap_or(MAX_BYTES),
            job_time: count(settings, "job_timeout_ms")?.map(Duration::from_millis),
            project,
        })
    }

    pub(super) fn time(&self, given: Duration) -> Duration {
        self.job_time.map_or(given, |own| own.min(given))
    }
}

fn count(settings: &ConnectionSettings<'_>, key: &str) -> Result<Option<u64>, WarehouseError> {
    let Some(text) = settings.text(&[key])? else {
        return Ok(None);
    };
    match text.trim().replace('_', "").parse::<u64>() {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => Err(settings.wrong(&format!(
            "has `{key}: {text}`; it must be a positive whole number"
        ))),
    }
}
