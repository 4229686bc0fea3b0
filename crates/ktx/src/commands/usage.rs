//! `ktx usage`.

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_usage_ledger::{ReportGroup, ReportRow, ReportWindow};
use serde_json::{Value, json};

use crate::cli::{UsageArgs, UsageGroup};
use crate::compose;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::session_usage::messages_of;
use crate::tables::{aligned, tsv};
use crate::totals::{cost, read_report, read_sums};

pub(crate) fn run(args: &UsageArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let group = match args.by {
        None => ReportGroup::All,
        Some(UsageGroup::Run) => ReportGroup::Run,
        Some(UsageGroup::Role) => ReportGroup::Role,
        Some(UsageGroup::Stage) => ReportGroup::Stage,
        Some(UsageGroup::Model) => ReportGroup::Model,
        Some(UsageGroup::Connection) => ReportGroup::Connection,
    };
    let window = ReportWindow {
        run_id: args.run.clone(),
        since: since(args, invocation)?,
    };
    let report = match &args.session {
        Some(session) => read_sums(&project, &messages_of(session, invocation, &project)?)?,
        None => read_report(&project, group, &window)?,
    };
    let budget = compose::day_status(invocation, &project)?;
    if printer.mode == Mode::Json {
        let rows: Vec<Value> = report.rows.iter().map(row_json).collect();
        let mut data = json!({ "items": rows, "total": row_json(&report.total) });
        if let Some(budget) = &budget {
            data["budget"] = json!(compose::BudgetReport::from(budget));
        }
        printer.json(&json!({
            "kind": "list",
            "data": data,
            "meta": { "command": "usage" },
        }))?;
        return Ok(Exit::Success);
    }
    let headers = [
        "",
        "messages",
        "input",
        "cache written",
        "cache read",
        "output",
        "cost",
    ]
    .map(str::to_owned);
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    if args.by.is_some() || args.session.is_some() {
        rows.extend(report.rows.iter().map(|row| cells(&row.key, row)));
    }
    rows.push(cells("total", &report.total));
    let text = if printer.mode == Mode::Plain {
        tsv(&headers, &rows)
    } else {
        aligned(&headers, &rows)
    };
    printer.page(&text)?;
    if report.total.facts() == 0 {
        printer.note(&match (&args.run, &args.since) {
            (Some(run), _) => format!(
                "no usage of a run `{run}` is recorded; `ktx usage --by run` lists the runs"
            ),
            (None, Some(since)) => format!("no usage since {since} is recorded"),
            (None, None) if args.session.is_some() => "the session has used no model".to_owned(),
            (None, None) => "no usage is recorded yet".to_owned(),
        });
    }
    print_notes_about(&report.total, &printer);
    if let Some(budget) = budget {
        printer.note(&format!("budget of the day: {budget}"));
    }
    Ok(Exit::Success)
}

fn print_notes_about(total: &ReportRow, printer: &Printer) {
    if total.unattributed_tokens > 0 {
        printer.note(&format!(
            "{} of the tokens were used outside of messages, such as for compaction",
            total.unattributed_tokens
        ));
    }
    if let Some(difference) = reported_difference(total) {
        printer.note(&difference);
    }
    if total.incomplete > 0 {
        printer.note(&format!(
            "{} messages were cut off; their output is estimated from the part that arrived",
            total.incomplete
        ));
    }
    if total.uncounted > 0 {
        printer.note(&format!(
            "{} messages came from a provider that does not report usage; their tokens are estimated from their size",
            total.uncounted
        ));
    }
    if total.unpriced > 0 {
        printer.note(&format!(
            "{} messages have no known price; the cost covers the others",
            total.unpriced
        ));
    }
}

/// Converts a day, a time or a period such as `7d` to the ledger's time format.
fn since(args: &UsageArgs, invocation: &Invocation) -> Outcome<Option<String>> {
    let Some(text) = &args.since else {
        return Ok(None);
    };
    let Some(moment) = moment(text.trim(), invocation.now) else {
        return Err(Failure::new(Code::Usage, format!("`{text}` is not a date"))
            .hint("use `2026-01-31`, `2026-01-31T09:30+02:00`, or a number of days such as `7d`"));
    };
    // Times within the same second sort after this prefix.
    Ok(Some(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string()))
}

/// UTC unless the text has an offset.
fn moment(text: &str, now: jiff::Timestamp) -> Option<jiff::Timestamp> {
    if let Some(days) = text.strip_suffix('d') {
        let days: u32 = days.parse().ok()?; // told as no date
        let back = jiff::SignedDuration::from_hours(i64::from(days) * 24);
        return now.checked_sub(back).ok(); // nor is a time before all time
    }
    // Refuses named time zones.
    if text.contains('[') {
        return None;
    }
    let time = text.get(10..).unwrap_or_default();
    if time.contains(['+', '-', 'Z', 'z']) {
        return text.parse().ok(); // told as no date
    }
    let local: jiff::civil::DateTime = text.parse().ok()?; // told as no date
    let zoned = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?; // nor is a time after all time
    Some(zoned.timestamp())
}

/// A significant difference between reported and computed cost (C-18).
fn reported_difference(row: &ReportRow) -> Option<String> {
    let reported = &row.reported;
    reported.differs().then(|| {
        format!(
            "the model backends themselves report {} for calls that cost {} at these list prices",
            reported.compared, reported.computed
        )
    })
}

fn cells(key: &str, row: &ReportRow) -> Vec<Option<String>> {
    let usage = &row.usage;
    [
        key.to_owned(),
        row.messages.to_string(),
        usage.input.to_string(),
        usage
            .cache_write_5m
            .saturating_add(usage.cache_write_1h)
            .to_string(),
        usage.cache_read.to_string(),
        usage.output.to_string(),
        cost(row),
    ]
    .map(Some)
    .to_vec()
}

fn row_json(row: &ReportRow) -> Value {
    json!({
        "key": row.key,
        "messages": row.messages,
        "inputTokens": row.usage.input,
        "cacheWrite5mTokens": row.usage.cache_write_5m,
        "cacheWrite1hTokens": row.usage.cache_write_1h,
        "cacheReadTokens": row.usage.cache_read,
        "outputTokens": row.usage.output,
        "reasoningTokens": row.usage.reasoning,
        "unattributedTokens": row.unattributed_tokens,
        "costUsd": row.cost_is_known().then(|| row.cost.dollars()),
        "unpricedMessages": row.unpriced,
        "estimatedMessages": row.estimated,
        "incompleteMessages": row.incomplete,
        "uncountedMessages": row.uncounted,
        "estimatedTokens": row.estimated_tokens,
        "reportedCostUsd": (row.reported.calls > 0).then(|| row.reported.cost.dollars()),
        "reportedDifferenceUsd": (row.reported.compared_calls > 0)
            .then(|| row.reported.difference().dollars()),
    })
}

#[cfg(test)]
mod tests;
