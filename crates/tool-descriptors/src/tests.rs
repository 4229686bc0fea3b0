//! Value tests of tool sets.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    ArgumentMatcher, CallContext, LONGEST_RESULT, ObjectSchema, ResultParts, ToolDescriptor,
    ToolError, ToolOutput, ToolSet, WholeText, WriteEffect, accepted_schema, handler_fn,
    listed_schema, markdown_of,
};

fn tool(name: &str, input_schema: Value) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        input_schema,
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|arguments, _| Ok(ToolOutput::from_value(arguments))),
    }
}

/// KTX-53.
#[test]
fn refuses_schemas_that_are_not_objects() {
    let error = ToolSet::new(vec![tool("emit", json!({"type": "string"}))]).map(|_| ());
    assert_eq!(
        error.map_err(|error| error.to_string()),
        Err("tool `emit`: the schema must have `\"type\": \"object\"` at its root".to_owned())
    );
    let error = ToolSet::new(vec![tool("a.b", json!({"type": "object"}))]).map(|_| ());
    assert!(error.is_err());
}

/// KTX-52.
#[tokio::test]
async fn validates_arguments_before_the_call() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let set = ToolSet::new(vec![tool("double", schema)]).unwrap();
    let call = |arguments| set.call("double", arguments, CallContext::detached("c1"));
    assert_eq!(
        call(json!({"n": 2})).await.map(|output| output.structured),
        Ok(Some(json!({"n": 2})))
    );
    assert_eq!(
        call(json!({"n": "x"})).await.map_err(|error| error.message),
        Err("MCP error -32602: Input validation error: Invalid arguments for tool double: /n: \"x\" is not of type \"integer\"\nhint: correct `n`".to_owned())
    );
    let unknown = set
        .call("triple", json!({}), CallContext::detached("c2"))
        .await;
    assert_eq!(
        unknown.map_err(|error| error.message),
        Err("MCP error -32602: Tool triple not found; available: double".to_owned())
    );
}

#[tokio::test]
async fn a_cancelled_call_says_so() {
    struct Never;
    #[async_trait::async_trait]
    impl crate::ToolHandler for Never {
        async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, crate::ToolError> {
            std::future::pending().await
        }
    }
    let mut never = tool("never", json!({"type": "object"}));
    never.handler = Arc::new(Never);
    let set = ToolSet::new(vec![never]).unwrap();
    let context = CallContext::detached("c");
    context.cancel.cancel();
    let answer = set.call("never", Value::Null, context).await;
    assert_eq!(
        answer.map_err(|error| error.message),
        Err("the call was cancelled".to_owned())
    );
}

#[test]
fn names_have_at_most_48_characters() {
    let named = |name: &str| ToolSet::new(vec![tool(name, json!({"type": "object"}))]).is_ok();
    let names = ["", "a", "a_B-9", "a b", "é", "a.b"];
    assert_eq!(names.map(named), [false, true, true, false, false, false]);
    assert_eq!(
        [48, 49].map(|length| named(&"a".repeat(length))),
        [true, false]
    );
}

/// KTX-55.
#[test]
fn renders_objects_readably() {
    let value = json!({"b": 1, "a": {"x": [], "y": [true, {"z": null}]}, "text": "two\nlines"});
    assert_eq!(
        markdown_of(&value),
        "- b: 1\n- a:\n  - x: []\n  - y:\n    - true\n    -\n      - z: null\n- text: two\n  lines"
    );
    assert_eq!(
        markdown_of(&json!({"name": "sql", "content": "body"})),
        "# sql\n\nbody"
    );
}

#[test]
fn violations_do_not_repeat_long_values() {
    let schema = ObjectSchema::new(json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
    }))
    .unwrap();
    let long = "x".repeat(100_000);
    assert_eq!(
        schema.violations(&json!({"n": long})),
        ["/n: the value is not of type \"integer\""]
    );
    assert_eq!(
        schema.violations(&json!({"n": {"deep": [long, long]}})),
        ["/n: the value is not of type \"integer\""]
    );
    assert_eq!(
        schema.violations(&json!({"n": {"a": [1, "b"]}})),
        [r#"/n: {"a":[1,"b"]} is not of type "integer""#]
    );
    // A value of 60 bytes with its quotes is repeated, one of 61 is not.
    let repeated = |value: Value| {
        let told = schema.violations(&json!({"n": value}));
        !told.concat().contains("the value")
    };
    let text = |length| json!("x".repeat(length));
    assert_eq!([58, 59].map(|length| repeated(text(length))), [true, false]);
    let map = |length| json!({"k": "x".repeat(length)});
    assert_eq!([55, 56].map(|length| repeated(map(length))), [true, false]);
    let many: Vec<&str> = vec!["x"; 30];
    let told = schema.violations(&json!({"list": many}));
    assert_eq!(
        (told.len(), told[0].as_str(), told[20].as_str()),
        (
            21,
            "/list/0: \"x\" is not of type \"integer\"",
            "(root): there are more violations"
        )
    );
    let mut far = json!({"type": "object", "properties": {}});
    far["properties"][long.as_str()] = json!({"type": "integer"});
    let told = ObjectSchema::new(far)
        .unwrap()
        .violations(&json!({long.as_str(): "x"}));
    let place = format!("/{}… (100001 bytes)", "x".repeat(159));
    assert_eq!(told, [format!("{place}: \"x\" is not of type \"integer\"")]);
}

/// KTX-55.
#[test]
fn a_raw_string_has_one_face() {
    let faces = |value: Value| {
        let output = ToolOutput::from_value(value);
        (output.markdown, output.structured)
    };
    let text = "# Orders\n\n  * one\n  * two";
    assert_eq!(faces(json!(text)), (text.to_owned(), None));
    assert_eq!(faces(json!(7)), ("7".to_owned(), Some(json!(7))));
    assert_eq!(
        faces(json!({"a": "b"})),
        ("- a: b".to_owned(), Some(json!({"a": "b"})))
    );
}

/// KTX-54.
#[test]
fn a_long_result_is_read_in_parts() {
    let mut parts = ResultParts::default();
    let text = "🙂b".repeat(400_000);
    let mut shown = parts.shown(&Ok(ToolOutput::text(text.clone())));
    let mut whole = String::new();
    let mut asked = Vec::new();
    loop {
        let part = shown.expect("a part");
        assert!(part.encode_utf16().count() <= LONGEST_RESULT);
        let Some((head, note)) = part.split_once("\n\n[cut: ") else {
            whole.push_str(&part);
            break;
        };
        whole.push_str(head);
        let cursor = note.split('"').nth(3).expect("a cursor").to_owned();
        shown = parts
            .asked_for(&json!({"_cursor": cursor}))
            .expect("it is one");
        asked.push(cursor);
    }
    assert_eq!(asked, ["part-1", "part-2"]);
    assert!(whole == text);
    let gone = Some(Err(
        "this part does not exist or was read already".to_owned()
    ));
    assert_eq!(parts.asked_for(&json!({"_cursor": "part-1"})), gone);
    assert_eq!(parts.asked_for(&json!({"key": "part-1"})), None);
    let error = parts.shown(&Err(ToolError::new("x".repeat(LONGEST_RESULT + 1))));
    assert!(error.is_err_and(|error| error.contains("\"part-3\"")));
}

#[test]
fn values_that_mean_one_thing_are_written_as_the_schema_writes_them() {
    let schema = ObjectSchema::new(json!({
        "type": "object",
        "properties": {
            "limit": {"type": ["integer", "null"]},
            "text": {"type": "string"},
            "either": {"type": ["integer", "string"]},
            "texts": {"type": "array", "items": {"type": "string"}},
            "objects": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "mixed": {"type": "array", "items": {"anyOf": [
                {"type": "string"}, {"type": "object", "properties": {"n": {"type": "integer"}}},
            ]}},
            "any": {},
        },
    }))
    .unwrap();
    for (written, meant) in [
        (json!({"limit": "5"}), json!({"limit": 5})),
        (json!({"limit": " -5 "}), json!({"limit": -5})),
        (json!({"limit": 5.0}), json!({"limit": 5})),
        (json!({"limit": "5.5"}), json!({"limit": "5.5"})),
        (json!({"limit": 5.5}), json!({"limit": 5.5})),
        (json!({"limit": null}), json!({"limit": null})),
        (json!({"text": "5"}), json!({"text": "5"})),
        (json!({"text": 5}), json!({"text": 5})),
        (json!({"either": "5"}), json!({"either": "5"})),
        (json!({"texts": "a"}), json!({"texts": ["a"]})),
        (json!({"texts": ["a"]}), json!({"texts": ["a"]})),
        (json!({"texts": {"n": 1}}), json!({"texts": {"n": 1}})),
        (
            json!({"objects": {"n": "1"}}),
            json!({"objects": [{"n": 1}]}),
        ),
        (json!({"objects": "a"}), json!({"objects": "a"})),
        (json!({"mixed": "a"}), json!({"mixed": ["a"]})),
        (
            json!({"mixed": ["a", {"n": "1"}]}),
            json!({"mixed": ["a", {"n": 1}]}),
        ),
        (
            json!({"any": "5", "unknown": "5"}),
            json!({"any": "5", "unknown": "5"}),
        ),
        (json!("5"), json!("5")),
    ] {
        assert_eq!(schema.normalized(written.clone()), meant, "{written}");
    }
    assert_eq!(
        accepted_schema(schema.as_value()),
        json!({
            "type": "object",
            "properties": {
                "limit": {"type": ["integer", "string", "null"]},
                "text": {"type": "string"},
                "either": {"type": ["integer", "string"]},
                "texts": {"type": ["array", "string"], "items": {"type": "string"}},
                "objects": {"type": "array", "items": {
                    "type": "object", "properties": {"n": {"type": ["integer", "string"]}},
                }},
                "mixed": {"type": ["array", "string"], "items": {"anyOf": [
                    {"type": "string"}, {"type": "object", "properties": {"n": {"type": ["integer", "string"]}}},
                ]}},
                "any": {},
            },
        })
    );
}

#[test]
fn a_list_is_short() {
    let schema = json!({
        "type": "object",
        "description": "A query.",
        "properties": {
            "limit": {"type": ["integer", "null"], "minimum": 0, "description": "The most rows. Usually\n1000."},
            "parts": {
                "type": ["array", "null"], "description": "What it holds.",
                "items": {"oneOf": [{"const": "plan", "description": "x"}, {"const": "sql", "description": "y"}]},
            },
            "fields": {
                "type": "array", "minItems": 1, "description": "What to group by.",
                "items": {"anyOf": [
                    {"type": "string", "description": "A column."},
                    {"type": "object", "additionalProperties": false, "required": ["field"],
                     "properties": {"field": {"type": "string", "description": "A column."}}},
                ]},
            },
            "across": {
                "description": "How to count.",
                "anyOf": [{"oneOf": [{"const": "each", "type": "string"}]}, {"type": "null"}],
            },
            "cursor": {"type": "string", "x-shared": true, "description": "Where to read on."},
        },
        "required": ["fields"],
        "additionalProperties": false,
    });
    assert_eq!(
        listed_schema(&schema),
        json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "description": "The most rows"},
                "parts": {"type": "array", "description": "What it holds", "items": {"enum": ["plan", "sql"]}},
                "fields": {
                    "type": "array", "description": "What to group by",
                    "items": {"type": ["string", "object"], "properties": {"field": {"type": "string"}}},
                },
                "across": {"enum": ["each"], "description": "How to count"},
                "cursor": {"type": "string"},
            },
            "required": ["fields"],
        })
    );
}

/// HOLO-51.
#[test]
fn arguments_match_literally_fuzzily_or_by_pattern() {
    let literal =
        |expected: Value, given: Value| ArgumentMatcher::Literal(expected).matches(&given);
    assert!(literal(json!(1), json!(1.0)));
    assert!(!literal(json!(1), json!(true)));
    assert!(!literal(json!("1"), json!(1)));
    assert!(literal(
        json!({ "a": [1, 2.5] }),
        json!({ "a": [1.0, 2.5] })
    ));
    assert!(!literal(json!({ "a": 1 }), json!({ "a": 1, "b": 2 })));
    assert!(!literal(json!([1, 2]), json!([2, 1])));
    assert!(!literal(
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992_i64)
    ));

    let fuzzy =
        |expected: &str, given: Value| ArgumentMatcher::Fuzzy(expected.to_owned()).matches(&given);
    assert!(fuzzy("Net Revenue", json!("net_revenue")));
    assert!(fuzzy("1,000", json!(1000)));
    assert!(fuzzy("50 %", json!(0.5)));
    assert!(fuzzy("0.1", json!(0.100_000_000_05)));
    assert!(!fuzzy("0.1", json!(0.100_000_01)));
    assert!(!fuzzy("net", json!("net revenue")));
    assert!(!fuzzy("inf", json!("infinity")));

    let pattern = |pattern: &str, given: Value| {
        ArgumentMatcher::Pattern(WholeText::compile(pattern).unwrap()).matches(&given)
    };
    assert!(pattern("orders|items", json!("items")));
    assert!(!pattern("orders|items", json!("order_items")));
    assert!(pattern("[0-9]+", json!(42)));
    assert!(!pattern("[a-z]+", json!("a\n")));
    assert!(WholeText::compile("a)|(b").is_err());
}
