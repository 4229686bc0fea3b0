//! `ktx sql`.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use ktx_config::Connection;
use ktx_context_tools::{SqlAnswer, SqlRequest, execute_sql, warehouse_of_sql};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_read_only_sql::{AllowedFunctions, ReadOnlySql, Refusal};
use ktx_sql::Dialect;
use ktx_tool_descriptors::CallContext;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{Caps, QueryResult};
use serde::Serialize;
use serde_json::Value;

use crate::cli::{OutputArgs, OutputFormat, SqlArgs, SqlFormat};
use crate::compose;
use crate::context;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::{aligned, csv, tsv};

const MOST_ROWS: usize = 10_000;

/// Bytes read from stdin: the gate's limit.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) fn run(args: &SqlArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&output(args))?;
    let sql = statement(args)?;
    let sql = sql.trim();
    if args.check {
        return check(args, sql, invocation, &printer);
    }
    if sql.is_empty() {
        return Err(Failure::new(Code::Usage, "no statement")
            .hint("give one statement, such as `ktx sql \"select 1\"`"));
    }
    let project = open_project(invocation, &printer)?;
    let id = connection_id(args)?;
    let context = context::open(invocation, &project)?;
    let (choice, answer) = compose::block_on(|cancel| async {
        let mut call = CallContext::detached("cli");
        call.cancel = cancel;
        let (connection, choice) = warehouse_of_sql(context.as_ref(), id, sql).await?;
        if let Some(choice) = &choice
            && printer.mode != Mode::Json
        {
            printer.note(&format!("note: {choice}"));
        }
        let request = SqlRequest {
            connection: Some(connection.id.to_string()),
            sql: sql.to_owned(),
            max_rows: usize::try_from(args.max_rows).ok(),
            timeout: Some(Duration::from_secs(args.timeout)),
        };
        let answer = execute_sql(context.as_ref(), &request, &call).await;
        Ok((choice, answer.map_err(with_next_step)?))
    })?;
    if printer.mode == Mode::Json {
        printer.json(&SqlReport::new(&answer, choice))?;
        return Ok(Exit::Success);
    }
    print(&answer.result, args.output, &printer)?;
    for note in &answer.notes {
        printer.note(&format!("note: {note}"));
    }
    if answer.result.truncated {
        printer.note(&cut_off(answer.result.rows.len(), &answer.caps));
    }
    Ok(Exit::Success)
}

fn connection_id(args: &SqlArgs) -> Outcome<Option<&str>> {
    let id = args.connection.as_deref();
    id.map(ConnectionId::parse).transpose()?;
    Ok(id)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SqlReport {
    connection_id: String,
    headers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header_types: Option<Vec<String>>,
    row_count: usize,
    rows: Vec<Vec<Value>>,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl SqlReport {
    fn new(answer: &SqlAnswer, choice: Option<String>) -> Self {
        let wire = answer.to_wire();
        Self {
            connection_id: answer.connection.id.to_string(),
            headers: wire.headers,
            header_types: wire.header_types,
            row_count: wire.row_count,
            rows: wire.rows,
            truncated: wire.truncated,
            notes: choice.into_iter().chain(wire.notes).collect(),
        }
    }
}

fn allowed_functions(connection: &Connection) -> AllowedFunctions {
    AllowedFunctions::new(connection.texts(&["allowed_functions"]))
}

/// `-` means stdin.
fn statement(args: &SqlArgs) -> Outcome<String> {
    if args.sql != ["-"] {
        return Ok(args.sql.join(" "));
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Failure::from_error(Code::Input, &error).context("stdin cannot be read")
        })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::new(
            Code::Usage,
            format!(
                "the statement on stdin is longer than {} MiB",
                MOST_BYTES >> 20
            ),
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            Code::Usage,
            format!("the statement on stdin is not UTF-8 at byte {at}"),
        )
    })?;
    if text.trim().is_empty() {
        return Err(Failure::new(Code::Usage, "no statement on stdin")
            .hint("pipe one, such as `echo 'select 1' | ktx sql -`"));
    }
    Ok(text)
}

fn cut_off(rows: usize, caps: &Caps) -> String {
    if rows < caps.rows {
        let most = caps.bytes >> 20;
        return format!(
            "only the first {rows} rows; there are more, but an answer ends at {most} MiB \
             (select fewer columns, or only a part of the long ones)"
        );
    }
    let help = if caps.rows < MOST_ROWS {
        "raise --max-rows"
    } else {
        "aggregate, or narrow the statement with filters"
    };
    format!("only the first {rows} rows; there are more ({help})")
}

/// Adds a next step if the server names none.
fn with_next_step(failure: Failure) -> Failure {
    let step = match failure.code {
        _ if !failure.hints.is_empty() => return failure,
        Code::QueryFailed | Code::ConnectionNotFound => {
            "correct the statement; `ktx sl` shows what has been scanned"
        }
        Code::QueryTimeout => "narrow the statement with filters, or raise --timeout",
        Code::QueryLimit => "narrow the statement with filters, or select fewer columns",
        Code::ConnectionPermission => {
            "grant the right to the connection's login, or use another one"
        }
        _ => return failure,
    };
    failure.hint(step)
}

fn output(args: &SqlArgs) -> OutputArgs {
    let output = args.output.map(|format| match format {
        SqlFormat::Json => OutputFormat::Json,
        SqlFormat::Pretty | SqlFormat::Table => OutputFormat::Pretty,
        SqlFormat::Plain | SqlFormat::Tsv | SqlFormat::Csv => OutputFormat::Plain,
    });
    OutputArgs {
        output,
        json: args.json,
    }
}

fn print(result: &QueryResult, format: Option<SqlFormat>, printer: &Printer) -> Outcome<()> {
    let headers: Vec<String> = result
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let rows: Vec<Vec<Option<String>>> = result
        .rows
        .iter()
        .map(|row| row.iter().map(ktx_warehouse::Cell::to_text).collect())
        .collect();
    if format == Some(SqlFormat::Csv) {
        return printer.out(&csv(&headers, &rows));
    }
    if printer.mode == Mode::Plain {
        return printer.out(&tsv(&headers, &rows));
    }
    printer.out(&aligned(&headers, &rows))?;
    let count = rows.len();
    printer.line(&format!("{count} row{}", if count == 1 { "" } else { "s" }))
}

/// Judges JSON lines from stdin without a statement.
fn check(args: &SqlArgs, sql: &str, invocation: &Invocation, printer: &Printer) -> Outcome {
    if sql.is_empty() {
        if std::io::stdin().is_terminal() {
            return Err(Failure::new(Code::Usage, "no statement to check")
                .hint("give one, or pipe JSON lines `{\"id\",\"dialect\",\"sql\"}` to stdin"));
        }
        let usual = args.dialect.as_deref().map(parse_dialect).transpose()?;
        return check_lines(usual);
    }
    let (dialect, allowed) = if let Some(name) = &args.dialect {
        (parse_dialect(name)?, AllowedFunctions::default())
    } else {
        let project = open_project(invocation, printer)?;
        let id = connection_id(args)?;
        let context = context::open(invocation, &project)?;
        let (connection, _) =
            compose::block_on(|_| async { warehouse_of_sql(context.as_ref(), id, sql).await })?;
        let dialect = compose::connector(invocation, &project.dir, &connection)?.dialect();
        (dialect, allowed_functions(&connection))
    };
    let verdict = ktx_read_only_sql::check_allowing(sql, dialect, &allowed).map_err(without_probe);
    if printer.mode == Mode::Json {
        printer.json(&StatementVerdict::new(&verdict))?;
    } else {
        match &verdict {
            Ok(statement) => printer.line(&format!("allowed: {}", statement.as_str()))?,
            Err(refusal) => {
                printer.line(&format!("refused ({}): {}", refusal.code, refusal.reason))?;
                if let Some(permission) = refusal.permission() {
                    printer.line(&format!("hint: {permission}"))?;
                }
            }
        }
    }
    Ok(if verdict.is_ok() {
        Exit::Success
    } else {
        Exit::Refused
    })
}

#[derive(Debug, Serialize)]
struct StatementVerdict<'a> {
    allowed: bool,
    code: Option<Code>,
    reason: Option<&'a str>,
    statement: Option<&'a str>,
}

impl<'a> StatementVerdict<'a> {
    fn new(verdict: &'a Result<ReadOnlySql, Refusal>) -> Self {
        match verdict {
            Ok(statement) => Self {
                allowed: true,
                code: None,
                reason: None,
                statement: Some(statement.as_str()),
            },
            Err(refusal) => Self {
                allowed: false,
                code: Some(refusal.code),
                reason: Some(&refusal.reason),
                statement: None,
            },
        }
    }
}

/// Notes that no warehouse was asked about the unknown function.
fn without_probe(refusal: Refusal) -> Refusal {
    if refusal.unknown_functions.is_empty() {
        return refusal;
    }
    Refusal {
        reason: format!("{}; `--check` asks no warehouse about it", refusal.reason),
        ..refusal
    }
}

fn parse_dialect(name: &str) -> Outcome<Dialect> {
    Dialect::parse(name).ok_or_else(|| {
        let names = Dialect::ALL.map(Dialect::name);
        Failure::new(Code::UnknownDialect, format!("unknown dialect `{name}`"))
            .hint(format!("use one of {}", names.join(", ")))
    })
}

/// `usual` is the dialect of lines without one.
fn check_lines(usual: Option<Dialect>) -> Outcome {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| {
            Failure::from_error(Code::Input, &error).context("stdin cannot be read")
        })?;
        if !line.trim().is_empty() {
            crate::printer::stdout(&format!(
                "{}\n",
                ktx_read_only_sql::wire::verdict_line(&line, usual)
            ))?;
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests;
