//! `ktx report`.

use ktx_context_tools::{Execution, QueryRequest, query, query_of};
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_tool_descriptors::CallContext;
use serde_json::json;

use crate::cli::ReportArgs;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};
use crate::{compose, context};

pub(crate) fn run(args: &ReportArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let path = invocation.current.join(&args.file);
    if path.exists() && !args.force {
        let message = format!("`{}` is there already", args.file.display());
        return Err(Failure::new(Code::Usage, message)
            .hint("name another file with `--file`, or replace it with `--force`"));
    }
    let project = open_project(invocation, &printer)?;
    let context = context::open(invocation, &project)?;
    let input = json!({
        "connectionId": args.connection_id, "measures": args.measure, "dimensions": args.dimension,
        "filters": args.filter, "segments": args.segment, "order_by": args.order_by, "limit": args.limit,
    });
    let input = serde_json::from_value(input)
        .map_err(|error| Failure::new(Code::Usage, error.to_string()))?;
    let request = QueryRequest {
        query: query_of(&input)?,
        connection: args.connection_id.clone(),
        execution: Execution::Run { max_rows: None },
    };
    let answer = compose::block_on(|cancel| async {
        let mut call = CallContext::detached("cli");
        call.cancel = cancel;
        query(context.as_ref(), &request, &call).await
    })?;
    if answer.result.is_none() {
        let reason = answer.notes.first().cloned().unwrap_or_default();
        return Err(Failure::new(Code::NotExecutable, reason));
    }
    let wire = answer.to_wire(&[]);
    let mut plan = answer.plan();
    // Removes SQL: the page shows only columns and joins.
    if let Some(plan) = plan.as_object_mut() {
        plan.retain(|key, _| key == "columns" || key == "joins");
    }
    let data = json!({
        "title": args.title, "headers": wire.headers, "rows": wire.rows, "truncated": answer.is_truncated(),
        "notes": wire.notes, "plan": plan,
    });
    let page = ktx_mcp_server::report_page(&data);
    ktx_project_store::write_atomically(&path, page.as_bytes()).map_err(|error| {
        Failure::from_error(Code::Usage, &error)
            .context(format!("`{}` cannot be written", args.file.display()))
    })?;
    let rows = wire.rows.len();
    if printer.mode == Mode::Json {
        let file = path.display().to_string();
        printer.json(&json!({ "kind": "report", "data": { "file": file, "rows": rows }, "meta": { "command": "report" } }))?;
    } else {
        printer.line(&format!(
            "{} in {}",
            counted(rows, "row"),
            args.file.display()
        ))?;
    }
    Ok(Exit::Success)
}
