//! `ktx admin reindex`.

use std::time::Instant;

use ktx_context_tools::{IndexScope, Reindexed, ReindexedScope, Reindexing};
use ktx_diagnostics::Exit;
use serde_json::{Value, json};

use crate::cli::OutputArgs;
use crate::compose;
use crate::context;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::Mode;
use crate::report::Outcome;

pub(crate) fn run(reindexing: Reindexing, output: &OutputArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(output)?;
    let project = open_project(invocation, &printer)?;
    let files = context::files(invocation, &project)?;
    let began = Instant::now();
    let done = compose::block_on(|_| async move { files.reindex(reindexing).await })?;
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if printer.mode == Mode::Json {
        printer.json(&to_json(&done, reindexing, took))?;
        return Ok(exit(&done));
    }
    for scope in &done.scopes {
        printer.line(&format!(
            "{}\tscanned={}\tupdated={}\tdeleted={}",
            label(&scope.scope),
            scope.scanned,
            scope.updated,
            scope.deleted
        ))?;
    }
    if done.scopes.is_empty() {
        printer.note("nothing to index: no wiki pages, no sources, no scans");
    }
    if let Some(count) = done.embedded.filter(|count| *count > 0) {
        printer.line(&format!("vectors\tembedded={count}"))?;
    }
    if done.place.is_none() {
        printer.note(
            "warning: the index cannot be kept in `.ktx/state/`; every search reads all files",
        );
    }
    for warning in &done.warnings {
        printer.note(&format!("warning: {warning}"));
    }
    Ok(exit(&done))
}

/// An unreadable file is missing from the index or keeps its old entry.
fn exit(done: &Reindexed) -> Exit {
    if done.warnings.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    }
}

fn label(scope: &IndexScope) -> String {
    match scope {
        IndexScope::GlobalPages => "wiki global".to_owned(),
        IndexScope::UserPages(user) => format!("wiki user {user}"),
        IndexScope::Connection(id) => format!("sl {id}"),
    }
}

/// The format of KTX 0.12, with embeddings in one total.
fn to_json(done: &Reindexed, reindexing: Reindexing, took: u64) -> Value {
    let sum = |part: fn(&ReindexedScope) -> usize| done.scopes.iter().map(part).sum::<usize>();
    let mut answer = json!({
        "kind": "reindex",
        "data": {
            "scopes": done.scopes.iter().map(item).collect::<Vec<_>>(),
            "totals": {
                "scanned": sum(|scope| scope.scanned),
                "updated": sum(|scope| scope.updated),
                "deleted": sum(|scope| scope.deleted),
                "embeddingsRecomputed": done.embedded.unwrap_or_default(),
                "embeddingsFailed": 0,
            },
            "dbPath": done.place.as_ref().map(|place| place.display().to_string()),
            "force": reindexing == Reindexing::Everything,
            "embeddingsAvailable": done.embedded.is_some(),
            "durationMs": took,
        },
        "meta": { "command": "admin reindex" },
    });
    if let Some(Value::Object(meta)) = answer.get_mut("meta")
        && !done.warnings.is_empty()
    {
        meta.insert("warnings".to_owned(), json!(done.warnings));
    }
    answer
}

fn item(scope: &ReindexedScope) -> Value {
    let mut item = match &scope.scope {
        IndexScope::GlobalPages => json!({ "kind": "wiki", "scope": "GLOBAL" }),
        IndexScope::UserPages(user) => {
            json!({ "kind": "wiki", "scope": "USER", "scopeId": user })
        }
        IndexScope::Connection(id) => json!({ "kind": "sl", "connectionId": id }),
    };
    let rest = json!({
        "label": label(&scope.scope),
        "scanned": scope.scanned,
        "updated": scope.updated,
        "deleted": scope.deleted,
        "embeddingsRecomputed": 0,
        "embeddingsFailed": 0,
    });
    if let (Value::Object(item), Value::Object(rest)) = (&mut item, rest) {
        item.extend(rest);
    }
    item
}
