//! Any text may stand as the expression of a measure, of a column and of a filter: it compiles to
//! one query or is refused.
#![no_main]

use ktx_fuzz::{ask, catalog, split};
use ktx_semantic_layer::Query;
use libfuzzer_sys::fuzz_target;

/// The text as a double-quoted scalar, which YAML and JSON read alike.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if u32::from(letter) < 0x20 => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fuzz_target!(|input: &str| {
    let (dialect, text) = split(input);
    let text = quoted(text);
    let source = format!(
        "name: extra\ntable: extra\ngrain: [id]\ncolumns:\n- name: id\n  type: number\n\
         - name: computed\n  type: number\n  expr: {text}\nmeasures:\n- name: measured\n  expr: {text}\n\
         - name: filtered\n  expr: sum(id)\n  filter: {text}\n"
    );
    let loaded = catalog(dialect, Some(&source));
    let questions = [
        r#"{"measures": ["extra.measured"]}"#.to_owned(),
        r#"{"measures": ["extra.filtered"], "dimensions": ["extra.computed"]}"#.to_owned(),
        format!(r#"{{"measures": [{text}]}}"#),
        format!(r#"{{"measures": ["costs.spent_total"], "filters": [{text}]}}"#),
    ];
    for question in questions {
        if let Ok(query) = Query::from_json(&question) {
            ask(&loaded, &query, dialect);
        }
    }
});
