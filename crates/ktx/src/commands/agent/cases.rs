//! `ktx agent cases suggest`: proposed test cases with gold SQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use ktx_config::Connection;
use ktx_context_tools::wire::SlQueryInput;
use ktx_context_tools::{
    Execution, ProjectContext, QueryRequest, Runner, SqlRequest, execute_sql, query, query_of,
    warehouses_of,
};
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_project_store::write_atomically;
use ktx_semantic_layer::{Measure, Source};
use ktx_tool_descriptors::CallContext;
use serde_json::{Value, json};

use crate::cli::{CasesArgs, CasesCommand, CasesSuggestArgs};
use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};
use crate::scanning::{days_of_history, past_queries, reads_history};

const LONGEST_NAME: usize = 60;

const HEAD: &str = "# Proposed by `ktx agent cases suggest`. Read the SQL of each case, correct its question, then remove `skip`.\n";

const SKIP: &str = "read the SQL, then remove this line";

pub(super) fn run(args: &CasesArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        CasesCommand::Suggest(args) => suggest(args, invocation),
    }
}

pub(super) fn case_file(cases: &[Value]) -> Outcome<String> {
    let value = serde_yaml::to_value(json!({ "cases": cases }))
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    Ok(ktx_yaml::to_yaml(&value))
}

/// Converts text to a name: `Net revenue?` is `net-revenue`.
pub(super) fn name_of(text: &str) -> String {
    let mut name = String::new();
    for word in text.split(|sign: char| !sign.is_ascii_alphanumeric()) {
        if word.is_empty() || name.len() + word.len() >= LONGEST_NAME {
            continue;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    name
}

/// Joins the lines unless that could change a string or comment.
fn one_line(sql: &str) -> String {
    let ends_open = |line: &str| {
        let count = |quote: char| line.matches(quote).count();
        ['\'', '"', '`']
            .into_iter()
            .any(|quote| count(quote) % 2 == 1)
    };
    let is_plain = |line: &str| !ends_open(line) && !line.contains("--") && !line.contains('#');
    if sql.lines().all(is_plain) {
        sql.replace('\n', " ")
    } else {
        sql.to_owned()
    }
}

fn suggest(args: &CasesSuggestArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let to = args.to.as_ref().map(|path| invocation.current.join(path));
    if let Some(path) = to.as_ref().filter(|path| path.exists()) {
        return Err(
            Failure::new(Code::File, format!("`{}` exists already", path.display()))
                .hint("name another file"),
        );
    }
    let context = context::open(invocation, &project)?;
    let mut found = compose::block_on(|_| async {
        let mut found = Suggestions::default();
        let id = args.connection_id.as_deref();
        for connection in warehouses_of(context.as_ref(), id).await? {
            let place = ConnectionCases {
                context: &context,
                connection: &connection,
            };
            place.past(&project, &mut found).await?;
            place.measures(&mut found).await?;
        }
        Ok(found)
    })?;
    found.cases.truncate(args.limit);
    for note in &found.notes {
        printer.note(note);
    }
    if found.cases.is_empty() {
        printer.note("nothing to suggest: no measure has SQL, and no past query could be read");
        return Ok(Exit::Success);
    }
    let text = format!("{HEAD}{}", case_file(&found.cases)?);
    let count = counted(found.cases.len(), "case");
    match to {
        None if printer.mode == Mode::Json => printer.json(&json!({ "cases": found.cases }))?,
        None => printer.out(&text)?,
        Some(path) => {
            write_atomically(&path, text.as_bytes())
                .map_err(|error| Failure::from_error(Code::File, &error))?;
            printer.note(&format!("wrote {count} to {}", path.display()));
        }
    }
    printer
        .note("next: read the SQL of each case, remove its `skip`, then run `ktx agent test FILE`");
    Ok(Exit::Success)
}

#[derive(Default)]
struct Suggestions {
    cases: Vec<Value>,
    names: BTreeSet<String>,
    notes: Vec<String>,
}

impl Suggestions {
    fn add(&mut self, name: &str, tag: &str, input: &str, truths: &Value) {
        // Names only contain ASCII letters and digits.
        let name = if name.is_empty() { tag } else { name };
        let mut unique = name.to_owned();
        let mut number = 2;
        while !self.names.insert(unique.clone()) {
            unique = format!("{name}-{number}");
            number += 1;
        }
        self.cases.push(json!({
            "name": unique,
            "tags": ["suggested", tag],
            "skip": SKIP,
            "input": input,
            "ground_truth": truths,
        }));
    }
}

struct ConnectionCases<'a> {
    context: &'a Arc<dyn ProjectContext>,
    connection: &'a Connection,
}

impl ConnectionCases<'_> {
    async fn measures(&self, found: &mut Suggestions) -> Outcome<()> {
        let catalog = self.context.catalog(&self.connection.id).await?;
        let sound = catalog.sources().iter().filter(|it| it.problem.is_none());
        for source in sound {
            for measure in &source.measures {
                self.measure(source, measure, found).await?;
            }
        }
        Ok(())
    }

    async fn measure(
        &self,
        source: &Source,
        measure: &Measure,
        found: &mut Suggestions,
    ) -> Outcome<()> {
        let full = format!("{}.{}", source.name, measure.name);
        let asked = json!({ "measures": [full] });
        let input: SlQueryInput = serde_json::from_value(asked.clone())
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let request = QueryRequest {
            connection: Some(self.connection.id.to_string()),
            query: query_of(&input)?,
            execution: Execution::CompileOnly,
        };
        let call = CallContext::detached("suggest");
        let Ok(answer) = query(self.context.as_ref(), &request, &call).await else {
            let note = format!("`{full}` cannot be computed; see `ktx sl validate`");
            found.notes.push(note);
            return Ok(());
        };
        let words = measure.name.replace('_', " ");
        let of = source.name.replace('_', " ");
        let about = measure.description.as_deref().map(str::trim);
        let about = about.map(|about| format!(" {about}")).unwrap_or_default();
        let connection = self.connection.id.as_str();
        found.add(
            &name_of(&full),
            "measure",
            &format!("What is the {words} of {of}?{about}"),
            &json!([
                { "sql": one_line(&answer.compiled.sql), "connection": connection },
                { "semantic": asked, "connection": connection },
            ]),
        );
        Ok(())
    }

    async fn past(&self, project: &OpenProject, found: &mut Suggestions) -> Outcome<()> {
        let mut texts = past_queries(project, self.connection)?;
        if reads_history(self.connection) {
            match self.recorded().await {
                Ok(recorded) => texts.extend(recorded),
                Err(failure) => found.notes.push(format!(
                    "the record of past queries of `{}` could not be read: {}",
                    self.connection.id, failure.message
                )),
            }
        }
        let (mut seen, mut left_out) = (BTreeSet::new(), 0);
        for text in texts {
            let text = text.trim().trim_end_matches(';').trim().to_owned();
            if text.is_empty() || !seen.insert(text.clone()) {
                continue;
            }
            match self.first_rows(&text).await {
                Ok(columns) if !columns.is_empty() => {
                    let connection = self.connection.id.as_str();
                    found.add(
                        &name_of(&columns.join(" ")),
                        "past-query",
                        &format!(
                            "Which question does this query answer? It gives {}.",
                            columns.join(", ")
                        ),
                        &json!([{ "sql": text, "connection": connection }]),
                    );
                }
                _ => left_out += 1,
            }
        }
        if left_out > 0 {
            found.notes.push(format!(
                "past queries of `{}` that were left out, because the gate refuses them, or they do not run or have no \
                 rows: {left_out}",
                self.connection.id
            ));
        }
        Ok(())
    }

    async fn first_rows(&self, sql: &str) -> Result<Vec<String>, Failure> {
        let answer = self.execute(sql, 1).await?;
        Ok(if answer.row_count == 0 {
            Vec::new()
        } else {
            answer.headers
        })
    }

    /// Most frequent first.
    async fn recorded(&self) -> Result<Vec<String>, Failure> {
        let Runner::Ready(connector) = self.context.runner(self.connection).await? else {
            return Ok(Vec::new());
        };
        let Some(sql) = connector.query_history(days_of_history(self.connection)) else {
            return Ok(Vec::new());
        };
        let answer = self.execute(&sql, 200).await?;
        let texts = answer.rows.iter().filter_map(|row| row.first()?.as_str());
        Ok(texts.map(str::to_owned).collect())
    }

    async fn execute(
        &self,
        sql: &str,
        rows: usize,
    ) -> Result<ktx_context_tools::wire::SqlOutput, Failure> {
        let request = SqlRequest {
            connection: Some(self.connection.id.to_string()),
            sql: sql.to_owned(),
            max_rows: Some(rows),
            timeout: None,
        };
        let call = CallContext::detached("suggest");
        Ok(execute_sql(self.context.as_ref(), &request, &call)
            .await?
            .to_wire())
    }
}
