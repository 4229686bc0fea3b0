//! Value tests of edits.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const FILE: &str = "\
# Our shop.
connections:
  # The warehouse, read-only.
  warehouse:
    driver: postgres   # do not change
    url: env:URL
    unknown: kept

llm:
  provider: {backend: none}  # later: claude-code

# The end.
future: [1, 2]
";

#[track_caller]
fn check(text: &str, path: &[&str], value: &Value, expected: &str) {
    let edited = set(text, path, value).map_err(|error| error.to_string());
    assert_eq!(edited, Ok(expected.to_owned()));
}

#[track_caller]
fn check_line(path: &[&str], value: &Value, old: &str, new: &str) {
    let expected = FILE.replacen(old, new, 1);
    assert_ne!(expected, FILE);
    check(FILE, path, value, &expected);
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    check(&windows(FILE), path, value, &windows(&expected));
}

#[test]
fn only_the_intended_part_changes() {
    check_line(
        &["llm", "provider", "backend"],
        &json!("claude-code"),
        "{backend: none}",
        "{backend: claude-code}",
    );
    check_line(
        &["connections", "warehouse", "driver"],
        &json!("mysql"),
        "postgres ",
        "mysql ",
    );
    check_line(
        &["connections", "warehouse", "maxConnections"],
        &json!(4),
        "    unknown: kept\n",
        "    unknown: kept\n    maxConnections: 4\n",
    );
    check_line(
        &["llm", "models", "default"],
        &json!("sonnet"),
        "# later: claude-code\n",
        "# later: claude-code\n  models:\n    default: sonnet\n",
    );
    check_line(
        &["ingest", "profile"],
        &json!(true),
        "future: [1, 2]\n",
        "future: [1, 2]\ningest:\n  profile: true\n",
    );
}

#[test]
fn an_edit_that_changes_nothing_keeps_every_byte() {
    check(FILE, &["future"], &json!([1, 2]), FILE);
    assert_eq!(
        remove(FILE, &["llm", "none"]).map_err(|error| error.to_string()),
        Ok(FILE.to_owned())
    );
}

#[test]
fn connections_are_added_and_removed() {
    let connection = Connection {
        id: "local".parse().expect("an id"),
        driver: crate::Driver::Sqlite,
        fields: Map::from_iter([
            ("path".to_owned(), json!("no")),
            ("enabled_tables".to_owned(), json!(["a b", "2024-01-01"])),
        ]),
    };
    let added = set_connection(FILE, &connection).expect("an edit");
    assert_eq!(
        added,
        FILE.replace(
            "    unknown: kept\n",
            "    unknown: kept\n  local:\n    driver: sqlite\n    path: 'no'\n    enabled_tables:\n      - a b\n      - '2024-01-01'\n"
        )
    );
    assert_eq!(remove_connection(&added, "local").expect("an edit"), FILE);
    assert_eq!(
        set_connection("connections: {}\n", &connection)
            .expect("an edit")
            .lines()
            .nth(1),
        Some("  local:")
    );
}

#[test]
fn a_renamed_connection_keeps_its_place_and_its_comments() {
    let renamed = |text: &str, old: &str, new: &str| {
        rename_connection(text, old, new).map_err(|error| error.to_string())
    };
    let expected = FILE.replace("  warehouse:\n", "  shop_2:\n");
    assert_eq!(renamed(FILE, "warehouse", "shop_2"), Ok(expected.clone()));
    assert_eq!(
        renamed(&expected, "shop_2", "warehouse"),
        Ok(FILE.to_owned())
    );
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(
        renamed(&windows(FILE), "warehouse", "shop_2"),
        Ok(windows(&expected))
    );
    assert_eq!(
        renamed("connections: {a: {driver: x}, b: {}}\n", "a", "c"),
        Ok("connections: {c: {driver: x}, b: {}}\n".to_owned())
    );
    assert_eq!(renamed(FILE, "other", "shop_2"), Ok(FILE.to_owned()));
    assert_eq!(
        renamed("connections: {a: {}, b: {}}\n", "a", "b"),
        Err("`connections.b` already exists".to_owned())
    );
}

#[test]
fn empty_objects_are_filled() {
    let path = ["llm", "provider", "backend"];
    let whole = "llm:\n  provider:\n    backend: none\n";
    check("", &path, &json!("none"), whole);
    check("llm:\n", &path, &json!("none"), whole);
    check("llm: {}\n", &path, &json!("none"), whole);
    check("llm:\n  provider:\n", &path, &json!("none"), whole);
    check(
        "# only a comment\n",
        &["a"],
        &json!(1),
        "# only a comment\na: 1\n",
    );
    check("a: 1", &["b"], &json!(2), "a: 1\nb: 2\n");
}

#[test]
fn brackets_stay_brackets() {
    let text = "a: {b: 1, 'c, d': [2], e: {f: 3}} # end\n";
    let edits: [(&[&str], Value, &str); 5] = [
        (
            &["a", "b"],
            json!("x, y"),
            "a: {b: \"x, y\", 'c, d': [2], e: {f: 3}} # end\n",
        ),
        (
            &["a", "c, d"],
            json!([1, "no"]),
            "a: {b: 1, 'c, d': [1, 'no'], e: {f: 3}} # end\n",
        ),
        (
            &["a", "e", "g"],
            json!({"h": null}),
            "a: {b: 1, 'c, d': [2], e: {f: 3, g: {h: null}}} # end\n",
        ),
        (
            &["a", "i", "j"],
            json!(true),
            "a: {b: 1, 'c, d': [2], e: {f: 3}, i: {j: true}} # end\n",
        ),
        (
            &["a", "{k}"],
            json!(1.5),
            "a: {b: 1, 'c, d': [2], e: {f: 3}, '{k}': 1.5} # end\n",
        ),
    ];
    for (path, value, expected) in edits {
        check(text, path, &value, expected);
    }
    let removed = |path: &[&str]| remove(text, path).map_err(|error| error.to_string());
    let expected = [
        (vec!["a", "b"], "a: {'c, d': [2], e: {f: 3}} # end\n"),
        (vec!["a", "e"], "a: {b: 1, 'c, d': [2]} # end\n"),
        (vec!["a", "e", "f"], "a: {b: 1, 'c, d': [2], e: {}} # end\n"),
    ];
    for (path, expected) in expected {
        assert_eq!(removed(&path), Ok(expected.to_owned()));
    }
}

#[test]
fn headers_and_odd_layouts_survive() {
    let value = json!(2);
    check("# c\n---\na: 1\n", &["b"], &value, "# c\n---\na: 1\nb: 2\n");
    check(
        "%YAML 1.2\n---\na: 1\n...\n",
        &["a"],
        &value,
        "%YAML 1.2\n---\na: 2\n...\n",
    );
    check(
        "{a: {b: 1}, c: 3}\n",
        &["a", "x"],
        &value,
        "{a: {b: 1, x: 2}, c: 3}\n",
    );
    check(
        "a:\n    b:   1 # one\n",
        &["a", "x"],
        &value,
        "a:\n    b:   1 # one\n    x: 2\n",
    );
    check(
        "\"a\": {'b': 1}\n",
        &["a", "b"],
        &value,
        "\"a\": {'b': 2}\n",
    );
}

#[test]
fn impossible_edits_are_reported() {
    let error = |text: &str, path: &[&str]| match set(text, path, &json!(1)) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    };
    assert_eq!(error("a: [\n", &["b"]), "`ktx.yaml` cannot be edited");
    assert_eq!(
        error("- a\n", &["b"]),
        "`ktx.yaml` is not an object, so nothing can be put into it"
    );
    assert_eq!(
        error("a: {b: 1}\n", &["a", "b", "c"]),
        "`a.b` is not an object, so nothing can be put into it"
    );
    assert_eq!(error("a: 1\n", &[]), "an edit needs a key");
    assert_eq!(
        error("a: &x {b: 2}\nc: *x\n", &["a", "b"]),
        "`a.b` cannot be changed safely in this file"
    );
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é]{0,20}".prop_map(Value::from),
        prop_oneof![
            Just("no"),
            Just("~"),
            Just("1e3"),
            Just("0x1f"),
            Just("- a"),
            Just("a: b"),
            Just("#x"),
            Just("line\nline\n"),
            Just("'"),
            Just("env:NAME"),
            Just("2024-01-01")
        ]
        .prop_map(Value::from),
    ]
}

fn comments(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.find('#').and_then(|at| line.get(at..)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn edits_can_be_taken_back(value in scalar(), windows in any::<bool>()) {
        let text = if windows { FILE.replace('\n', "\r\n") } else { FILE.to_owned() };
        let path = ["connections", "warehouse", "url"];
        let edited = set(&text, &path, &value)?;
        let back = set(&edited, &path, &json!("env:URL"))?;
        prop_assert_eq!(back, text);
    }

    #[test]
    fn additions_can_be_taken_back(
        value in scalar(),
        list in proptest::collection::vec(scalar(), 0..3),
        parent in prop_oneof![Just(vec![]), Just(vec!["llm"]), Just(vec!["connections", "warehouse"])],
    ) {
        let mut path: Vec<&str> = parent;
        path.push("added");
        let value = json!({"a": value, "list": list});
        let edited = set(FILE, &path, &value)?;
        for comment in comments(FILE) {
            prop_assert!(edited.contains(comment));
        }
        let back = remove(&edited, &path)?;
        prop_assert_eq!(back, FILE);
    }

    #[test]
    fn editing_never_panics(text in "[a-c:,\\-\\[\\]{}#&*!?|>'\" \r\n~0-2]{0,40}") {
        drop(set(&text, &["a", "b"], &json!({"c": [1]})));
        drop(remove(&text, &["a"]));
    }
}
