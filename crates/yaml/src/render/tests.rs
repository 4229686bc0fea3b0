//! Quotes and layout.

use serde_yaml::Value;

use super::{text_scalar, to_yaml};

#[test]
fn quotes_what_a_yaml_1_1_reader_would_misread() {
    let quoted = [
        "no",
        "On",
        "y",
        "NULL",
        "~",
        "",
        "1_000",
        "12:30",
        "2024-01-31",
        "0x1F",
        "1e3",
        "-5",
        ".5",
        "+1",
        "=",
        "<<",
        "a: b",
        "a #b",
        "a:",
        " a",
        "a ",
        "- a",
        "?x",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a`",
        "[a",
        "{a",
        "'a",
        "\"a",
        "true",
        "a\u{a0}b",
    ];
    for text in quoted {
        let written = text_scalar(text);
        assert_eq!(written, format!("'{}'", text.replace('\'', "''")));
        assert_eq!(
            serde_yaml::from_str::<Value>(&written).expect("YAML"),
            Value::from(text)
        );
    }
    for plain in [
        "orders",
        "public.orders",
        "a.x = b.y AND a.z = b.w",
        "größe",
        "it's",
        "a:b",
        "one_to_many",
        "nobody",
    ] {
        assert_eq!(text_scalar(plain), plain);
        assert_eq!(
            serde_yaml::from_str::<Value>(plain).expect("YAML"),
            Value::from(plain)
        );
    }
    for special in [
        "a\nb",
        "tab\there",
        "nul\u{0}",
        "\u{feff}x",
        "line\u{2028}end",
    ] {
        let written = text_scalar(special);
        assert!(written.starts_with('"'), "{written}");
        assert_eq!(
            serde_yaml::from_str::<Value>(&written).expect("YAML"),
            Value::from(special)
        );
    }
}

#[test]
fn writes_block_style_with_two_blanks_a_level() {
    let text = "tables:
  orders:
    table: public.orders
    columns:
      - name: id
        type: number
        pk: true
      - name: 'no'
        type: string
    joins:
      - to: customers
        'on': orders.customer_id = customers.id
    tags: []
    usage: {}
    nested:
      -
        - 1
        - 2.5
      - null
";
    let value: Value = serde_yaml::from_str(text).expect("YAML");
    assert_eq!(to_yaml(&value), text);
}
