//! A recorded runtime writes prompts, tool calls and answers, without secrets.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use ktx_llm_runtime::{
    CallLabel, LlmError, LlmErrorKind, LlmRuntime as _, LoopRequest, NoEvents, Reply,
    ScriptedRuntime, TextRequest,
};
use ktx_observability::{RecordSink, RecordedRuntime, SharedRedactor};
use ktx_tool_descriptors::{
    ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct LineSink {
    redactor: SharedRedactor,
    lines: Mutex<Vec<String>>,
}

impl RecordSink for LineSink {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn redact(&self, text: &str) -> String {
        self.redactor.redact(text)
    }

    fn append(&self, line: &str) {
        self.lines.lock().expect("no poison").push(line.to_owned());
    }
}

fn label(unit: &str) -> CallLabel {
    CallLabel {
        run_id: RunId::parse("0199b7f2-1c3d-7a4e-8f00-112233445566").expect("a run id"),
        stage: "memory".to_owned(),
        unit: Some(unit.to_owned()),
        connection: None,
    }
}

fn tool(name: &str, answer: Result<&'static str, &'static str>) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: handler_fn(move |_, _| match answer {
            Ok(text) => Ok(ToolOutput::text(text)),
            Err(text) => Err(ToolError::new(text)),
        }),
    }
}

#[tokio::test]
async fn conversations_are_recorded_without_secrets() {
    let sink = Arc::new(LineSink::default());
    let scripted = ScriptedRuntime::new(
        [
            Reply::Loop {
                calls: vec![
                    ("read".to_owned(), json!({ "key": "a" })),
                    (
                        "write".to_owned(),
                        json!({ "text": "postgres://ada:hunter2-secret@db/shop" }),
                    ),
                ],
                text: "Done.".to_owned(),
            },
            Reply::Text("x ".repeat(15_000)),
            Reply::Error(LlmError::new(LlmErrorKind::Billing, "no money")),
        ],
        Arc::new(NoEvents),
    );
    let sunk: Arc<dyn RecordSink> = Arc::clone(&sink) as _;
    let runtime = RecordedRuntime::new(Arc::new(scripted), sunk);
    let tools = vec![tool("read", Ok("a page")), tool("write", Err("refused"))];
    let outcome = runtime
        .run_agent_loop(LoopRequest {
            role: ModelRole::CandidateExtraction,
            system: "Capture.".to_owned(),
            prompt: "The note.".to_owned(),
            tools: ToolSet::new(tools).expect("a set"),
            step_budget: 5,
            on_step: None,
            transcript: None,
            cancel: CancellationToken::new(),
            label: label("a note"),
        })
        .await;
    assert_eq!(outcome.text.as_deref(), Some("Done."));
    let text = |prompt: &str| TextRequest {
        role: ModelRole::Triage,
        system: String::new(),
        prompt: prompt.to_owned(),
        cancel: CancellationToken::new(),
        label: label("a page"),
    };
    runtime.generate_text(text("long")).await.expect("text");
    runtime.generate_text(text("poor")).await.expect_err("no");
    let lines = sink.lines.lock().expect("no poison");
    assert!(!lines.concat().contains("hunter2"), "{lines:?}");
    let seen: Vec<String> = lines
        .iter()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let text = line["text"].as_str().map(str::len);
            format!(
                "{} {} {}",
                line["call"],
                line["kind"],
                match text {
                    Some(length) if length > 100 => json!(length),
                    _ => json!([
                        line["prompt"],
                        line["name"],
                        line["isRefused"],
                        line["text"],
                        line["message"],
                        line["stop"]
                    ]),
                }
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            r#"1 "asked" ["The note.",null,null,null,null,null]"#,
            r#"1 "tool" [null,"read",false,null,null,null]"#,
            r#"1 "tool" [null,"write",true,null,null,null]"#,
            r#"1 "answered" [null,null,null,"Done.",null,null]"#,
            r#"1 "ended" [null,null,null,null,null,"natural"]"#,
            r#"2 "asked" ["long",null,null,null,null,null]"#,
            r#"2 "answered" 20027"#,
            r#"3 "asked" ["poor",null,null,null,null,null]"#,
            r#"3 "failed" [null,null,null,null,"no money",null]"#,
        ]
    );
}
