//! The tools that agents call.
//!
//! Three layers: the port [`ProjectContext`] through which a project is seen, with [`FileContext`]
//! that reads a project folder; the uses (`list_sources`, `discover`, `query` …), plain functions
//! shared with the command line; and the tools, thin wrappers with names and schemas. This crate must
//! never know who runs the loop.

mod choice;
mod context;
mod documents;
mod failure;
mod files;
mod limits;
mod reader;
mod scans;
mod tools;
mod uses;
pub mod wire;

pub use context::{
    AuditEntry, AuditOutcome, ProjectContext, Runner, connection_of, find_warehouse, warehouse_of,
    warehouses_of,
};
pub use failure::unknown_connection;
pub use files::{
    AuditSink, FileContext, FileContextParts, IndexPlace, IndexScope, NoAudit, Reindexed,
    ReindexedScope, Reindexing, Warehouses,
};
pub use limits::{LONGEST_QUERY, LONGEST_TEXT};
pub use reader::Reader;
pub use scans::{
    LeftOutSchema, Profile, ProfiledColumn, RowsRead, ScanFiles, ScanSnapshot, ScannedForeignKey,
    ScannedTable, ValueRange, read_snapshot,
};
pub use tools::{
    ToolProfile, context_tools, listed_in_core, tool_catalogue, tool_catalogue_markdown,
};
pub use uses::{
    Execution, Lanes, QueryAnswer, QueryRequest, SqlAnswer, SqlRequest, dictionary_search,
    discover, entity_details, execute_sql, list_connections, list_sources, list_wiki, query,
    query_of, read_source, read_wiki, search_sources, search_wiki, source_facts, warehouse_of_sql,
    wiki_page, with_waiting_joins,
};
