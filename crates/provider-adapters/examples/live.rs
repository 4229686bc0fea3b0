//! Asks one real provider a few small questions: `cargo xtask test --live <provider>`. Costs money.
//!
//! Reads the provider's usual key, `KTX_LIVE_MODEL`, and where needed `KTX_LIVE_BASE_URL`,
//! `KTX_LIVE_PROJECT`, `KTX_LIVE_LOCATION`.
#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own reads its environment and the clock"
)]

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ktx_llm_runtime::{
    CallLabel, CallMetrics, LlmError, LlmRuntime as _, LoopRequest, Message, MessageRole, NoEvents,
    ObjectRequest, ProbeRequest, RunEvent, RunRequest, StopReason, TextRequest,
};
use ktx_provider_adapters::{
    GoogleCredentials, HttpRuntime, HttpSettings, VertexSettings, aliases,
};
use ktx_secrets::Secret;
use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, Provider, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

type ProbeResult = Result<CallMetrics, String>;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn settings(provider: Provider) -> Result<HttpSettings, String> {
    // The cheapest alias.
    let known = || aliases(provider).find(|alias| *alias == "haiku");
    let known = || known().or_else(|| aliases(provider).next());
    let model = variable("KTX_LIVE_MODEL").or_else(|| known().map(str::to_owned));
    let model = model.ok_or("set KTX_LIVE_MODEL")?;
    let key = provider.key_variable().and_then(variable).map(Secret::new);
    let mut settings = HttpSettings::new(provider, key, model);
    settings.base_url = variable("KTX_LIVE_BASE_URL");
    if provider == Provider::Vertex {
        settings.api_key = None;
        let file = variable("GOOGLE_APPLICATION_CREDENTIALS")
            .ok_or("set GOOGLE_APPLICATION_CREDENTIALS")?;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        settings.vertex = Some(VertexSettings {
            project: variable("KTX_LIVE_PROJECT"),
            location: variable("KTX_LIVE_LOCATION").unwrap_or_else(|| "global".to_owned()),
            credentials: GoogleCredentials::from_json(&text).map_err(|error| shown(&error))?,
        });
    }
    Ok(settings)
}

fn shown(error: &LlmError) -> String {
    let detail = error.detail.as_deref().unwrap_or("no detail");
    format!("{}: {error} ({detail})", error.kind.code())
}

fn label() -> Result<CallLabel, String> {
    Ok(CallLabel {
        run_id: RunId::parse("live").map_err(|error| error.to_string())?,
        stage: "live".to_owned(),
        unit: None,
        connection: None,
    })
}

async fn text(runtime: &HttpRuntime) -> ProbeResult {
    let asked = TextRequest {
        role: ModelRole::Default,
        system: "Answer with one word.".to_owned(),
        prompt: "Which colour do red and yellow make?".to_owned(),
        cancel: CancellationToken::new(),
        label: label()?,
    };
    let answer = runtime.generate_text(asked).await;
    let answer = answer.map_err(|error| shown(&error))?;
    if answer.text.to_lowercase().contains("orange") {
        counted(answer.metrics)
    } else {
        Err(format!("the answer is `{}`", answer.text))
    }
}

async fn object(runtime: &HttpRuntime) -> ProbeResult {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["sum", "steps"],
        "properties": {
            "sum": {"type": "integer"},
            "steps": {"type": "array", "items": {"type": "string"}},
            "remark": {"type": "string"},
        },
    });
    let asked = ObjectRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "Add 19 and 23 and name the steps.".to_owned(),
        schema: ObjectSchema::new(schema).map_err(|error| error.to_string())?,
        cancel: CancellationToken::new(),
        label: label()?,
    };
    let answer = runtime.generate_object(asked).await;
    let answer = answer.map_err(|error| shown(&error))?;
    if answer.value.get("sum") == Some(&json!(42)) {
        counted(answer.metrics)
    } else {
        Err(format!("the object is {}", answer.value))
    }
}

fn tools() -> Result<ToolSet, String> {
    let rows = ToolDescriptor {
        name: "count_rows".to_owned(),
        title: "Count rows".to_owned(),
        description: "Gives the number of rows of a table.".to_owned(),
        input_schema: json!({
            "type": "object", "required": ["table"], "properties": {"table": {"type": "string"}},
        }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|arguments, _| {
            let rows = if arguments["table"] == "orders" {
                7301
            } else {
                88
            };
            Ok(ToolOutput::text(format!("{rows} rows")))
        }),
    };
    ToolSet::new(vec![rows]).map_err(|error| error.to_string())
}

const COUNT: &str =
    "How many rows do the tables `orders` and `regions` have together? Use the tool.";

async fn agent_loop(runtime: &HttpRuntime) -> ProbeResult {
    let asked = LoopRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: COUNT.to_owned(),
        tools: tools()?,
        step_budget: 6,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: label()?,
    };
    let outcome = runtime.run_agent_loop(asked).await;
    if let Some(error) = &outcome.error {
        return Err(shown(error));
    }
    let text = outcome.text.unwrap_or_default();
    let plain: String = text.chars().filter(char::is_ascii_digit).collect();
    if outcome.stop_reason == StopReason::Natural && plain.contains("7389") {
        counted(outcome.metrics)
    } else {
        Err(format!("{:?}: {text}", outcome.stop_reason))
    }
}

async fn stream(runtime: &HttpRuntime) -> ProbeResult {
    let mut run = runtime.start_run(RunRequest {
        role: ModelRole::Default,
        system: String::new(),
        messages: vec![Message::text(MessageRole::User, COUNT)],
        tools: tools()?,
        step_budget: 6,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: CancellationToken::new(),
        label: label()?,
        trace_id: None,
        ingress_request_id: None,
    });
    let (mut shown_text, mut started, mut ended) = (String::new(), 0, 0);
    while let Some(event) = run.next_event().await {
        match event {
            RunEvent::TextDelta(piece) => shown_text.push_str(&piece),
            RunEvent::ToolCallStart { .. } => started += 1,
            RunEvent::ToolCallResult { .. } => ended += 1,
            _ => {}
        }
    }
    let last = run.finish().await;
    let text = last.result.map_err(|error| shown(&error))?;
    if started == 0 || started != ended || !shown_text.ends_with(&text) {
        return Err(format!("{started} calls, {ended} results, `{shown_text}`"));
    }
    counted(CallMetrics {
        usage: last.usage,
        ..CallMetrics::default()
    })
}

async fn wrong_key(provider: Provider) -> ProbeResult {
    let mut settings = settings(provider)?;
    if settings.api_key.is_none() {
        return Ok(CallMetrics::default());
    }
    settings.api_key = Some(Secret::new("no-such-key-0000000000"));
    let runtime = HttpRuntime::new(settings, Arc::new(NoEvents)).map_err(|error| shown(&error))?;
    match runtime.probe(ProbeRequest::of(&label()?.run_id)).await {
        Err(error) if error.kind == ktx_llm_runtime::LlmErrorKind::Auth => {
            Ok(CallMetrics::default())
        }
        Err(error) => Err(shown(&error)),
        Ok(_) => Err("a wrong key is accepted".to_owned()),
    }
}

fn counted(metrics: CallMetrics) -> ProbeResult {
    if metrics.usage.input_total() > 0 && metrics.usage.output > 0 {
        Ok(metrics)
    } else {
        Err(format!("the counters are {:?}", metrics.usage))
    }
}

fn say(words: &str) -> bool {
    writeln!(std::io::stdout(), "{words}").is_ok()
}

async fn checks(provider: Provider) -> Result<bool, String> {
    let runtime = HttpRuntime::new(settings(provider)?, Arc::new(NoEvents));
    let runtime = runtime.map_err(|error| {
        let hint = error.hint.clone().unwrap_or_default();
        format!("{} {hint}", shown(&error))
    })?;
    let mut passed = true;
    for name in ["text", "object", "loop", "stream", "wrong key"] {
        let start = Instant::now();
        let checked = match name {
            "text" => text(&runtime).await,
            "object" => object(&runtime).await,
            "loop" => agent_loop(&runtime).await,
            "stream" => stream(&runtime).await,
            _ => wrong_key(provider).await,
        };
        let took = start.elapsed().as_millis();
        let line = match checked {
            Ok(metrics) => format!(
                "ok   {provider} {name}: {took} ms, {} tokens in, {} out",
                metrics.usage.input_total(),
                metrics.usage.output
            ),
            Err(reason) => {
                passed = false;
                format!("FAIL {provider} {name}: {reason}")
            }
        };
        passed &= say(&line);
    }
    Ok(passed)
}

fn run() -> Result<bool, String> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let provider = Provider::ALL
        .into_iter()
        .find(|known| known.as_str() == name)
        .ok_or_else(|| {
            let known: Vec<&str> = Provider::ALL
                .iter()
                .map(|provider| provider.as_str())
                .collect();
            format!("no provider `{name}`; there are: {}", known.join(", "))
        })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|error| error.to_string())?
        .block_on(checks(provider))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(reason) => {
            say(&format!("error: {reason}"));
            ExitCode::from(2)
        }
    }
}
