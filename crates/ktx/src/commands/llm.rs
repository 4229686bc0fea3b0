//! `ktx llm`.

use std::path::Path;
use std::sync::Arc;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_llm_runtime::{CallLabel, TextRequest, TokenUsage};
use ktx_usage_ledger::PriceTable;
use ktx_vocabulary::ModelRole;
use serde_json::{Value, json};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::cli::{LlmArgs, LlmAskArgs, LlmCommand};
use crate::compose;
use crate::input::read_message;
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::require_usable_now;
use crate::tables::{aligned, tsv};
use crate::totals::print_totals;

pub(crate) fn run(args: &LlmArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    match &args.command {
        LlmCommand::Ask(args) => ask(args, &project, invocation, &printer),
        LlmCommand::Models => models(&project, invocation, &printer),
        LlmCommand::Pricing {
            refresh: Some(file),
        } => refresh(file, &project, invocation, &printer),
        LlmCommand::Pricing { refresh: None } => pricing(&project, invocation, &printer),
        LlmCommand::Probe => probe(&project, invocation, &printer),
    }
}

fn models(project: &OpenProject, invocation: &Invocation, printer: &Printer) -> Outcome {
    compose::usable_settings(&project.config)?;
    let prices = compose::prices(project)?;
    let backend = project.config.llm.backend;
    let location = compose::location(invocation, &project.dir, &project.config)?;
    let at = invocation.now.to_string();
    let price = |model: &str, side| {
        let usage = small(side);
        let place = compose::BackendLocation {
            backend,
            location: location.as_deref(),
        };
        let cost = compose::list_price(place, model, &usage, &at, &prices)?;
        Some(cost.amount.dollars() * 1000.0)
    };
    let rows: Vec<Value> = ModelRole::ALL
        .into_iter()
        .map(|role| {
            let model = project.config.model(role);
            let facts = model.map(|model| compose::model_facts(backend, model));
            json!({
                "role": role.as_str(),
                "model": model,
                "id": facts.as_ref().map(|facts| facts.id.clone()),
                "known": facts.as_ref().map(|facts| facts.known),
                "contextWindow": facts.as_ref().and_then(|facts| facts.context_window),
                "inputUsdPerMillion": model.and_then(|model| price(model, TokenSide::In)),
                "outputUsdPerMillion": model.and_then(|model| price(model, TokenSide::Out)),
            })
        })
        .collect();
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "kind": "list",
            "data": { "backend": backend.as_str(), "items": rows },
            "meta": { "command": "llm models" },
        }))?;
        return Ok(Exit::Success);
    }
    let headers = ["ROLE", "MODEL", "CONTEXT", "IN $/M", "OUT $/M"].map(str::to_owned);
    let cell = |value: &Value| match value {
        Value::Null => Some("-".to_owned()),
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let rows: Vec<Vec<Option<String>>> = rows
        .iter()
        .map(|row| {
            [
                "role",
                "model",
                "contextWindow",
                "inputUsdPerMillion",
                "outputUsdPerMillion",
            ]
            .map(|key| cell(&row[key]))
            .to_vec()
        })
        .collect();
    let text = if printer.mode == Mode::Plain {
        tsv(&headers, &rows)
    } else {
        aligned(&headers, &rows)
    };
    printer.page(&text)?;
    Ok(Exit::Success)
}

#[derive(Clone, Copy)]
enum TokenSide {
    In,
    Out,
}

/// Small enough for the lowest price tier.
fn small(side: TokenSide) -> TokenUsage {
    match side {
        TokenSide::In => TokenUsage {
            input: 1000,
            ..TokenUsage::default()
        },
        TokenSide::Out => TokenUsage {
            output: 1000,
            ..TokenUsage::default()
        },
    }
}

fn pricing(project: &OpenProject, invocation: &Invocation, printer: &Printer) -> Outcome {
    let prices = compose::prices(project)?;
    let own = compose::price_file(project).is_file();
    let age = invocation.now.to_string();
    let counts: Vec<Value> = prices
        .providers()
        .iter()
        .map(|provider| json!({ "provider": provider, "models": prices.models(provider).len() }))
        .collect();
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "exported": prices.exported,
            "origin": if own { "imported" } else { "built in" },
            "providers": counts,
        }))?;
    } else {
        let origin = if own {
            "imported into this project"
        } else {
            "built into ktx"
        };
        let today = age.get(..10).unwrap_or_default();
        printer.line(&format!(
            "price table of {} ({origin}); today is {today}",
            prices.exported
        ))?;
        for count in &counts {
            printer.line(&format!(
                "{}\t{} models",
                count["provider"].as_str().unwrap_or_default(),
                count["models"]
            ))?;
        }
    }
    Ok(Exit::Success)
}

/// The new table must pass its test vectors and not be older.
fn refresh(
    file: &Path,
    project: &OpenProject,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let path = invocation.current.join(file);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::from_error(Code::PriceUsage, &error)
            .context(format!("`{}` cannot be read", path.display()))
    })?;
    let table = PriceTable::parse(&text).map_err(|error| {
        Failure::from_error(Code::PriceTable, &error)
            .context(format!("`{}` was not imported", path.display()))
    })?;
    let have = compose::prices(project)?;
    if table.exported < have.exported {
        return Err(Failure::new(
            Code::PriceTable,
            format!(
                "`{}` is of {}, older than the table in use ({})",
                path.display(),
                table.exported,
                have.exported
            ),
        ));
    }
    ktx_project_store::write_atomically(&compose::price_file(project), text.as_bytes())
        .map_err(|error| Failure::from_error(Code::PriceFile, &error))?;
    if printer.mode == Mode::Json {
        printer.json(&json!({ "imported": true, "exported": table.exported }))?;
    } else {
        printer.line(&format!("imported the price table of {}", table.exported))?;
    }
    Ok(Exit::Success)
}

const ASKED: &str = "Answer the question in plain text.";

fn ask(
    args: &LlmAskArgs,
    project: &OpenProject,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    let prompt = read_message(args.question.text())?;
    if prompt.trim().is_empty() {
        return Err(Failure::new(Code::Message, "the message is empty"));
    }
    let role = args.role.map_or(ModelRole::Default, ModelRole::from);
    let sink = Arc::new(compose::LedgerSink::new(
        invocation,
        project,
        printer.clone(),
    ));
    let spending = compose::Spending {
        limits,
        roles: &[role],
    };
    let Some(runtime) = compose::llm(invocation, project, &sink, spending)? else {
        return Err(compose::no_model("an answer needs a model"));
    };
    let request = |cancel| text_request(role, invocation, prompt, cancel);
    let answer = compose::block_on(|cancel| async move {
        let answer = runtime.generate_text(request(cancel.clone())).await;
        // After Ctrl-C, does not wait any longer.
        runtime.settle().with_cancellation_token(&cancel).await;
        Ok(answer?)
    });
    sink.finish();
    let answer = answer?;
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "text": answer.text,
            "role": role.as_str(),
            "model": answer.metrics.model,
            "runId": invocation.run_id,
        }))?;
        return Ok(Exit::Success);
    }
    printer.page(&format!("{}\n", answer.text.trim_end()))?;
    print_totals(invocation, project, printer);
    Ok(Exit::Success)
}

fn text_request(
    role: ModelRole,
    invocation: &Invocation,
    prompt: String,
    cancel: CancellationToken,
) -> TextRequest {
    TextRequest {
        role,
        system: ASKED.to_owned(),
        prompt,
        cancel,
        label: CallLabel {
            run_id: invocation.run_id.clone(),
            stage: "ask".to_owned(),
            unit: None,
            connection: None,
        },
    }
}

fn probe(project: &OpenProject, invocation: &Invocation, printer: &Printer) -> Outcome {
    let sink = Arc::new(compose::ProbeSink::new(invocation, project, printer));
    let Some(runtime) = compose::llm_to_try(invocation, project, &sink)? else {
        return Err(
            Failure::new(Code::ModelRequired, "`llm.provider.backend` is `none`")
                .hint("set it to `claude-code` to use your own local Claude Code session"),
        );
    };
    let report = require_usable_now(&runtime, invocation);
    // Only the probe reveals the payer.
    let info = runtime.describe();
    sink.finish();
    let report = report?;
    if printer.mode == Mode::Json {
        let facts: serde_json::Map<String, Value> = report
            .facts
            .iter()
            .map(|(label, value)| (label.clone(), json!(value)))
            .collect();
        printer.json(&json!({
            "backend": info.name,
            "payer": info.payer,
            "ignoredFields": info.ignored_fields,
            "facts": facts,
            "warnings": report.warnings,
        }))?;
    } else {
        printer.line(&format!("{}: usable; paid by {}", info.name, info.payer))?;
        for (label, value) in &report.facts {
            printer.line(&format!("{label}: {value}"))?;
        }
        for warning in &report.warnings {
            printer.note(&format!("warning: {warning}"));
        }
        for field in &info.ignored_fields {
            printer.note(&format!("warning: `{field}` is ignored by this backend"));
        }
    }
    Ok(Exit::Success)
}
