//! The table of context source kinds.

use ktx_config::Connection;

use crate::looker::Looker;
use crate::metabase::Metabase;
use crate::notion::Notion;
use crate::repository::Repository;
use crate::snapshot::FolderKind;
use crate::source::ContextSource;

pub const KINDS: [&dyn ContextSource; 7] = [
    &Repository(FolderKind::Dbt),
    &Repository(FolderKind::MetricFlow),
    &Repository(FolderKind::LookMl),
    &Repository(FolderKind::Cube),
    &Looker,
    &Metabase,
    &Notion,
];

pub fn kind_of(connection: &Connection) -> Option<&'static dyn ContextSource> {
    let mut kinds = KINDS.into_iter();
    kinds.find(|kind| kind.kind().driver == connection.driver)
}

#[cfg(test)]
mod tests;
