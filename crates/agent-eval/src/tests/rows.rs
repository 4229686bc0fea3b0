//! Query rows.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::line;
use crate::{
    Cell, Extent, ExtraColumns, FailureClass, RowOrder, SqlResultOptions, Table, Tolerance,
    WholeNumbers, sql_result,
};

const DEFAULT: SqlResultOptions = SqlResultOptions::DEFAULT;

fn table(rows: &Value) -> Table {
    let rows: Vec<Vec<Cell>> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_array().unwrap().iter().map(Cell::json).collect())
        .collect();
    let width = rows.first().map_or(0, Vec::len);
    Table {
        columns: (0..width).map(|column| format!("c{column}")).collect(),
        rows,
        extent: Extent::Whole,
    }
}

fn grade(gold: &Value, actual: &Value, options: &SqlResultOptions) -> String {
    line(&sql_result(Some(&table(actual)), &table(gold), options))
}

fn is_equal(gold: &Value, actual: &Value) -> bool {
    let grade = sql_result(
        Some(&table(&json!([[actual]]))),
        &table(&json!([[gold]])),
        &DEFAULT,
    );
    grade.unwrap().failure.is_none()
}

#[test]
fn cells_are_equal_by_value() {
    let equal = [
        (json!(null), json!(null)),
        (json!(1), json!(1.0)),
        (json!(0.0), json!(-0.0)),
        (json!(1_000_000.5), json!(1_000_001)),
        (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_993_u64),
        ),
        (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_996.0),
        ),
        (json!(1e-10), json!(0)),
        (json!("2025-09-30"), json!("2025-09-30 00:00:00")),
        (json!("2025-09-30"), json!("2025-09-30T00:00:00.000Z")),
        (
            json!("2025-09-30T01:00:00+01:00"),
            json!("2025-09-30 00:00"),
        ),
        (json!("Caf\u{e9}"), json!("Cafe\u{301}")),
        (json!([1, 2]), json!([1, 2])),
    ];
    for (gold, actual) in equal {
        assert!(is_equal(&gold, &actual), "{gold} {actual}");
    }
    let different = [
        (json!(null), json!(0)),
        (json!(null), json!("")),
        (json!(true), json!(1)),
        (json!(1), json!("1")),
        (json!(1_000_000), json!(1_000_001)),
        (json!(1_000_000.5), json!(1_000_002)),
        (
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
        ),
        (
            json!(-9_007_199_254_740_994_i64),
            json!(-9_007_199_254_740_993_i64),
        ),
        (json!(1e-8), json!(0)),
        (json!("2025-09-30"), json!("2025-09-30 00:00:01")),
        (json!("a"), json!("A")),
        (json!("a"), json!("a ")),
    ];
    for (gold, actual) in different {
        assert!(!is_equal(&gold, &actual), "{gold} {actual}");
    }
}

#[test]
fn columns_are_found_by_their_values() {
    let gold = json!([["a", 1, 2], ["b", 2, 1], ["c", 3, 3]]);
    let forbid = SqlResultOptions {
        extra_columns: ExtraColumns::Forbid,
        ..DEFAULT
    };
    let turned = json!([[2, "a", 1], [1, "b", 2], [3, "c", 3]]);
    let wider = json!([["a", 1, 2, "x"], ["b", 2, 1, "y"], ["c", 3, 3, "z"]]);
    let multiplied = json!([
        ["a", 1, 2, "x"],
        ["a", 1, 2, "y"],
        ["b", 2, 1, "z"],
        ["c", 3, 3, "z"]
    ]);
    // Both columns have the values 1, 2, 3.
    let mix_bits = json!([["a", 2, 1], ["b", 1, 2], ["c", 3, 3]]);
    let crossed = json!([["a", 1, 1], ["b", 2, 2], ["c", 3, 3]]);
    let lines = [
        grade(&gold, &turned, &DEFAULT),
        grade(&gold, &wider, &DEFAULT),
        grade(&gold, &wider, &forbid),
        grade(&gold, &multiplied, &DEFAULT),
        grade(&gold, &mix_bits, &DEFAULT),
        grade(&gold, &crossed, &DEFAULT),
        grade(&gold, &json!([["a", 1], ["b", 2], ["c", 3]]), &DEFAULT),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · 4 columns; the reference has 3 · {"matched":3,"missing":0,"extra":0,"soft":1.0,"missing_rows":[],"extra_rows":[]}
    0.0000 · wrong_rows · 4 rows; the reference has 3 · {"matched":3,"missing":0,"extra":1,"soft":0.8571428571428571,"missing_rows":[],"extra_rows":[["a",1,2,"y"]]}
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · the rows differ · {"matched":1,"missing":2,"extra":2,"soft":0.3333333333333333,"missing_rows":[["a",1,2],["b",2,1]],"extra_rows":[["a",1,1],["b",2,2]]}
    0.0000 · wrong_rows · 2 of 3 columns · {"matched":0,"missing":3,"extra":3,"soft":0.0,"missing_rows":[["a",1,2],["b",2,1],["c",3,3]],"extra_rows":[["a",1],["b",2],["c",3]]}
    "#);
}

#[test]
fn rows_are_a_multiset() {
    let gold = json!([["a", 1], ["a", 1], ["b", 2]]);
    let lines = [
        grade(&gold, &json!([["b", 2], ["a", 1], ["a", 1]]), &DEFAULT),
        grade(&gold, &json!([["a", 1], ["b", 2]]), &DEFAULT),
        grade(&gold, &json!([["a", 1], ["b", 2], ["b", 2]]), &DEFAULT),
        grade(&gold, &json!([]), &DEFAULT),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · 2 rows; the reference has 3 · {"matched":2,"missing":1,"extra":0,"soft":0.8,"missing_rows":[["a",1]],"extra_rows":[]}
    0.0000 · wrong_rows · the rows differ · {"matched":2,"missing":1,"extra":1,"soft":0.6666666666666666,"missing_rows":[["a",1]],"extra_rows":[["b",2]]}
    0.0000 · wrong_rows · 0 of 2 columns · {"matched":0,"missing":3,"extra":0,"soft":0.0,"missing_rows":[["a",1],["a",1],["b",2]],"extra_rows":[]}
    "#);
    let many: Vec<Value> = (0..9).map(|row| json!([row, "x"])).collect();
    let others: Vec<Value> = (100..109).map(|row| json!([row, "x"])).collect();
    assert_snapshot!(grade(&json!(many), &json!(others), &DEFAULT), @r#"0.0000 · wrong_rows · the rows differ · {"matched":0,"missing":9,"extra":9,"soft":0.0,"missing_rows":[[0,"x"],[1,"x"],[2,"x"],[3,"x"],[4,"x"]],"extra_rows":[[100,"x"],[101,"x"],[102,"x"],[103,"x"],[104,"x"]]}"#);
}

#[test]
fn order_counts_where_the_reference_orders() {
    let gold = json!([["a", 3], ["b", 2], ["c", 2], ["d", 1]]);
    let tied = json!([["a", 3], ["c", 2], ["b", 2], ["d", 1]]);
    let mix_bits = json!([["a", 3], ["b", 2], ["d", 1], ["c", 2]]);
    let order = |order: RowOrder| SqlResultOptions { order, ..DEFAULT };
    let by_number = order(RowOrder::SortedBy(vec![1]));
    let lines = [
        grade(&gold, &mix_bits, &DEFAULT),
        grade(&gold, &gold, &order(RowOrder::Listed)),
        grade(&gold, &tied, &order(RowOrder::Listed)),
        grade(&gold, &tied, &by_number),
        grade(&gold, &mix_bits, &by_number),
        grade(
            &gold,
            &json!([["a", 3], ["b", 2], ["c", 2], ["d", 0]]),
            &by_number,
        ),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":4,"missing":0,"extra":0,"soft":1.0}
    1.0000 · {"matched":4,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_order · row 2 is in another place · {"matched":4,"missing":0,"extra":0,"soft":1.0}
    1.0000 · {"matched":4,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_order · row 3 is in another place · {"matched":4,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · the rows differ · {"matched":3,"missing":1,"extra":1,"soft":0.75,"missing_rows":[["d",1]],"extra_rows":[["d",0]]}
    "#);
}

#[test]
fn rows_without_a_whole_reference_have_no_score() {
    let whole = table(&json!([[1]]));
    let cut = Table {
        extent: Extent::Truncated,
        ..whole.clone()
    };
    let empty = table(&json!([]));
    let ragged = Table {
        columns: vec!["a".to_owned(), "b".to_owned()],
        ..whole.clone()
    };
    let may_be_empty = SqlResultOptions {
        allow_empty: true,
        ..DEFAULT
    };
    let lines = [
        line(&sql_result(Some(&cut), &whole, &DEFAULT)),
        line(&sql_result(Some(&whole), &cut, &DEFAULT)),
        line(&sql_result(Some(&whole), &empty, &DEFAULT)),
        line(&sql_result(Some(&whole), &empty, &may_be_empty)),
        line(&sql_result(Some(&empty), &empty, &may_be_empty)),
        line(&sql_result(Some(&ragged), &whole, &DEFAULT)),
        line(&sql_result(None, &whole, &DEFAULT)),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    error truncated: the rows of the agent are truncated
    error truncated_reference: the rows of the reference are truncated
    error empty_reference: the reference has no rows
    0.0000 · wrong_rows · 1 rows; the reference has 0 · {"matched":0,"missing":0,"extra":1,"soft":0.0,"missing_rows":[],"extra_rows":[[1]]}
    1.0000 · {"matched":0,"missing":0,"extra":0,"soft":1.0}
    error ragged_rows: row 1 has 1 cells; the table has 2 columns
    0.0000 · no_rows · no query succeeded · {"matched":0,"missing":1,"extra":0,"soft":0.0}
    "#);
}

#[test]
fn multiplied_numbers_are_a_fan_out() {
    let gold = json!([["a", 10, 1], ["b", 20, 2], ["c", 0, 3]]);
    let lines = [
        grade(
            &gold,
            &json!([["a", 30, 1], ["b", 60, 2], ["c", 0, 3]]),
            &DEFAULT,
        ),
        // Only one of the groups.
        grade(
            &gold,
            &json!([[2, 40, "b"], [1, 10, "a"], [3, 0, "c"]]),
            &DEFAULT,
        ),
        grade(
            &gold,
            &json!([["a", 30, 3], ["b", 60, 6], ["c", 0, 9]]),
            &DEFAULT,
        ),
        grade(
            &gold,
            &json!([["a", 30, 1], ["b", 40, 2], ["c", 0, 3]]),
            &DEFAULT,
        ),
        grade(
            &gold,
            &json!([["a", 15, 1], ["b", 30, 2], ["c", 0, 3]]),
            &DEFAULT,
        ),
        grade(&json!([[100]]), &json!([[-200]]), &DEFAULT),
        grade(&json!([[100, 7]]), &json!([[200, 14]]), &DEFAULT),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    0.0000 · fan_out · every number that differs is 3 times the reference · {"fan_out_factor":3,"matched":1,"missing":2,"extra":2,"soft":0.3333333333333333,"missing_rows":[["a",10,1],["b",20,2]],"extra_rows":[["a",30,1],["b",60,2]]}
    0.0000 · fan_out · every number that differs is 2 times the reference · {"fan_out_factor":2,"matched":2,"missing":1,"extra":1,"soft":0.6666666666666666,"missing_rows":[["b",20,2]],"extra_rows":[[2,40,"b"]]}
    0.0000 · fan_out · every number that differs is 3 times the reference · {"fan_out_factor":3,"matched":0,"missing":3,"extra":3,"soft":0.0,"missing_rows":[["a",10,1],["b",20,2],["c",0,3]],"extra_rows":[["a",30,3],["b",60,6],["c",0,9]]}
    0.0000 · wrong_rows · the rows differ · {"matched":1,"missing":2,"extra":2,"soft":0.3333333333333333,"missing_rows":[["a",10,1],["b",20,2]],"extra_rows":[["a",30,1],["b",40,2]]}
    0.0000 · wrong_rows · the rows differ · {"matched":1,"missing":2,"extra":2,"soft":0.3333333333333333,"missing_rows":[["a",10,1],["b",20,2]],"extra_rows":[["a",15,1],["b",30,2]]}
    0.0000 · wrong_rows · the rows differ · {"matched":0,"missing":1,"extra":1,"soft":0.0,"missing_rows":[[100]],"extra_rows":[[-200]]}
    0.0000 · fan_out · every number that differs is 2 times the reference · {"fan_out_factor":2,"matched":0,"missing":1,"extra":1,"soft":0.0,"missing_rows":[[100,7]],"extra_rows":[[200,14]]}
    "#);
}

/// An inexact number can match two exact ones.
#[test]
fn whole_numbers_are_exact_beside_others() {
    let ids = json!([[5_000_000], [5_000_001]]);
    let lines = [
        grade(&ids, &ids, &DEFAULT),
        grade(&ids, &json!([[5_000_001], [5_000_002]]), &DEFAULT),
        grade(&ids, &json!([[5_000_001.2], [5_000_002.2]]), &DEFAULT),
        grade(&ids, &json!([[5_000_001], [5_000_001.2]]), &DEFAULT),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":2,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · the rows differ · {"matched":1,"missing":1,"extra":1,"soft":0.5,"missing_rows":[[5000000]],"extra_rows":[[5000002]]}
    1.0000 · {"matched":2,"missing":0,"extra":0,"soft":1.0}
    1.0000 · {"matched":2,"missing":0,"extra":0,"soft":1.0}
    "#);
}

/// One number alone does not prove a fan-out, nor does a multiple of 1.
#[test]
fn a_fan_out_needs_evidence() {
    let class = |gold: Value, actual: Value| {
        let grade = sql_result(Some(&table(&actual)), &table(&gold), &DEFAULT).unwrap();
        let class = grade.failure.map(FailureClass::as_str);
        format!("{gold} {actual} {}", class.unwrap_or("passed"))
    };
    let lines = [
        class(json!([[1]]), json!([[7]])),
        class(json!([[100]]), json!([[200]])),
        class(json!([[1, 1]]), json!([[7, 7]])),
        class(json!([[1, 5]]), json!([[7, 35]])),
        class(json!([["a", 1], ["b", 9]]), json!([["a", 7], ["b", 9]])),
        class(json!([["a", 1], ["b", 1]]), json!([["a", 7], ["b", 7]])),
        class(json!([["a", 4], ["b", 9]]), json!([["a", 8], ["b", 9]])),
        class(json!([["a", 4], ["b", 9]]), json!([["a", 8], ["b", 27]])),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    [[1]] [[7]] wrong_rows
    [[100]] [[200]] wrong_rows
    [[1,1]] [[7,7]] wrong_rows
    [[1,5]] [[7,35]] fan_out
    [["a",1],["b",9]] [["a",7],["b",9]] wrong_rows
    [["a",1],["b",1]] [["a",7],["b",7]] fan_out
    [["a",4],["b",9]] [["a",8],["b",9]] fan_out
    [["a",4],["b",9]] [["a",8],["b",27]] wrong_rows
    "#);
}

/// The ends are not within the tolerance.
#[test]
fn tolerance_pairs_rows_one_to_one() {
    let chain = json!([[1.0], [1.000_000_8], [1.000_001_6]]);
    let lines = [
        grade(&chain, &json!([[1.000_000_8], [1.0], [1.0]]), &DEFAULT),
        grade(&chain, &json!([[1.0], [1.0], [1.0]]), &DEFAULT),
        // Equal only if paired otherwise than by sorting.
        grade(
            &json!([[1.0, 1.000_001_5], [1.000_000_8, 1.0], [5, 1.000_000_8]]),
            &json!([
                [1.000_000_4, 1.0],
                [1.000_000_5, 1.000_001_5],
                [5, 1.000_000_8]
            ]),
            &DEFAULT,
        ),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    0.0000 · wrong_rows · the rows differ · {"matched":2,"missing":1,"extra":1,"soft":0.6666666666666666,"missing_rows":[[1.0000016]],"extra_rows":[[1]]}
    1.0000 · {"matched":3,"missing":0,"extra":0,"soft":1.0}
    "#);
}

/// Rows are the edges of rings, columns their corners.
fn rings(sizes: &[usize]) -> Table {
    let corners: usize = sizes.iter().sum();
    let mut rows = Vec::new();
    let mut first = 0;
    for size in sizes {
        for edge in 0..*size {
            let mut row = vec![Cell::Bool(false); corners];
            row[first + edge] = Cell::Bool(true);
            row[first + (edge + 1) % size] = Cell::Bool(true);
            rows.push(row);
        }
        first += size;
    }
    Table {
        columns: vec![String::new(); corners],
        rows,
        extent: Extent::Whole,
    }
}

#[test]
fn the_search_for_columns_is_bounded() {
    let one = rings(&[40]);
    let two = rings(&[20, 20]);
    let mut turned = two.clone();
    for row in &mut turned.rows {
        row.reverse();
    }
    let lines = [
        line(&sql_result(Some(&turned), &two, &DEFAULT)),
        line(&sql_result(Some(&two), &one, &DEFAULT)),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"matched":40,"missing":0,"extra":0,"soft":1.0}
    error ambiguous_columns: no match of the columns was found in 10000 tries
    "#);
}

/// All numbers above a million share a code.
#[test]
fn turned_columns_of_dense_numbers_are_found() {
    let row = |first: u32, second: u32| -> Vec<Cell> {
        [first, second]
            .map(|number| Cell::Number(f64::from(5_000_000 + number)))
            .to_vec()
    };
    let side = |rows: Vec<Vec<Cell>>| Table {
        columns: vec![String::new(); 2],
        rows,
        extent: Extent::Whole,
    };
    let options = SqlResultOptions {
        tolerance: Tolerance {
            whole_numbers: WholeNumbers::WithinTolerance,
            ..Tolerance::DEFAULT
        },
        ..DEFAULT
    };
    let gold = side((0..400).map(|it| row(it, it + 100)).collect());
    let turned = side((0..400).rev().map(|it| row(it + 100, it)).collect());
    let shifted = side((0..400).map(|it| row(it + 100, it + 200)).collect());
    let lines = [&gold, &turned, &shifted].map(|actual| {
        let grade = sql_result(Some(actual), &gold, &options).unwrap();
        format!("{} {}", grade.score, grade.details["matched"])
    });
    assert_eq!(lines, ["1 400", "1 400", "0 305"]);
    let lines = [&gold, &turned, &shifted].map(|actual| {
        let grade = sql_result(Some(actual), &gold, &DEFAULT).unwrap();
        format!("{} {}", grade.score, grade.details["matched"])
    });
    assert_eq!(lines, ["1 400", "1 400", "0 0"], "ids are themselves");
}

/// Columns with the same values, in equal or different orders.
#[test]
fn many_columns_with_the_same_values_are_told_apart() {
    const COLUMNS: usize = 60;
    let side = |cell: &dyn Fn(usize, usize) -> usize| Table {
        columns: vec![String::new(); COLUMNS],
        rows: (0..500)
            .map(|row| {
                let cells = (0..COLUMNS).map(|column| {
                    let value = u32::try_from(cell(row, column)).unwrap();
                    Cell::Number(f64::from(value))
                });
                cells.collect()
            })
            .collect(),
        extent: Extent::Whole,
    };
    let equal = side(&|row, _| row);
    let turned = side(&|row, column| (row * (2 * column + 3)) % 499);
    let mirrored = side(&|row, column| (row * (2 * (COLUMNS - 1 - column) + 3)) % 499);
    let lines = [
        (&equal, &equal),
        (&turned, &turned),
        (&turned, &mirrored),
        (&equal, &turned),
    ]
    .map(
        |(gold, actual)| match sql_result(Some(actual), gold, &DEFAULT) {
            Ok(grade) => grade.score.to_string(),
            Err(error) => error.code().to_owned(),
        },
    );
    assert_eq!(lines, ["1", "1", "1", "0"]);
}

/// Each mapping fits by its codes and none by its numbers.
#[test]
fn the_search_among_linked_numbers_is_bounded() {
    // In each column the numbers are the same, and each is within the tolerance of the next one.
    let side = |turn: usize| Table {
        columns: vec![String::new(); 12],
        rows: (0..61)
            .map(|row| {
                let cells = (0..12).map(|column| {
                    let place = u32::try_from((row * (column + turn)) % 61).unwrap();
                    Cell::Number(1.0 + f64::from(place) * 0.9e-6)
                });
                cells.collect()
            })
            .collect(),
        extent: Extent::Whole,
    };
    let found = sql_result(Some(&side(17)), &side(1), &DEFAULT);
    assert_eq!(
        line(&found),
        "error ambiguous_columns: no match of the columns was found in 10000 tries"
    );
}

#[test]
fn large_results_are_compared_whole() {
    let row = |row: u32, turn: u32| -> Vec<Cell> {
        (0..20)
            .map(|column| match (column + turn) % 20 {
                0 => Cell::Number(f64::from(row)),
                kind if kind % 3 == 0 => Cell::Text(format!("{}", row * kind % 997)),
                kind => Cell::Number(f64::from(row * kind % 1009) / 7.0),
            })
            .collect()
    };
    let columns = vec![String::new(); 20];
    let gold = Table {
        columns: columns.clone(),
        rows: (0..10_000).map(|it| row(it, 0)).collect(),
        extent: Extent::Whole,
    };
    let mut actual = Table {
        columns,
        rows: (0..10_000).rev().map(|it| row(it, 7)).collect(),
        extent: Extent::Whole,
    };
    let equal = sql_result(Some(&actual), &gold, &DEFAULT);
    assert_eq!(
        line(&equal),
        r#"1.0000 · {"matched":10000,"missing":0,"extra":0,"soft":1.0}"#
    );
    actual.rows[5_000][0] = Cell::Null;
    let unequal = sql_result(Some(&actual), &gold, &DEFAULT).unwrap();
    assert_eq!(unequal.score.to_string(), "0");
    assert_eq!(unequal.details["matched"], 9_999);
}
