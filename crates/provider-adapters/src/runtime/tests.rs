//! Tests of small parts of the runtime.

use serde_json::json;

use super::object::json_object_in;

#[test]
fn objects_are_found_among_words_and_fences() {
    for text in [
        "{\"a\": 1}",
        "  {\"a\": 1}\n",
        "```json\n{\"a\": 1}\n```",
        "Here it is: {\"a\": 1}. Good luck.",
    ] {
        assert_eq!(json_object_in(text), Some(json!({"a": 1})), "{text}");
    }
    for text in ["", "[1]", "{broken", "} {", "no"] {
        assert_eq!(json_object_in(text), None, "{text}");
    }
}
