//! Value tests of reading YAML.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match load(text.as_bytes(), "f.yaml") {
        Ok(loaded) => loaded.value.to_string(),
        Err(problems) => problems.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    check(
        "a: no\nb: 1_000\nc: 2024-01-01\nd: 12:30\ne: 0o17\nf: ~\ng: 1.5\nh: 'x'\ni: true\n1: k\n",
        r#"{"a":"no","b":"1_000","c":"2024-01-01","d":"12:30","e":15,"f":null,"g":1.5,"h":"x","i":true,"1":"k"}"#,
    );
}

#[test]
fn marks_and_windows_line_ends_are_accepted() {
    check(
        "\u{feff}a:\r\n  - 1\r\n  - b: x\r\n",
        r#"{"a":[1,{"b":"x"}]}"#,
    );
}

#[test]
fn nothing_is_null() {
    check("", "null");
    check("\u{feff}\n", "null");
    check("# only a comment\n", "null");
    check("---\n", "null");
}

#[test]
fn merge_keys_are_ordinary_and_tags_are_ignored() {
    check(
        "a: &x {b: 1}\nc:\n  <<: *x\n",
        r#"{"a":{"b":1},"c":{"<<":{"b":1}}}"#,
    );
    check("a: !thing {b: !other 1}\n", r#"{"a":{"b":1}}"#);
}

#[test]
fn every_duplicate_key_is_refused_with_the_place_of_the_second() {
    check(
        "a: 1\nb:\n  c: 1\n  'c': 2\na: 3\n",
        "f.yaml:4:3: `b.c` is there twice\nf.yaml:5:1: `a` is there twice",
    );
    check(
        "x: {a: 1, b: 2, a: 3}\n",
        "f.yaml:1:17: `x.a` is there twice",
    );
}

#[test]
fn syntax_errors_have_a_place() {
    check(
        "a: [1, 2\nb: 3\n",
        "f.yaml:2:2: cannot be read as YAML: did not find expected ',' or ']'",
    );
    check(
        "a: 1\n\tb: 2\n",
        "f.yaml:2:1: cannot be read as YAML: found a tab character that violates indentation",
    );
    check(
        "a: *gone\n",
        "f.yaml:1:4: cannot be read as YAML: unknown anchor",
    );
    check(
        "a: 1\n---\nb: 2\n",
        "f.yaml:2:1: cannot be read as YAML: deserializing from YAML containing more than one document is not supported",
    );
    check(
        "? [a]\n: 1\n",
        "f.yaml:1:3: cannot be read as YAML: invalid type: sequence, expected a key that is text",
    );
    check(
        "a: .inf\n",
        "f.yaml:1:4: cannot be read as YAML: a: infinite numbers and `.nan` are not supported",
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_place() {
    let found = load(b"a: 1\nb: \xc3\xa9\xff\n", "f.yaml").map(|loaded| loaded.value);
    let found = found.map_err(|problems| problems.to_string());
    assert_eq!(
        found,
        Err("f.yaml:2:5: `f.yaml` is not UTF-8 text".to_owned())
    );
}

#[test]
fn files_that_are_too_large_are_refused() {
    let text = " ".repeat(MAX_BYTES + 1);
    check(
        &text,
        "f.yaml: `f.yaml` is too large: 10485761 bytes, at most 10485760 are read",
    );
}

#[test]
fn aliases_that_expand_without_bounds_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        let list = [below.as_str(); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{list}]").expect("a string takes all");
    }
    let problems = load(text.as_bytes(), "f.yaml")
        .expect_err("it is a bomb")
        .to_string();
    assert!(problems.contains("f.yaml"), "{problems}");
    let wide = format!(
        "a: &a [{}]\nb: [{}]\n",
        "x, ".repeat(20_000),
        "*a, ".repeat(20_000)
    );
    let problems = load(wide.as_bytes(), "f.yaml")
        .expect_err("it is a bomb")
        .to_string();
    assert!(
        problems.ends_with("its aliases add more than 100000 values"),
        "{problems}"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, levels| format!("a: {}", open.repeat(levels));
    check(
        &deep("[", 100_000),
        "f.yaml:1:1: cannot be read as YAML: nested more than 1000 levels deep",
    );
    check(
        &format!("{}{}", deep("[", 500), "]".repeat(500)),
        "f.yaml:1:131: cannot be read as YAML: recursion limit exceeded",
    );
    check(
        &format!("a:\n  {}x\n", "- ".repeat(10_000)),
        "f.yaml:2:257: cannot be read as YAML: recursion limit exceeded",
    );
}

#[test]
fn places_are_those_of_keys_and_values() {
    let text =
        "# top\nllm:\n  provider: {backend: x}\nlist:\n- a\n- b: 1\n  é: *q\nz: &q !t\n  k: v\n";
    let text = text.replace("*q", "2");
    let places = load(text.as_bytes(), "f").expect("good text").places;
    let at = |path: &[&str]| format!("{} {}", places.key(path), places.value(path));
    assert_eq!(at(&[]), "f:1:1 f:1:1");
    assert_eq!(at(&["llm"]), "f:2:1 f:3:3");
    assert_eq!(at(&["llm", "provider", "backend"]), "f:3:14 f:3:23");
    assert_eq!(at(&["list", "0"]), "f:5:3 f:5:3");
    assert_eq!(at(&["list", "1", "é"]), "f:7:3 f:7:6");
    assert_eq!(at(&["z", "k"]), "f:9:3 f:9:6");
    assert_eq!(at(&["llm", "models", "default"]), "f:2:1 f:3:3");
}

const LINE: &str = "(  |    |      )?(- |- - )?([a-e]:|[a-e]: f|[a-e]: \\{f: g, h, 'i':j\\}|[a-e]: \\[f, \\{g: h\\}\
                    |[a-e]: \\[f, \\{g: h\\}, i: j\\]|  k\\]|[a-e]: 'f: g'|[a-e]: \"f\\\\\" # g\"|[a-e]: 'f|  g'|[a-e]: f # g\
                    |# [a-e]: f|[a-e]: [|>]-?|[a-e]: &f|[a-e]: !f g|&f|'[a-e] f': g|[a-e]: f:g|f g|--- )?\r?\n";

fn without_place(value: &Value, places: &YamlPositions, path: &mut Vec<String>) -> Option<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(at, item): (usize, _)| (at.to_string(), item))
            .collect(),
        _ => return None,
    };
    inner.into_iter().find_map(|(key, value)| {
        path.push(key);
        let way: Vec<&str> = path.iter().map(String::as_str).collect();
        let found = if places.has(&way) {
            without_place(value, places, path)
        } else {
            Some(path.join("."))
        };
        path.pop();
        found
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(load(&bytes, "f.yaml"));
    }

    #[test]
    fn reading_yaml_like_text_never_panics(text in "[a-c:,\\-\\[\\]{}#&*!?|>'\"\\\\ \t\r\n~0-2.]{0,60}") {
        drop(load(text.as_bytes(), "f.yaml"));
    }

    #[test]
    fn every_value_has_its_own_place(lines in proptest::collection::vec(LINE, 0..5)) {
        let text = lines.concat();
        if let Ok(loaded) = load(text.as_bytes(), "f.yaml") {
            prop_assert_eq!(without_place(&loaded.value, &loaded.places, &mut Vec::new()), None);
        }
    }

    #[test]
    fn json_is_read_as_what_it_is(words in proptest::collection::vec("[ -~é\n]{0,12}", 0..6), numbers in proptest::collection::vec(any::<i32>(), 0..4)) {
        let value = json!({"words": words, "numbers": numbers, "deep": {"flag": true, "none": null}});
        let loaded = load(value.to_string().as_bytes(), "f.yaml").map(|loaded| loaded.value);
        prop_assert_eq!(loaded.map_err(|problems| problems.to_string()), Ok(value));
    }
}

/// A schema shard with 10,000 columns.
#[test]
fn large_files_are_read() {
    let mut text = "tables:\n".to_owned();
    for table in 0..500 {
        writeln!(text, "  t{table}:\n    columns:").expect("a string takes all");
        for column in 0..20 {
            writeln!(text, "      - {{name: c{column}, type: string}}")
                .expect("a string takes all");
        }
    }
    let loaded = load(text.as_bytes(), "f.yaml").expect("good text");
    let last = loaded.value.pointer("/tables/t499/columns/19/name");
    assert_eq!(last, Some(&json!("c19")));
    let place = loaded
        .places
        .value(&["tables", "t499", "columns", "19", "name"]);
    assert_eq!(place.to_string(), "f.yaml:11001:16");
}
