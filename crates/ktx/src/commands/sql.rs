//! `ktx sql`: runs or judges one read-only statement.

use ktx_diagnostics::{Code, Exit, Failure};
use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use ktx_config::Connection;
use ktx_context_tools::{AuditEntry, AuditOutcome, AuditSink as _, cut_note, warehouse_of_sql};
use ktx_read_only_sql::{AllowedFunctions, Refusal};
use ktx_sql::Dialect;
use ktx_warehouse::{AdmissionError, Caps, ErrorKind, QueryResult, WarehouseError, admit, collect};
use serde_json::{Value, json};

use crate::audit::AuditLog;
use crate::cli::{OutputArgs, OutputFormat, SqlArgs, SqlFormat};
use crate::compose;
use crate::context;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::session::{Opened, Session};
use crate::tables::{aligned, csv, tsv};

/// The maximum of `--max-rows`.
const MOST_ROWS: usize = 10_000;

/// The longest statement read from stdin, in bytes: the limit of the gate.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) fn run(args: &SqlArgs, session: &Session) -> Outcome {
    let printer = session.printer(&output(args))?;
    let sql = statement(args)?;
    let sql = sql.trim();
    if args.check {
        return check(args, sql, session, &printer);
    }
    if sql.is_empty() {
        return Err(Failure::new(Code::Usage, "no statement")
            .hint("give one statement, such as `ktx sql \"select 1\"`"));
    }
    let opened = session.open(&printer)?;
    let (connection, choice) = warehouse(args, sql, session, &opened)?;
    if let Some(choice) = &choice
        && printer.mode != Mode::Json
    {
        printer.note(&format!("note: {choice}"));
    }
    let connector = compose::connector(session, &opened.dir, connection)?;
    let audit = AuditLog::new(&opened.store);
    let note = |sql: &str, outcome: AuditOutcome| {
        audit.note(AuditEntry {
            tool: "sql_execution",
            call_id: "cli".to_owned(),
            connection: connection.id.clone(),
            sql: sql.to_owned(),
            outcome,
        });
    };
    let allowed = allowed_functions(connection);
    let caps = Caps {
        rows: usize::try_from(args.max_rows).unwrap_or(usize::MAX),
        timeout: Duration::from_secs(args.timeout),
        ..Caps::default()
    };
    let (statement, outcome) = compose::block_on(|cancel| async {
        let cancel = cancel;
        let statement = match admit(sql, connector.as_ref(), &allowed, &cancel).await {
            Ok(statement) => statement,
            Err(error) => {
                note(sql, not_sent(&error));
                return Err(error.into());
            }
        };
        let outcome = collect(connector.as_ref(), &statement, &caps, &cancel).await;
        Ok((statement, outcome))
    })?;
    let ended = match &outcome {
        Ok(result) => AuditOutcome::Executed {
            rows: result.rows.len(),
        },
        Err(error) => AuditOutcome::Failed {
            code: error.kind.code(),
        },
    };
    note(statement.as_str(), ended);
    let result = outcome.map_err(with_next_step)?;
    let cut = cut_note(&result, &caps);
    if printer.mode == Mode::Json {
        let notes: Vec<&String> = choice.iter().chain(&cut).collect();
        printer.json(&to_json(&result, connection.id.as_str(), &notes))?;
    } else {
        print(&result, args.output, &printer)?;
    }
    if printer.mode != Mode::Json
        && let Some(cut) = &cut
    {
        printer.note(&format!("note: {cut}"));
    }
    if result.truncated && printer.mode != Mode::Json {
        printer.note(&cut_off(result.rows.len(), &caps));
    }
    Ok(Exit::Success)
}

/// Returns the named warehouse, the only one, or the only one that has the tables of the statement,
/// with a note about the choice.
fn warehouse<'a>(
    args: &SqlArgs,
    sql: &str,
    session: &Session,
    opened: &'a Opened,
) -> Outcome<(&'a Connection, Option<String>)> {
    let id = args.connection.as_deref();
    if id.is_some() || opened.config.warehouses().count() < 2 {
        return Ok((compose::warehouse(&opened.config, id)?, None));
    }
    let context = context::open(session, opened)?;
    let (found, note) =
        compose::block_on(|_| async { warehouse_of_sql(context.as_ref(), None, sql).await })?;
    Ok((
        compose::warehouse(&opened.config, Some(found.id.as_str()))?,
        note,
    ))
}

/// Returns the functions that the connection allows in addition to those that the gate knows.
fn allowed_functions(connection: &Connection) -> AllowedFunctions {
    AllowedFunctions::listed(connection.texts(&["allowed_functions"]))
}

/// Returns the audit outcome of a statement that was not sent.
fn not_sent(error: &AdmissionError) -> AuditOutcome {
    match error {
        AdmissionError::Refused(refusal) => AuditOutcome::Refused { code: refusal.code },
        AdmissionError::Failed(error) => AuditOutcome::Failed {
            code: error.kind.code(),
        },
    }
}

/// Returns the statement of the command line, or of stdin if it is only `-`.
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
            format!("the statement on stdin is no text: byte {at} is no UTF-8"),
        )
    })?;
    if text.trim().is_empty() {
        return Err(Failure::new(Code::Usage, "no statement on stdin")
            .hint("pipe one, such as `echo 'select 1' | ktx sql -`"));
    }
    Ok(text)
}

/// Reports the cap that ended the answer after this many rows, with a hint.
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

/// Adds a next step to a failed statement if the server names none.
fn with_next_step(error: WarehouseError) -> WarehouseError {
    let step = match error.kind {
        _ if error.hint.is_some() => return error,
        ErrorKind::Sql | ErrorKind::NotFound => {
            "correct the statement; `ktx sl` shows what has been scanned"
        }
        ErrorKind::Timeout => "narrow the statement with filters, or raise --timeout",
        ErrorKind::Limit => "narrow the statement with filters, or select fewer columns",
        ErrorKind::Permission => "grant the right to the connection's login, or use another one",
        _ => return error,
    };
    error.hint(step)
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

fn to_json(result: &QueryResult, connection: &str, notes: &[&String]) -> Value {
    let headers: Vec<&str> = result
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let types: Option<Vec<&str>> = result
        .columns
        .iter()
        .map(|column| column.native_type.as_deref())
        .collect();
    let rows: Vec<Vec<Value>> = result
        .rows
        .iter()
        .map(|row| row.iter().map(ktx_warehouse::Cell::to_json).collect())
        .collect();
    let mut answer = json!({ "connectionId": connection, "headers": headers });
    if let Value::Object(map) = &mut answer {
        if let Some(types) = types.filter(|types| !types.is_empty()) {
            map.insert("headerTypes".to_owned(), json!(types));
        }
        map.insert("rowCount".to_owned(), json!(rows.len()));
        map.insert("rows".to_owned(), json!(rows));
        map.insert("truncated".to_owned(), json!(result.truncated));
        if !notes.is_empty() {
            map.insert("notes".to_owned(), json!(notes));
        }
    }
    answer
}

/// Prints the gate's verdict. Without a statement and with piped input, judges JSON lines.
fn check(args: &SqlArgs, sql: &str, session: &Session, printer: &Printer) -> Outcome {
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
        let opened = session.open(printer)?;
        let (connection, _) = warehouse(args, sql, session, &opened)?;
        let dialect = compose::connector(session, &opened.dir, connection)?.dialect();
        (dialect, allowed_functions(connection))
    };
    let verdict = ktx_read_only_sql::admit(sql, dialect, &allowed).map_err(without_a_look);
    if printer.mode == Mode::Json {
        printer.json(&match &verdict {
            Ok(statement) => json!({
                "allowed": true, "code": null, "reason": null, "statement": statement.as_str(),
            }),
            Err(refusal) => json!({
                "allowed": false, "code": refusal.code, "reason": refusal.reason, "statement": null,
            }),
        })?;
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

/// Adds to the refusal of an unknown function that no warehouse was asked.
fn without_a_look(refusal: Refusal) -> Refusal {
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

/// Judges every line; `usual` is the dialect of lines without one.
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
