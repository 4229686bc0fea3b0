//! Tests of the formatter.

use super::format_source;

fn check(text: &str, expected: &str) {
    assert_eq!(format_source(text, "orders.yaml").as_deref(), Ok(expected));
    assert_eq!(
        format_source(expected, "orders.yaml").as_deref(),
        Ok(expected),
        "what is formatted stays"
    );
}

fn check_refused(text: &str, path: &str, expected: &str) {
    let refused = format_source(text, path).map_err(|error| (error.code, error.to_string()));
    let (code, message) = expected.split_once(' ').unwrap();
    match refused {
        Err((found, text)) => assert_eq!((found.as_str(), text.as_str()), (code, message)),
        Ok(text) => panic!("formatted: {text}"),
    }
}

#[test]
fn keys_come_in_one_order_and_lists_are_indented() {
    check(
        "columns:\n- type: number\n  name: id\n- visibility: hidden\n  name: cost\n  type: number\ngrain: [id]\ntable: sales.orders\nname: orders\n",
        "\
name: orders
table: sales.orders
grain: [id]

columns:
  - name: id
    type: number
  - name: cost
    type: number
    visibility: hidden
",
    );
}

#[test]
fn comments_stay_with_what_they_are_about() {
    check(
        "\
# Sales, by Ada

# one row per order
table: orders   # the view
name:   orders
grain:
    - id # the key
    # - line
measures:
    # booked
    # and paid
    - expr: sum(cost)
      # for people
      name: revenue
    #- name: margin

    - name: count
      # the rows
      expr: count(*)
columns:
    -   name: id
        # whole numbers
        type: number
# the end
",
        "\
# Sales, by Ada

name: orders

# one row per order
table: orders   # the view

grain:
  - id # the key
  # - line

columns:
  - name: id
    # whole numbers
    type: number

measures:
  # booked
  # and paid
  # for people
  - name: revenue
    expr: sum(cost)
  #- name: margin
  - name: count
    # the rows
    expr: count(*)

# the end
",
    );
}

#[test]
fn texts_keep_their_lines_and_quotes() {
    check(
        "\
name: 'orders'
grain: [
  id,
  line
]
sql: |
   select id, line, -- not a key: x
          cost

     from lines
       # kept as text
columns:
- {name: id, type: number}
- {type: number, name: line}
- name: cost
  expr: >-
     a +
     b
  type: number
  descriptions: {ai: guessed, user: written}
- name: note
  type: string
  descriptions:
    other: z
    ai: guessed
    user: \"one: two,
      three\"
",
        "\
name: 'orders'

sql: |
  select id, line, -- not a key: x
         cost

    from lines
      # kept as text

grain: [
    id,
    line
  ]

columns:
  - {name: id, type: number}
  - {type: number, name: line}
  - name: cost
    type: number
    descriptions: {ai: guessed, user: written}
    expr: >-
      a +
      b
  - name: note
    type: string
    descriptions:
      user: \"one: two,
        three\"
      ai: guessed
      other: z
",
    );
}

#[test]
fn overlays_have_their_own_order() {
    check(
        "---\nmeasures:\n- {name: n, expr: count(*)}\njoins:\ncolumn_overrides:\n- name: at\n  tests:\n    dbt: [{b: 1, a: 2}]\n  role: time\nname: orders\nusage:\n  z: 1\n  a:\n  - 1\n  - - 2\n    - 3\n",
        "\
---
name: orders

column_overrides:
  - name: at
    role: time
    tests:
      dbt: [{b: 1, a: 2}]

joins:

measures:
  - {name: n, expr: count(*)}

usage:
  z: 1
  a:
    - 1
    -
      - 2
      - 3
",
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_go() {
    check(
        "\u{feff}name: orders\r\ngrain: [id]\r\n",
        "name: orders\ngrain: [id]\n",
    );
}

#[test]
fn what_would_lose_something_is_refused() {
    let refused = [
        (
            "name: a\nsql: |+\n  select 1\n\ngrain: [id]\n",
            "a.yaml",
            "not_formatted a.yaml: line 2: a block text with `|+` cannot be re-indented",
        ),
        (
            "{name: a, measures: []}\n",
            "a.yaml",
            "not_formatted a.yaml: line 1 has an unusual layout",
        ),
        (
            "name: a\nsegments: &none []\njoins: *none\n",
            "a.yaml",
            "not_formatted a.yaml: the layout of this file cannot be changed without breaking it",
        ),
        (
            "tables: {}\n",
            "_schema/a.yaml",
            "not_formatted _schema/a.yaml: a manifest shard is laid out by the scan that writes it",
        ),
        (
            "name: a\nnmae: b\n",
            "a.yaml",
            "invalid_source a.yaml:2:1: unknown field `nmae`, expected one of `name`, `descriptions`, `grain`, `columns`, `column_overrides`, `joins`, `measures`, `segments`, `exclude_columns`, `disable_joins`, `default_time_dimension`, `usage`",
        ),
    ];
    for (text, path, expected) in refused {
        check_refused(text, path, expected);
    }
}
