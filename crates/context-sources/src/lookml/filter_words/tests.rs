//! Each form of Looker's filter expressions.

use super::{DimensionType, predicate};
use crate::definitions::{Fragment, Sql};

fn sql(kind: DimensionType, words: &str) -> String {
    match predicate(&Sql::column("x"), kind, words) {
        Ok(None) => "every row".to_owned(),
        Err(reason) => format!("left: {reason}"),
        Ok(Some(sql)) => {
            let texts = sql.0.into_iter().map(|fragment| match fragment {
                Fragment::Text(text) => text,
                Fragment::Column { name, .. } | Fragment::Measure { name, .. } => name,
            });
            texts.collect()
        }
    }
}

fn table(kind: DimensionType, words: &[&str]) -> String {
    let lines = words
        .iter()
        .map(|one| format!("{one} → {}", sql(kind, one)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn texts_match_exclude_and_escape() {
    let words = [
        "EU", "EU,US", "-EU", "-EU,-US", "A%", "%a%,B", "-%a%", "NULL", "-NULL", "EMPTY", "-EMPTY",
        "a^,b", "^-5", "100^%", "it's", "A,-B", "a_b", "a_b%", "--x",
    ];
    insta::assert_snapshot!(table(DimensionType::Text, &words), @r"
    EU → x = 'EU'
    EU,US → (x = 'EU' or x = 'US')
    -EU → (x <> 'EU' or x is null)
    -EU,-US → ((x <> 'EU' or x is null) and (x <> 'US' or x is null))
    A% → x like 'A%'
    %a%,B → (x like '%a%' or x = 'B')
    -%a% → (x not like '%a%' or x is null)
    NULL → x is null
    -NULL → x is not null
    EMPTY → (x is null or x = '')
    -EMPTY → (x is not null and x <> '')
    a^,b → x = 'a,b'
    ^-5 → x = '-5'
    100^% → x = '100%'
    it's → x = 'it''s'
    A,-B → (x = 'A' and (x <> 'B' or x is null))
    a_b → x = 'a_b'
    a_b% → left: the filter `a_b%` has a `_`, which `like` reads otherwise
    --x → left: the filter `--x` has no counterpart
    ");
}

#[test]
fn numbers_compare_and_bound() {
    let words = [
        "5",
        "5, 6",
        "NOT 5",
        "<>5",
        ">5",
        ">=5 AND <=10",
        "1 to 10",
        "[1,10]",
        "(1,10]",
        "[5,inf)",
        "(-inf,3)",
        "NULL",
        "NOT NULL",
        "-2.5",
        "NOT 66, 99, 4",
        "5, NOT 6",
        "NOT 3 to 80",
        "NOT >5",
        "many",
    ];
    insta::assert_snapshot!(table(DimensionType::Number, &words), @r"
    5 → x = 5
    5, 6 → (x = 5 or x = 6)
    NOT 5 → (x <> 5 or x is null)
    <>5 → (x <> 5 or x is null)
    >5 → x > 5
    >=5 AND <=10 → (x >= 5 and x <= 10)
    1 to 10 → (x >= 1 and x <= 10)
    [1,10] → (x >= 1 and x <= 10)
    (1,10] → (x > 1 and x <= 10)
    [5,inf) → x >= 5
    (-inf,3) → x < 3
    NULL → x is null
    NOT NULL → x is not null
    -2.5 → x = -2.5
    NOT 66, 99, 4 → ((x <> 66 or x is null) and (x <> 99 or x is null) and (x <> 4 or x is null))
    5, NOT 6 → (x = 5 and (x <> 6 or x is null))
    NOT 3 to 80 → left: the filter `NOT 3 to 80` has no counterpart
    NOT >5 → left: the filter `NOT >5` has no counterpart
    many → left: the filter `many` has no counterpart
    ");
}

#[test]
fn yes_and_no() {
    insta::assert_snapshot!(table(DimensionType::Boolean, &["yes", "No", "maybe"]), @r"
    yes → x
    No → (not x or x is null)
    maybe → left: the filter `maybe` is neither yes nor no
    ");
}

#[test]
fn nothing_lets_every_row_pass() {
    assert_eq!(sql(DimensionType::Text, " "), "every row");
}
