//! What stays, changes and is refused when a shard is edited in place.

use serde_yaml::{Mapping, Value};

use super::edit;

fn mapping(text: &str) -> Mapping {
    match serde_yaml::from_str(text).expect("YAML") {
        Value::Mapping(map) => map,
        other => panic!("no mapping: {other:?}"),
    }
}

fn changed(before: &str, meant: &str) -> Result<String, String> {
    let plain = before.trim_start_matches('\u{feff}');
    let old = serde_yaml::from_str::<Option<Mapping>>(plain).expect("YAML");
    edit(before, &old.unwrap_or_default(), &mapping(meant))
        .map_err(|obstacle| format!("line {} holds {}", obstacle.line, obstacle.what))
}

#[track_caller]
fn check(before: &str, meant: &str, after: &str) {
    assert_eq!(changed(before, meant).as_deref(), Ok(after));
}

const OWN: &str = "# top
---
# What the shop sells.

# the tables
tables: # of the shop

  # a group of tables

  # about a
  a:
    columns: # the columns
    - type: string # any text
      # which one it is
      name: x   # x
      tests: {unique: yes}
    # kind is odd
    - {name: kind, type: string}

    # z is last
    - name: z
      type: \"string\"
      # end of z
    table: \"s.a\" # a table
    # end of a

  # about b
  b: {table: s.b}
# mine

note: [1,
  2] # at the end
# end
";

#[test]
fn a_new_table_leaves_all_others_as_they_are() {
    let meant = OWN.replace(
        "  b: {table: s.b}",
        "  0: {table: s.0}\n  aa: {table: s.aa, columns: [{name: id, type: number}]}\n  b: {table: s.b}\n  c: {table: s.c}",
    )
    .replace("  0:", "  '0':");
    let after = OWN
        .replace(
            "\n\n  # about b\n",
            "
  '0':
    table: s.0
  aa:
    table: s.aa
    columns:
      - name: id
        type: number

  # about b
",
        )
        .replace("s.b}\n", "s.b}\n  c:\n    table: s.c\n");
    check(OWN, &meant, &after);
}

#[test]
fn a_table_goes_with_the_comments_that_belong_to_it() {
    let without_a = "tables: {b: {table: s.b}}\nnote: [1, 2]\n";
    let (front, rest) = OWN.split_once("  # about a\n").expect("a");
    let (_, back) = rest.split_once("    # end of a\n").expect("the end of a");
    check(
        OWN,
        without_a,
        &format!("{front}{}", back.trim_start_matches('\n')),
    );
    let without_any = "tables: {}\nnote: [1, 2]\n";
    let after = "# top
---
# What the shop sells.

# the tables
tables: {} # of the shop

  # a group of tables

# mine

note: [1,
  2] # at the end
# end
";
    check(
        OWN,
        without_any,
        &after.replace("tables\n\n#", "tables\n\n\n#"),
    );
}

#[test]
fn columns_come_go_and_change_in_their_places() {
    let meant = OWN
        .replace(
            "    - type: string # any text\n",
            "    - type: number\n      nullable: false\n      descriptions: {db: new}\n",
        )
        .replace(
            "    - {name: kind, type: string}\n",
            "    - {name: new, type: time}\n",
        )
        .replace("type: \\\"string\\\"", "type: time");
    let after = OWN
        .replace(
            "    - type: string # any text\n",
            "    - type: number # any text\n      nullable: false\n      descriptions:\n        db: new\n",
        )
        .replace(
            "    # kind is odd\n    - {name: kind, type: string}\n",
            "    - name: new\n      type: time\n",
        );
    check(OWN, &meant, &after);
}

#[test]
fn a_part_in_another_style_is_rewritten() {
    check(
        OWN,
        &OWN.replace("{name: kind, type: string}", "{name: kind, type: number}"),
        &OWN.replace(
            "    - {name: kind, type: string}\n",
            "    - name: kind\n      type: number\n",
        ),
    );
    check(
        OWN,
        &OWN.replace("  b: {table: s.b}", "  b: {table: s.b, columns: []}"),
        &OWN.replace("  b: {table: s.b}", "  b:\n    table: s.b\n    columns: []"),
    );
}

#[test]
fn line_ends_a_byte_order_mark_and_a_missing_end_stay() {
    let before = format!("\u{feff}{}", OWN.replace('\n', "\r\n"));
    let before = before.trim_end();
    let meant = OWN.replace("  b: {table: s.b}", "  b: {table: s.b}\n  c: {table: s.c}");
    let after = before.replace("s.b}\r\n", "s.b}\r\n  c:\r\n    table: s.c\r\n");
    check(before, &meant, &after);
    check(
        "tables:\n  a:\n    table: a",
        "tables: {a: {table: a}, b: {table: b}}",
        "tables:\n  a:\n    table: a\n  b:\n    table: b\n",
    );
}

#[test]
fn texts_over_several_lines_are_replaced_whole() {
    let before = "tables:
  a:
    descriptions:
      ai: | # by a model
        # one
        two &x

      user: \"over
        two lines # of text\"
    # about the table
    table: a
";
    check(
        before,
        "tables: {a: {descriptions: {ai: new, user: 'it''s # mine'}, table: a}}",
        "tables:
  a:
    descriptions:
      ai: new # by a model

      user: 'it''s # mine'
    # about the table
    table: a
",
    );
    let commented = before.replace("text\"", "text\" # mine");
    assert_eq!(
        changed(
            &commented,
            "tables: {a: {descriptions: {ai: new, user: x}, table: a}}"
        ),
        Err("line 9 holds a comment".to_owned())
    );
}

#[test]
fn a_table_with_another_key_keeps_what_belongs_to_it() {
    check(
        "tables:\n  # ours\n  t: # first\n    table: one.dbo.t\n    # below\n    columns: []\n",
        "tables: {one.dbo.t: {table: one.dbo.t, columns: [{name: id}]}, two.dbo.t: {table: two.dbo.t}}",
        "tables:
  # ours
  one.dbo.t: # first
    table: one.dbo.t
    # below
    columns:
      - name: id
  two.dbo.t:
    table: two.dbo.t
",
    );
}

#[test]
fn an_empty_file_with_comments_gets_its_tables() {
    check(
        "# mine",
        "tables: {a: {table: a}}",
        "# mine\ntables:\n  a:\n    table: a\n",
    );
    check(
        "tables: {} # none yet\n",
        "tables: {a: {table: a}}",
        "tables: # none yet\n  a:\n    table: a\n",
    );
}

#[test]
fn a_long_name_has_a_separate_line() {
    let long = "n".repeat(1025);
    let one = format!("tables: {{\"a\": {{table: a}}, ? {long} : {{table: {long}}}}}");
    let before =
        format!("tables:\n  a: # first\n    table: a\n  ? {long}\n  :\n    table: {long}\n");
    check("tables:\n  a: # first\n    table: a\n", &one, &before);
    let two = one.replace(
        &format!("table: {long}"),
        &format!("table: {long}, columns: []"),
    );
    check(&before, &two, &format!("{before}    columns: []\n"));
}

#[test]
fn what_would_be_lost_is_not_changed() {
    for (before, reason) in [
        ("tables: {a: {table: a}} # mine\nx: 1\n", None),
        (
            "{tables: {a: {table: a}}} # mine\n",
            Some("line 1 holds an unusual layout"),
        ),
        (
            "tables:\n  a: &a\n    table: a\n  z: *a\n",
            Some("line 2 holds an anchor, an alias or a tag"),
        ),
        (
            "tables:\n  a: {table: a,\n    # mine\n    x: y}\n",
            Some("line 3 holds a comment"),
        ),
    ] {
        let mut meant: Value = serde_yaml::from_str(before).expect("YAML");
        meant["tables"]["a"]["columns"] = Value::Sequence(Vec::new());
        let meant = serde_yaml::to_string(&meant).expect("YAML");
        let result = changed(before, &meant);
        assert_eq!(result.err().as_deref(), reason, "{before}");
    }
}

#[test]
fn a_text_in_brackets_is_rewritten() {
    check(
        "{\"tables\": {\"b\": {\"columns\": [],\n\"table\": \"b\"}},\n\"note\": 1}\n",
        "note: 1\ntables: {b: {table: b, columns: [{name: id}]}}\n",
        "tables:\n  b:\n    columns:\n      - name: id\n    table: b\nnote: 1\n",
    );
}
