//! Queries and files of the wrong shape: a refusal names the key or line, and the expected content.

use ktx_semantic_layer::{Catalog, Query, SourceFile, conformance, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

fn refusal(query: &Value) -> String {
    let error = Query::from_value(query).expect_err("a refusal");
    let offending = error.offending.as_deref().unwrap_or_default();
    let suggestions = error.suggestions.join(" | ");
    format!(
        "{}: {} [{offending}] {suggestions}",
        error.kind, error.message
    )
}

#[test]
fn a_query_of_another_shape_is_told_which_key_wants_what() {
    let refusals = [
        json!({"measures": "a.n"}),
        json!({"measures": null}),
        json!({"measures": [{"name": "x"}]}),
        json!({"measures": [{"expr": 1}]}),
        json!({"measures": [{"expr": "a.n", "name": ["x"]}]}),
        json!({"dimensions": [{"granularity": "month"}]}),
        json!({"dimensions": [{"field": "a.d", "granularity": 3}]}),
        json!({"dimensions": [true]}),
        json!({"filters": [{"a.k": 1}]}),
        json!({"segments": {"a": "s"}}),
        json!({"order_by": [{"direction": "asc"}]}),
        json!({"order_by": [{"direction": 1, "field": "a.k"}]}),
        json!({"limit": -1}),
        json!({"limit": "5"}),
        json!({"include_empty": "yes"}),
        json!({"fill": 1}),
        json!(["a.n"]),
    ]
    .map(|query| refusal(&query));
    assert_eq!(
        refusals,
        [
            r#"invalid_query: `measures` must be a list, not a text ["a.n"] "measures": ["a.n"]"#,
            "invalid_query: `measures` must be a list, not null [null] ",
            r#"invalid_query: an item of `measures` has no `expr` [{"name":"x"}] "#,
            r#"invalid_query: `expr` of an item of `measures` must be a text, not a number [{"expr":1}] "#,
            r#"invalid_query: `name` of an item of `measures` must be a text, not a list [{"expr":"a.n","name":["x"]}] "#,
            r#"invalid_query: an item of `dimensions` has no `field` [{"granularity":"month"}] "#,
            r#"invalid_query: `granularity` of an item of `dimensions` must be a text, not a number [{"field":"a.d","granularity":3}] "#,
            "invalid_query: an item of `dimensions` must be a text or an object with `field`, `granularity` [true] ",
            r#"invalid_query: an item of `filters` must be a text, not an object [{"a.k":1}] "#,
            r#"invalid_query: `segments` must be a list, not an object [{"a":"s"}] "#,
            r#"invalid_query: an item of `order_by` has no `field` [{"direction":"asc"}] "#,
            r#"invalid_query: `direction` of an item of `order_by` must be a text, not a number [{"direction":1,"field":"a.k"}] "#,
            "invalid_query: `limit` must be a whole number, 0 or greater, not `-1` [-1] ",
            r#"invalid_query: `limit` must be a whole number, 0 or greater, not a text ["5"] "#,
            r#"invalid_query: `include_empty` must be true or false, not a text ["yes"] "#,
            "invalid_query: `fill` must be true or false, not a number [1] ",
            "invalid_query: the query must be a JSON object [] ",
        ]
    );
}

const SOUND: &str = "name: u\ntable: u\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: k, type: number}\n";

fn findings(path: &str, text: &str) -> Vec<String> {
    let files = vec![
        SourceFile::new("u.yaml", SOUND),
        SourceFile::new(path, text),
    ];
    let report = validate(&Catalog::load(files, Dialect::Postgres), &[]);
    let found = report.errors.iter().map(|one| {
        let path = one.path.as_deref().unwrap_or_default();
        format!("{path} {}: {}", one.kind, one.message)
    });
    found.collect()
}

#[test]
fn a_file_holds_one_document() {
    let empty = "e.yaml:1:1 invalid_source: the file is empty; a source file says at least `name`";
    for text in [
        "",
        "# nothing\n",
        "---\n...\n",
        "~\n",
        "# a\n---\n# b\n",
        "%YAML 1.2\n---\n",
    ] {
        assert_eq!(findings("e.yaml", text), [empty], "{text:?}");
    }
    let other = SOUND.replace("name: u\n", "name: v\n");
    let second = |line: usize| {
        format!(
            "e.yaml:{line}:1 parse_error: a second document begins here; put each source into a file of its own"
        )
    };
    for (text, line) in [
        (format!("{other}---\n{SOUND}"), 7),
        (format!("---\n{other}---\n"), 8),
        (format!("{other}...\n# more\n{SOUND}"), 9),
    ] {
        assert_eq!(findings("e.yaml", &text), [second(line)], "{text:?}");
    }
    for text in [format!("# u\n---\n{other}"), format!("{other}...\n")] {
        assert_eq!(findings("e.yaml", &text), Vec::<String>::new(), "{text:?}");
    }
    assert_eq!(
        findings("_schema/e.yaml", "tables: {}\n---\ntables: {}\n"),
        [
            "_schema/e.yaml:2:1 parse_error: a second document begins here; put all tables under one `tables`"
        ]
    );
    assert_eq!(findings("_schema/e.yaml", "# none\n"), Vec::<String>::new());
}

#[test]
fn hidden_files_are_not_read() {
    for path in [".e.yaml", "old/.e.yaml", ".old/e.yaml", "_schema/.e.yaml"] {
        assert_eq!(findings(path, "["), Vec::<String>::new(), "{path}");
    }
    assert_eq!(findings("./e.yaml", "[").len(), 1);
}

#[test]
fn a_join_of_a_shard_says_where_it_comes_from() {
    let shard = |word: &str| {
        format!(
            "tables:\n  t:\n    table: t\n    columns:\n    - {{name: k, type: bigint}}\n    joins:\n    - {{to: u, on: k = u.id, relationship: many_to_one, source: {word}}}\n"
        )
    };
    for word in ["formal", "inferred", "manual"] {
        assert_eq!(
            findings("_schema/t.yaml", &shard(word)),
            Vec::<String>::new()
        );
    }
    assert_eq!(
        findings("_schema/t.yaml", &shard("guessed")),
        [
            "_schema/t.yaml:7:64 invalid_source: tables.t.joins[0].source: unknown variant `guessed`, \
             expected one of `formal`, `inferred`, `manual`"
        ]
    );
}

#[test]
fn what_cannot_stand_here_is_said() {
    let text = "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: k, type: number}\n\
                - {name: far, type: number, expr: u.id + k}\n- {name: lost, type: number, expr: u.idd + k}\n\
                - {name: summed, type: number, expr: k + total}\n\
                joins:\n- {to: u, on: k = u.id, relationship: many_to_one}\nmeasures:\n- {name: total, expr: sum(k)}\n";
    assert_eq!(
        findings("t.yaml", text),
        [
            "t.yaml:7:4 unknown_column: column `far`: `t.far` is computed from `u.id` of another source, and \
             a computed column has only the columns of its own; a measure or a segment can look it up",
            "t.yaml:8:4 unknown_column: column `lost`: unknown column `u.idd`; did you mean `u.id`",
            "t.yaml:9:4 unknown_column: column `summed`: `t.total` is a measure, and only columns can stand here",
        ]
    );
    let load = |_: &str| {
        Ok(vec![
            SourceFile::new("u.yaml", SOUND),
            SourceFile::new("t.yaml", text),
        ])
    };
    let request = json!({"op": "compile", "dialect": "postgres", "query": {"measures": ["t.total"], "dimensions": ["t.far"]}});
    let answer: Value =
        serde_json::from_str(&conformance::answer(&request.to_string(), &load)).expect("JSON");
    assert_eq!(
        answer["error"]["message"],
        "`t.far` is computed from `u.id` of another source, and a computed column has only the columns of \
         its own; a measure or a segment can look it up"
    );
}

/// Columns that differ in case are different, however quoted.
#[test]
fn measures_of_columns_that_differ_in_case_are_not_the_same() {
    let text = |first: &str, second: &str| {
        format!(
            "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: Name, type: string}}\n- {{name: name, type: string}}\n- {{name: size, type: number}}\n\
             joins:\n- {{to: u, on: id = u.id, relationship: many_to_one}}\nmeasures:\n- {{name: a, expr: '{first}'}}\n- {{name: b, expr: '{second}'}}\n"
        )
    };
    let none: [&str; 0] = [];
    assert_eq!(
        findings("t.yaml", &text("count(Name)", "count(name)")),
        none
    );
    let same =
        ["t.yaml:13:4 duplicate_measure_expr: measures `a` and `b` are the same; remove one"];
    for (first, second) in [
        ("count(name)", "count(t.\"name\")"),
        ("sum(size)", "SUM( t.Size )"),
    ] {
        assert_eq!(findings("t.yaml", &text(first, second)), same, "{first}");
    }
}
