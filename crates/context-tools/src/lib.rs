//! The tools that agents call.
//!
//! The port [`ProjectContext`] with its [`FileContext`]; the uses (`list_sources`, `discover`,
//! `query` …), shared with the command line; and thin tools over them. This crate must never know
//! who runs the loop.

mod choice;
mod context;
mod custom;
mod document_search;
mod documents;
mod drift;
mod embedding;
mod failure;
mod files;
mod layers;
mod limits;
mod policy;
mod reader;
mod reloaded;
mod review;
mod scans;
mod state;
mod tools;
mod uses;
pub mod wire;

pub use context::{
    AuditEntry, AuditOutcome, Need, ProjectContext, Runner, connection_of, find_warehouse,
    warehouse_of, warehouses_of,
};
pub use custom::{
    Body, CustomTool, Parameter, ParameterKind, check_tool, custom_tools, parse_tool,
};
pub use document_search::{
    Division, DocumentFolder, DocumentLane, DocumentVectors, IgnoredFiles, LaneWeights,
    document_search,
};
pub use drift::{Drift, DriftClass, DriftConnection, DriftFinding, DriftRole, find_drift};
pub use failure::unknown_connection;
pub use files::{
    AuditSink, FileContext, FileContextParts, IndexPlace, IndexScope, NoAudit, Reindexed,
    ReindexedScope, Reindexing, Warehouses,
};
pub use layers::{LayerPart, WithheldParts};
pub use limits::{LONGEST_QUERY, LONGEST_TEXT};
pub use policy::{ClientPolicy, PolicyProblem, policy_problems};
pub use reader::Reader;
pub use reloaded::{Offered, ReloadedContext};
pub use review::{
    DecidedProposal, Decision, ProposalDetail, ProposalSummary, ProposedChange, REVIEW_DECIDE,
    REVIEW_PROPOSALS, ReviewDesk, review_tools,
};
pub use scans::{
    LeftOutSchema, Profile, ProfiledColumn, RowsRead, ScanFiles, ScanSnapshot, ScannedForeignKey,
    ScannedTable, ValueCounts, ValueRange, read_snapshot,
};
pub use state::{ProjectFile, ProjectState, Stamp};
pub use tools::{
    ResultWatcher, ToolProfile, WatchedCall, context_tools, is_own_tool, listed_in_core,
    tool_catalogue, tool_catalogue_markdown, watched_tools,
};
pub use uses::{
    Execution, Lanes, QueryAnswer, QueryRequest, SqlAnswer, SqlRequest, TableSummary,
    dictionary_search, discover, entity_details, execute_sql, list_connections, list_measures,
    list_sources, list_tables, list_wiki, query, query_of, read_source, read_wiki, search_sources,
    search_wiki, source_facts, warehouse_of_sql, wiki_page, with_waiting_joins,
};
