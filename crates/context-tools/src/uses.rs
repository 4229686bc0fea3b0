//! What can be asked of a project, for the tools and the command line.

mod connections;
mod corrected;
mod crowded;
mod dictionary;
mod discover;
mod entities;
mod multiplied;
mod query;
mod reshaped;
mod sources;
mod sql;
mod sql_names;
mod suggested;
mod tables;
mod unknown_values;
mod waiting;
mod wiki;

pub use connections::list_connections;
pub use dictionary::dictionary_search;
pub use discover::discover;
pub use entities::entity_details;
pub use query::{Execution, QueryAnswer, QueryRequest, query, query_of};
pub use sources::{list_measures, list_sources, read_source, search_sources};
pub(crate) use sql::has_tables;
pub use sql::{SqlAnswer, SqlRequest, execute_sql, warehouse_of_sql};
pub use suggested::source_facts;
pub use tables::{TableSummary, list_tables};
pub use waiting::with_waiting_joins;
pub use wiki::{Lanes, list_wiki, read_wiki, search_wiki, wiki_page};

pub(crate) const MAX_HITS: usize = 50;

pub(crate) const DEFAULT_HITS: usize = 10;

fn shown_confidence(confidence: ktx_search::Confidence) -> Option<String> {
    (confidence == ktx_search::Confidence::Weak).then(|| confidence.as_str().to_owned())
}

fn hits(limit: Option<usize>) -> usize {
    limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS)
}
