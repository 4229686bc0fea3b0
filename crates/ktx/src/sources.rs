//! Reads and tests context sources.

use std::collections::BTreeSet;
use std::time::Instant;

use futures_util::FutureExt as _;
use ktx_config::Connection;
use ktx_context_sources::{Access, ContextSource, ReadRequest, Source, SourceContext, kind_of};
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::known_files;
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{ConnectionCheck, RoleCheck};
use tokio_util::future::FutureExt as _;

use crate::compose;
use crate::connections::warehouse_with_dialect;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::printer::Mode;
use crate::report::Outcome;
use crate::scanning::state_failure;

/// Reads a source per warehouse, without a model. `target` is the named warehouse.
pub(crate) fn read(
    connection: &Connection,
    target: Option<&str>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Vec<Source>> {
    let kind = require_kind(connection)?;
    let earlier = match kind.kind().access {
        Access::Files => BTreeSet::new(),
        Access::Server => earlier(connection, project)?,
    };
    let notify = |line: &str| {
        if printer.mode != Mode::Json {
            printer.note(line);
        }
    };
    let read = |context: SourceContext<'_>| {
        let request = ReadRequest {
            context,
            target,
            earlier: &earlier,
            now: invocation.now,
            notify: &notify,
        };
        finished(kind, kind.read(connection, request))
    };
    with_context(invocation, project, read)
}

pub(crate) fn tested(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ConnectionCheck> {
    let kind = require_kind(connection)?;
    let begun = Instant::now();
    let summarize =
        |context: SourceContext<'_>| finished(kind, kind.summarize(connection, context));
    Ok(ConnectionCheck {
        server: with_context(invocation, project, summarize)?,
        latency: begun.elapsed(),
        role: match kind.kind().access {
            Access::Files => RoleCheck::ReadOnly,
            Access::Server => RoleCheck::Unknown {
                reason: "the server does not report what the key may do; ktx only reads".to_owned(),
            },
        },
    })
}

fn require_kind(connection: &Connection) -> Outcome<&'static dyn ContextSource> {
    kind_of(connection).ok_or_else(|| {
        Failure::internal(format!(
            "`{}` is a {} connection, which is not a context source",
            connection.id, connection.driver
        ))
    })
}

fn with_context<T>(
    invocation: &Invocation,
    project: &OpenProject,
    work: impl FnOnce(SourceContext<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let secrets = invocation.secrets(&project.dir);
    let warehouse = |id: &str| -> Outcome<(ConnectionId, Dialect)> {
        warehouse_with_dialect(&project.config, id)
    };
    work(SourceContext {
        config: &project.config,
        store: &project.store,
        secrets: &secrets,
        warehouse: &warehouse,
    })
}

fn finished<T>(kind: &dyn ContextSource, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let waits = || Failure::internal("a folder of files waits for a server".to_owned());
    match kind.kind().access {
        // No runtime, so that Ctrl-C ends the program during slow git and disk calls.
        Access::Files => work.now_or_never().unwrap_or_else(|| Err(waits())),
        Access::Server => compose::block_on(|cancel| async move {
            let done = work.with_cancellation_token(&cancel).await;
            done.unwrap_or_else(|| Err(Failure::new(Code::Cancelled, "cancelled")))
        }),
    }
}

fn earlier(connection: &Connection, project: &OpenProject) -> Outcome<BTreeSet<String>> {
    let state = project.store.state();
    let state = state.map_err(|error| state_failure(&error))?;
    known_files(&state, &connection.id).map_err(|error| state_failure(&error))
}
