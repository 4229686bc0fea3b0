//! Results on the wire.

use ktx_tool_descriptors::ToolOutput;
use serde_json::{Value, json};

use super::shapes::success;

#[test]
fn a_long_result_is_text_or_structure() {
    let faces = |text: usize, data: usize| {
        let output = ToolOutput::new("t".repeat(text), json!("d".repeat(data - 2)));
        let result = serde_json::to_value(success(output)).unwrap();
        let length = |place: &str| result.pointer(place).and_then(Value::as_str).map(str::len);
        (
            length("/content/0/text"),
            length("/structuredContent").map(|inner| inner + 2),
        )
    };
    assert_eq!(faces(1024, 1024), (Some(1024), Some(1024)));
    assert_eq!(faces(1024, 5000), (Some(1024), Some(5000)));
    assert_eq!(faces(5000, 1024), (Some(5000), Some(1024)));
    assert_eq!(faces(5000, 5000), (Some(5000), None));
}
