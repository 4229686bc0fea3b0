//! Measures the processor time of stream decoding and of calls: JSON lines for `cargo xtask bench
//! decoders`.
#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot be taken ends the program"
)]

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use ktx_llm_runtime::{CallLabel, LlmRuntime as _, NoEvents, TextRequest};
use ktx_provider_adapters::{HttpRuntime, HttpSettings, Protocol, Proxy, replay};
use ktx_secrets::Secret;
use ktx_vocabulary::{ModelRole, Provider, RunId};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const MEGABYTE: usize = 1_000_000;
/// In bytes.
const PIECE: usize = 16 * 1024;
/// The fastest counts.
const READINGS: usize = 5;
const CALLS: u32 = 300;
/// The median counts.
const ROUNDS: usize = 5;

/// This thread alone, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u32::try_from(time.tv_sec).expect("a short measurement");
    let nanoseconds = u32::try_from(time.tv_nsec).expect("a part of a second");
    f64::from(seconds) + f64::from(nanoseconds) / 1e9
}

fn line(value: &Value) {
    writeln!(std::io::stdout(), "{value}").expect("stdout");
}

fn stream(protocol: Protocol, bytes: usize) -> Vec<u8> {
    let word = "rows of the table of orders, counted by region; ";
    let mut events = Vec::new();
    let mut size = 0;
    let mut add = |event: Value| {
        let text = format!("data: {event}\n\n");
        size += text.len();
        events.push(text);
        size
    };
    match protocol {
        Protocol::Anthropic => {
            add(
                json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}}),
            );
            add(
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            );
            while add(
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}),
            ) < bytes / 2
            {}
            add(
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "emit", "input": {}}}),
            );
            let arguments = |text: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": text}});
            add(arguments("{\"text\":\""));
            while add(arguments(word)) < bytes {}
            add(arguments("\"}"));
            add(
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            );
            add(json!({"type": "message_stop"}));
        }
        Protocol::OpenAiChat => {
            let chunk = |delta: Value, finish: Value| json!({"id": "m", "model": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
            while add(chunk(json!({"content": word}), Value::Null)) < bytes / 2 {}
            let call =
                |text: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
            add(chunk(
                json!({"tool_calls": [{"index": 0, "id": "t", "type": "function", "function": {"name": "emit", "arguments": "{\"text\":\""}}]}),
                Value::Null,
            ));
            while add(chunk(call(word), Value::Null)) < bytes {}
            add(chunk(call("\"}"), Value::Null));
            add(chunk(json!({}), json!("tool_calls")));
            add(
                json!({"id": "m", "model": "x", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 9}}),
            );
            events.push("data: [DONE]\n\n".to_owned());
        }
        Protocol::OpenAiResponses => {
            add(json!({"type": "response.created", "response": {"id": "m", "model": "x"}}));
            // The items are repeated at the end, so each part is a third of the bytes.
            let mut text = String::new();
            while add(
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": word}),
            ) < bytes / 2
            {
                text.push_str(word);
            }
            let item = json!({"type": "message", "id": "i", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]});
            add(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
            add(
                json!({"type": "response.completed", "response": {"id": "m", "model": "x", "status": "completed",
                "output": [item], "usage": {"input_tokens": 1, "output_tokens": 9}}}),
            );
        }
        Protocol::Gemini => {
            let chunk = |part: Value| json!({"responseId": "m", "modelVersion": "x", "candidates": [{"content": {"role": "model", "parts": [part]}}]});
            while add(chunk(json!({"text": word}))) < bytes {}
            let mut last = chunk(json!({"functionCall": {"name": "emit", "args": {"text": word}}}));
            last["candidates"][0]["finishReason"] = json!("STOP");
            last["usageMetadata"] = json!({"promptTokenCount": 1, "candidatesTokenCount": 9});
            add(last);
        }
    }
    events.concat().into_bytes()
}

fn decoding(name: &str, protocol: Protocol, megabytes: usize) {
    let stream = stream(protocol, megabytes * MEGABYTE);
    let mut best = f64::INFINITY;
    for _ in 0..READINGS {
        let start = processor_time();
        let replayed = replay(protocol, &stream, PIECE).expect("a whole stream");
        best = best.min(processor_time() - start);
        assert_eq!(replayed.usage.output, 9, "everything was read");
    }
    let size = f64::from(u32::try_from(stream.len()).expect("a small stream")) / 1e6;
    line(&json!({
        "protocol": name, "size": megabytes, "megabytes": size, "ms": best * 1e3, "mb_per_s": size / best,
    }));
}

fn server() -> String {
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ok"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let lines: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let body = lines.concat();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.expect("a connection"), answer.clone());
            stream.set_nodelay(true).expect("an option of the socket");
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                while let Some(length) = head(&mut reader) {
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).expect("a body");
                    stream.write_all(answer.as_bytes()).expect("an answer");
                }
            });
        }
    });
    address
}

fn head(reader: &mut impl std::io::BufRead) -> Option<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(length);
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
}

fn request() -> TextRequest {
    TextRequest {
        role: ModelRole::Default,
        system: "Be exact.".to_owned(),
        prompt: "Say ok.".to_owned(),
        cancel: CancellationToken::new(),
        label: CallLabel {
            run_id: RunId::parse("bench").expect("a run id"),
            stage: "bench".to_owned(),
            unit: None,
            connection: None,
        },
    }
}

async fn bare(client: &reqwest::Client, address: &str, body: &Value) {
    let answer = client
        .post(format!("{address}/v1/messages"))
        .header("x-api-key", "k")
        .json(body)
        .send()
        .await;
    let mut answer = answer.expect("an answer");
    while answer.chunk().await.expect("a piece").is_some() {}
}

/// In microseconds, through the runtime and through the HTTP client alone.
async fn calls(address: &str) -> (f64, f64) {
    let mut settings = HttpSettings::new(Provider::Anthropic, Some(Secret::new("k")), "haiku");
    settings.base_url = Some(address.to_owned());
    settings.proxy = Proxy::Direct;
    let runtime = HttpRuntime::new(settings, Arc::new(NoEvents)).expect("usable settings");
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(
            rustls::ClientConfig::builder_with_provider(Arc::new(
                rustls::crypto::ring::default_provider(),
            ))
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth(),
        )
        .no_proxy()
        .build()
        .expect("a client");
    let body = json!({"model": "x", "max_tokens": 10, "stream": true,
        "messages": [{"role": "user", "content": "Say ok."}]});
    // Makes connections and tables.
    runtime.generate_text(request()).await.expect("an answer");
    bare(&client, address, &body).await;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = processor_time();
        for _ in 0..CALLS {
            runtime.generate_text(request()).await.expect("an answer");
        }
        ours.push((processor_time() - start) * 1e6 / f64::from(CALLS));
        let start = processor_time();
        for _ in 0..CALLS {
            bare(&client, address, &body).await;
        }
        theirs.push((processor_time() - start) * 1e6 / f64::from(CALLS));
    }
    (middle(ours), middle(theirs))
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

fn main() {
    for (name, protocol) in [
        ("anthropic", Protocol::Anthropic),
        ("openai-chat", Protocol::OpenAiChat),
        ("openai-responses", Protocol::OpenAiResponses),
        ("gemini", Protocol::Gemini),
    ] {
        for megabytes in [1, 10] {
            decoding(name, protocol, megabytes);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (ours, bare) = runtime.block_on(calls(&server()));
    line(&json!({"call_us": ours, "bare_us": bare, "overhead_us": ours - bare}));
}
