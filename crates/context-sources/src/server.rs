//! Common parts of server sources: cache, errors, mappings to warehouses.

use ktx_config::Connection;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::failure_of;
use serde_json::Value;

use crate::page_cache::PageCache;
use crate::rest::{RestError, RestErrorKind};
use crate::snapshot::Snapshot;
use crate::source::SourceContext;

pub(crate) type ErrorHint = fn(&Connection, &RestError) -> Option<String>;

pub(crate) fn cache(connection: &Connection, context: SourceContext<'_>) -> PageCache {
    let cache = context.store.layout().cache();
    let kind = cache.join(connection.driver.as_str());
    PageCache::new(kind.join(connection.id.as_str()))
}

pub(crate) fn unreachable(connection: &Connection, error: &RestError, hint: ErrorHint) -> Failure {
    let exit = match error.kind {
        RestErrorKind::Config => Exit::Config,
        _ => Exit::Connection,
    };
    let failure = failure_of(Code::SourceUnreachable, error)
        .ending(exit)
        .context(format!("`{}` cannot be read", connection.id));
    match hint(connection, error) {
        Some(hint) => failure.hint(hint),
        None => failure.with_hints(error),
    }
}

pub(crate) struct Mapping {
    pub(crate) setting: &'static str,
    /// What is mapped, as in "maps no …".
    pub(crate) part: &'static str,
}

impl Mapping {
    pub(crate) fn read(
        &self,
        connection: &Connection,
        is_read: impl Fn(&str) -> bool,
        context: SourceContext<'_>,
    ) -> Result<Vec<(String, String)>, Failure> {
        let id = &connection.id;
        let setting = self.setting;
        let written = connection.fields.get("mappings");
        let written = written.and_then(|found| found.get(setting)?.as_object());
        let mut mappings = Vec::new();
        for (part, warehouse) in written.into_iter().flatten() {
            let Some(warehouse) = warehouse.as_str().filter(|_| is_read(part)) else {
                continue;
            };
            let mut known = context.config.warehouses();
            if !known.any(|found| found.id.as_str() == warehouse) {
                return Err(Failure::new(
                    Code::NotAWarehouse,
                    format!(
                        "`connections.{id}.mappings.{setting}.{part}`: there is no warehouse `{warehouse}`"
                    ),
                )
                .hint("`ktx connection list` shows the connections"));
            }
            mappings.push((part.clone(), warehouse.to_owned()));
        }
        Ok(mappings)
    }

    pub(crate) fn check_target<'w>(
        &self,
        connection: &Connection,
        target: Option<&str>,
        mut mapped: impl Iterator<Item = &'w String>,
    ) -> Result<(), Failure> {
        let Some(target) = target else {
            return Ok(());
        };
        if mapped.any(|warehouse| warehouse == target) {
            return Ok(());
        }
        let id = &connection.id;
        Err(Failure::new(
            Code::NotMapped,
            format!("`{id}` maps no {} to `{target}`", self.part),
        )
        .hint(format!(
            "look at `connections.{id}.mappings.{}`",
            self.setting
        )))
    }
}

pub(crate) fn mapping_setting<'a>(connection: &'a Connection, path: &[&str]) -> Option<&'a Value> {
    let mut value = connection.fields.get("mappings")?;
    for key in path {
        value = value.get(key)?;
    }
    Some(value)
}

pub(crate) fn unread_files(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let left_out = snapshot.left_out.iter();
    left_out.map(|file| format!("`{}` was not read: {}", file.path, file.reason))
}
