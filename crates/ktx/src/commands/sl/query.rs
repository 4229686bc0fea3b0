//! `ktx sl query`.

use ktx_context_tools::{Execution, QueryAnswer, QueryRequest, query, with_waiting_joins};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_semantic_layer::{
    Across, Direction, EmptyMembers, MissingPeriods, Others, Query, QueryError, QueryWords, Totals,
};
use ktx_tool_descriptors::CallContext;
use ktx_warehouse::Cell;
use serde_json::{Value, json};

use crate::cli::{QueryAcross, QueryFormat, SlArgs, SlQueryArgs};
use crate::compose;
use crate::context;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::shell::quoted;
use crate::tables::{aligned, csv};

pub(crate) fn run(
    parent: &SlArgs,
    args: &SlQueryArgs,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let asked = asked(parent, args)?;
    let project = open_project(invocation, printer)?;
    let context = context::open(invocation, &project)?;
    let execution = if args.execute {
        Execution::Run {
            max_rows: args.max_rows.and_then(|rows| usize::try_from(rows).ok()),
        }
    } else {
        Execution::CompileOnly
    };
    let request = QueryRequest {
        connection: parent.connection_id.clone(),
        query: asked,
        execution,
    };
    let answer = compose::block_on(|cancel| async {
        let mut call = CallContext::detached("cli");
        call.cancel = cancel;
        match query(context.as_ref(), &request, &call).await {
            Ok(answer) => Ok(answer),
            Err(failure) => {
                let failure = with_commands(failure, parent, args);
                let connection = parent.connection_id.as_deref();
                let asked = &request.query;
                Err(with_waiting_joins(context.as_ref(), connection, asked, failure).await)
            }
        }
    })?;
    print(&answer, args, printer)?;
    Ok(Exit::Success)
}

fn with_commands(mut failure: Failure, parent: &SlArgs, args: &SlQueryArgs) -> Failure {
    let requests = failure.detail.requests.iter();
    let commands: Vec<String> = requests
        .filter_map(|request| Some(command_line(&Query::from_json(request).ok()?, parent, args)))
        .collect();
    for command in commands {
        failure = failure.hint(format!("run `{command}`"));
    }
    failure
}

/// Queries with named measures use stdin.
fn command_line(query: &Query, parent: &SlArgs, args: &SlQueryArgs) -> String {
    let mut words = vec!["ktx".to_owned(), "sl".to_owned(), "query".to_owned()];
    let mut add = |flag: &str, value: &str| words.extend([flag.to_owned(), quoted(value)]);
    if let Some(connection) = &parent.connection_id {
        add("--connection-id", connection);
    }
    let is_named = query.measures.iter().any(|measure| measure.name.is_some());
    if !is_named {
        for measure in &query.measures {
            add("--measure", &measure.text());
        }
        for dimension in &query.dimensions {
            add("--dimension", &dimension.text());
        }
        for filter in &query.filters {
            add("--filter", filter);
        }
        for segment in &query.segments {
            add("--segment", segment);
        }
        for order in &query.order_by {
            match order.direction {
                Direction::Ascending => add("--order-by", &order.field),
                Direction::Descending => add("--order-by", &format!("{}:desc", order.field)),
            }
        }
        if let Some(limit) = query.limit {
            add("--limit", &limit.to_string());
        }
        for dimension in &query.limit_per {
            add("--limit-per", dimension);
        }
        match query.empty_members {
            EmptyMembers::UnlessRanked => {}
            EmptyMembers::Include => add("--include-empty", "true"),
            EmptyMembers::Exclude => add("--include-empty", "false"),
        }
        match query.across {
            Across::Counts => {}
            Across::CountEach => add("--across", "count_each"),
            Across::Allocate => add("--across", "allocate"),
        }
        if let Some(weight) = &query.weight {
            add("--weight", weight);
        }
        if query.missing_periods == MissingPeriods::Fill {
            words.push("--fill".to_owned());
        }
        if query.totals == Totals::Include {
            words.push("--totals".to_owned());
        }
        if query.others == Others::OneRow {
            words.push("--others".to_owned());
        }
    }
    if args.execute {
        words.push("--execute".to_owned());
    }
    let line = words.join(" ");
    if is_named {
        format!(
            "echo {} | {line} --query-file -",
            quoted(&query.to_value().to_string())
        )
    } else {
        line
    }
}

fn asked(parent: &SlArgs, args: &SlQueryArgs) -> Outcome<Query> {
    let wrong = |error: QueryError| Failure::from(error);
    let mut query = match &args.query_file {
        Some(file) => {
            let text = if file.as_os_str() == "-" {
                std::io::read_to_string(std::io::stdin())
            } else {
                std::fs::read_to_string(file)
            };
            let text = text.map_err(|error| {
                Failure::from_error(Code::QueryFile, &error).context(format!(
                    "the query file `{}` cannot be read",
                    file.display()
                ))
            })?;
            Query::from_json(&text).map_err(wrong)?
        }
        None => Query::from_words(QueryWords {
            measures: args.measure.clone(),
            dimensions: args.dimension.clone(),
            filters: args.filter.clone(),
            segments: args.segment.clone(),
            order_by: args.order_by.clone(),
            limit: None,
            empty_members: EmptyMembers::default(),
            missing_periods: MissingPeriods::LeaveOut,
            across: Across::default(),
        })
        .map_err(wrong)?,
    };
    if parent.limit.is_some() {
        query.limit = parent.limit;
    }
    if !args.limit_per.is_empty() {
        query.limit_per.clone_from(&args.limit_per);
    }
    if args.fill {
        query.missing_periods = MissingPeriods::Fill;
    }
    if args.totals {
        query.totals = Totals::Include;
    }
    if args.others {
        query.others = Others::OneRow;
    }
    match args.across {
        Some(QueryAcross::CountEach) => query.across = Across::CountEach,
        Some(QueryAcross::Allocate) => query.across = Across::Allocate,
        None => {}
    }
    if args.weight.is_some() {
        query.weight.clone_from(&args.weight);
    }
    match args.include_empty {
        Some(true) => query.empty_members = EmptyMembers::Include,
        Some(false) => query.empty_members = EmptyMembers::Exclude,
        None => {}
    }
    Ok(query)
}

fn print(answer: &QueryAnswer, args: &SlQueryArgs, printer: &Printer) -> Outcome<()> {
    let format = match args.format {
        _ if printer.mode == Mode::Json => QueryFormat::Json,
        Some(format) => format,
        None if printer.mode == Mode::Pretty && answer.result.is_some() => QueryFormat::Table,
        None if printer.mode == Mode::Pretty => QueryFormat::Sql,
        None => QueryFormat::Json,
    };
    if args.explain {
        return if printer.mode == Mode::Json {
            printer.json(&answer.plan())
        } else {
            printer.out(&ktx_semantic_layer::explain(&answer.compiled))
        };
    }
    match format {
        QueryFormat::Json => return printer.json(&to_json(answer)),
        QueryFormat::Sql => {
            printer.out(&format!("{}\n", answer.compiled.sql))?;
            if answer.result.is_some() {
                printer.line("")?;
                table(answer, printer)?;
            }
        }
        QueryFormat::Table => {
            require_rows(answer)?;
            table(answer, printer)?;
        }
        QueryFormat::Csv => {
            require_rows(answer)?;
            printer.out(&csv(&answer.headers(), &rows(answer)))?;
        }
    }
    for note in &answer.notes {
        printer.note(&format!("note: {note}"));
    }
    if let Some(result) = &answer.result
        && answer.is_truncated()
    {
        printer.note(&format!(
            "only the first {} rows; there are more",
            result.rows.len()
        ));
    }
    Ok(())
}

fn require_rows(answer: &QueryAnswer) -> Outcome<()> {
    if answer.result.is_some() {
        return Ok(());
    }
    let reason = answer.execution["reason"]
        .as_str()
        .unwrap_or("the query was not run");
    Err(
        Failure::new(Code::NotExecuted, format!("there are no rows: {reason}"))
            .hint("add `--execute`, or use `--format sql`"),
    )
}

fn rows(answer: &QueryAnswer) -> Vec<Vec<Option<String>>> {
    let rows = answer.result.iter().flat_map(|result| &result.rows);
    rows.map(|row| row.iter().map(Cell::to_text).collect())
        .collect()
}

fn table(answer: &QueryAnswer, printer: &Printer) -> Outcome<()> {
    printer.out(&aligned(&answer.headers(), &rows(answer)))
}

/// The format of KTX 0.12 with notes and truncation flag.
fn to_json(answer: &QueryAnswer) -> Value {
    let rows: Vec<Vec<Value>> = answer
        .result
        .iter()
        .flat_map(|result| &result.rows)
        .map(|row| row.iter().map(Cell::to_json).collect())
        .collect();
    json!({
        "connectionId": answer.connection.id.as_str(),
        "dialect": answer.dialect.name(),
        "sql": answer.compiled.sql,
        "headers": answer.headers(),
        "totalRows": rows.len(),
        "rows": rows,
        "truncated": answer.result.as_ref().is_some_and(|result| result.truncated),
        "notes": answer.notes,
        "plan": answer.plan(),
    })
}
