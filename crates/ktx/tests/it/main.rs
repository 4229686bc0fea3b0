//! Tests the program from outside: commands, exit codes, stdout, stderr.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that fails fails its test"
)]
#![expect(clippy::too_many_lines, reason = "whole outputs stand in the tests")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests make files, start programs and look at the machine"
)]

#[macro_use]
mod support;

mod addresses;
mod adjudication;
mod admin;
mod agent;
mod agent_ablation;
mod agent_asks;
mod agent_cases;
mod agent_context;
mod agent_crashes;
mod agent_crowd;
mod agent_files;
mod agent_keys;
mod agent_kills;
mod agent_layer;
mod agent_reliability;
mod agent_schedule;
mod agent_sentences;
mod agent_serve;
mod agent_serve_life;
mod agent_servers;
mod agent_tasks;
mod agent_test_keys;
mod agent_test_runs;
mod agent_tests;
mod agent_tools;
mod agent_workspace;
mod approvals;
mod audit;
mod backends;
mod bad_input;
mod bounds;
mod caching;
mod chat;
mod chat_terminal;
mod claude;
mod claude_budgets;
mod claude_cut_off;
mod claude_docs;
mod claude_isolation;
mod claude_ledger;
mod claude_pauses;
mod compat;
mod completion;
mod conformance;
mod connection;
mod connection_edit;
mod continued;
mod custom_tools;
mod demo;
mod demo_again;
mod drift;
mod examples;
mod full_disk;
mod generated;
mod http_bill;
mod http_budget;
mod http_limits;
mod imports;
mod imports_bi;
mod imports_joins;
mod imports_metabase;
mod imports_troubles;
mod interrupts;
mod kept_back;
mod kill;
mod live_warehouse;
mod llm_ask;
mod looker;
mod machine;
mod mcp;
mod meaning;
mod metabase;
mod not_found;
mod notes;
mod notion;
mod notion_continued;
mod notion_troubles;
mod ordinary_questions;
mod probes;
mod query_history;
mod real_claude;
mod report;
mod review;
mod runs;
mod same_text;
mod scan;
mod scan_review;
mod scan_stopped;
mod sessions;
mod sessions_moved;
mod setup;
mod setup_sources;
mod sl;
mod sl_diff;
mod sl_fmt;
mod sl_interchange;
mod sl_listing;
mod sl_live;
mod sl_numbers;
mod sl_paths;
mod sl_query;
mod sl_query_answers;
mod sl_suggest;
mod sl_usage;
mod sources;
mod sources_joins;
mod sources_models;
mod sources_remote;
mod sources_troubles;
mod sql;
mod status;
mod sync;
mod traces;
mod two_people;
mod unit_ledger;
mod usage;
mod verdicts;
mod waiting;
mod why;
mod wiki;
