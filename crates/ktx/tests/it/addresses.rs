//! Which key reaches which address.

use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::support::{run, unscanned, write};

const KEY: &str = "planted-key-0123456789";

fn model(key: &str, address: &str) -> Sandbox {
    let mut sandbox = unscanned("CREATE TABLE t (id INTEGER);");
    let config = format!(
        "connections: {{}}\nllm:\n  provider:\n    backend: anthropic\n    anthropic:\n{key}      base_url: {address}\n  models:\n    default: sonnet\n"
    );
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set("ANTHROPIC_API_KEY", KEY);
    sandbox
}

fn provider() -> Loopback {
    Loopback::start(|request, _| {
        let message = json!({
            "id": "msg_1", "type": "message", "role": "assistant",
            "model": request.json()["model"], "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": "ok" }],
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

fn proxy(sandbox: &mut Sandbox) -> Loopback {
    let proxy = Loopback::start(|_, _| Answer::new(502, "text/plain", "lost")).expect("a proxy");
    sandbox.set("HTTP_PROXY", proxy.address());
    sandbox.set("http_proxy", proxy.address());
    proxy
}

#[test]
fn the_usual_key_goes_to_the_usual_address_only() {
    let provider = provider();
    check!(&model("", &provider.address()), "llm probe", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `llm.provider.anthropic` has a `base_url` and no `api_key`

hint: write `api_key: env:ANTHROPIC_API_KEY` next to it in ktx.yaml if that address may have this key
hint: remove `base_url` to use the provider's own address
");
    assert_eq!(provider.requests(), []);
    let asked = model(
        "      api_key: env:ANTHROPIC_API_KEY\n",
        &provider.address(),
    );
    let printed = run(&asked, "llm probe");
    assert_eq!(printed.code, Some(0), "{printed}");
    let keys: Vec<Option<String>> = provider
        .requests()
        .iter()
        .map(|request| request.headers.get("x-api-key").cloned())
        .collect();
    assert_eq!(keys, [Some(KEY.to_owned())]);
}

#[test]
fn a_model_on_this_machine_is_asked_without_a_proxy() {
    let provider = provider();
    let mut sandbox = model(
        "      api_key: env:ANTHROPIC_API_KEY\n",
        &provider.address(),
    );
    let proxy = proxy(&mut sandbox);
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!((provider.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn a_warehouse_on_this_machine_is_asked_without_a_proxy() {
    let server =
        Loopback::start(|_, _| Answer::new(500, "text/plain", "Code: 1.")).expect("a server");
    let mut sandbox = unscanned("CREATE TABLE t (id INTEGER);");
    let port = server.address().rsplit(':').next().map(str::to_owned);
    let config = format!(
        "connections:\n  warehouse:\n    driver: clickhouse\n    host: 127.0.0.1\n    port: {}\n    database: shop\n    username: reader\n    password: env:PLANTED\n",
        port.expect("a port")
    );
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set("PLANTED", KEY);
    let proxy = proxy(&mut sandbox);
    let printed = run(&sandbox, "connection test");
    assert_ne!(printed.code, Some(0), "{printed}");
    assert_ne!(server.requests(), []);
    assert_eq!(proxy.requests(), []);
}
