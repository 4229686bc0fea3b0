//! Random histories: each protocol's checker accepts the encoded request.

use ktx_llm_runtime::{
    ContentBlock, MediaSource, Message, MessageMetadata, MessageRole, Transport,
};
use ktx_vocabulary::Provider;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{checkers, encoded, settings, tools};
use crate::wire::request::{CanonicalRequest, Thinking};

fn metas() -> impl Strategy<Value = Map<String, Value>> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"signature": "s"})),
        Just(json!({"provider": "anthropic", "signature": "s"})),
        Just(json!({"provider": "gemini", "thought_signature": "t"})),
        Just(json!({"provider": "deepseek", "field": "reasoning_content"})),
        Just(json!({
            "provider": "openai",
            "item": {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
        })),
    ]
    .prop_map(super::map)
}

fn blocks() -> impl Strategy<Value = ContentBlock> {
    let words = prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("hello".to_owned())
    ];
    let ids = prop_oneof![Just(""), Just("a"), Just("b"), Just("ü!")];
    let inputs = prop_oneof![
        Just(json!({})),
        Just(json!({"query": "q"})),
        Just(json!(null)),
        Just(json!([1]))
    ];
    prop_oneof![
        3 => words.clone().prop_map(|text| ContentBlock::Text { text }),
        2 => (words.clone(), metas()).prop_map(|(reasoning, meta)| ContentBlock::Reasoning { reasoning, meta }),
        3 => (ids.clone(), inputs, metas()).prop_map(|(id, input, meta)| ContentBlock::ToolUse {
            id: id.to_owned(),
            name: "sql".to_owned(),
            input,
            meta,
        }),
        3 => (ids, words.clone(), any::<bool>()).prop_map(|(id, content, is_error)| ContentBlock::ToolResult {
            tool_use_id: id.to_owned(),
            content,
            is_error,
        }),
        1 => words.prop_map(|url| ContentBlock::Image {
            source: MediaSource { url: Some(url), ..MediaSource::default() },
        }),
        1 => Just(ContentBlock::Opaque {
            provider: "somebody".to_owned(),
            json: json!({"type": "strange"}),
        }),
    ]
}

fn messages() -> impl Strategy<Value = Message> {
    let roles = prop_oneof![
        Just(MessageRole::User),
        Just(MessageRole::Assistant),
        Just(MessageRole::System)
    ];
    let transports = prop_oneof![
        Just(None),
        Just(Some(Transport::Provider)),
        Just(Some(Transport::Text)),
        Just(Some(Transport::Omit))
    ];
    (roles, proptest::collection::vec(blocks(), 0..5), transports).prop_map(
        |(role, content, transport)| Message {
            role,
            content,
            metadata: MessageMetadata {
                transport,
                ..MessageMetadata::default()
            },
        },
    )
}

type Checker = fn(&Value) -> Result<(), String>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// KODE-01, KODE-02, KODE-03.
    #[test]
    fn any_history_becomes_a_request_that_every_protocol_accepts(
        history in proptest::collection::vec(messages(), 0..8),
    ) {
        let request = CanonicalRequest {
            system: "be brief".to_owned(),
            messages: history,
            tools: tools(),
            thinking: Thinking::On,
            temperature: Some(0.0),
            ..CanonicalRequest::default()
        };
        let cases: [(Provider, &str, Checker); 6] = [
            (Provider::Anthropic, "sonnet", checkers::anthropic),
            (Provider::OpenAi, "gpt-5.5", checkers::responses),
            (Provider::Gemini, "gemini-3.7-flash", checkers::gemini),
            (Provider::DeepSeek, "deepseek-v4-pro", checkers::chat),
            (Provider::Qwen, "qwen3.8-max", checkers::chat),
            (Provider::MiniMax, "MiniMax-M3", checkers::chat),
        ];
        for (provider, model, check) in cases {
            let body = encoded(&settings(provider, model), &request).body;
            prop_assert_eq!(check(&body), Ok(()), "{} {}", provider, body);
        }
    }
}
