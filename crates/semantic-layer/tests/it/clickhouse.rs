//! SQL that ClickHouse 26.9 answers correctly where simpler SQL fails or wraps around.

use ktx_semantic_layer::{Catalog, Query, QueryError, SourceFile, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

const SOURCES: [(&str, &str); 2] = [
    (
        "people.yaml",
        "name: people\ntable: crm.people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: boss, type: number}\n\
         - {name: pay, type: number}\n- {name: born, type: time}\n\
         joins:\n- {to: people, on: boss = people.id, relationship: many_to_one, alias: bosses}\n",
    ),
    (
        "desks.yaml",
        "name: desks\ntable: desks\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: person, type: number}\n\
         joins:\n- {to: people, on: person = people.id, relationship: many_to_one}\n",
    ),
];

fn compiled(query: &Value) -> Result<String, QueryError> {
    let files = SOURCES.map(|(path, text)| SourceFile::new(path, text));
    let catalog = Catalog::load(files.to_vec(), Dialect::ClickHouse);
    let query = Query::from_value(query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::ClickHouse)?;
    ktx_read_only_sql::check(&compiled.sql, Dialect::ClickHouse).expect("the gate lets it pass");
    Ok(compiled.sql)
}

fn lines<'s>(sql: &'s str, beginning: &str) -> Vec<&'s str> {
    let lines = sql.lines();
    lines.filter(|line| line.starts_with(beginning)).collect()
}

/// ClickHouse resolves `people.id` to `crm.people AS bosses` as well as to a look-up named
/// `people`.
#[test]
fn a_look_up_is_never_called_like_the_table_of_the_home() {
    let overlay = "name: seats\ntable: people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: desk, type: number}\n\
         joins:\n- {to: desks, on: desk = desks.id, relationship: many_to_one}\n\
         measures:\n- {name: seats, expr: count(*)}\n";
    let mut files = SOURCES
        .map(|(path, text)| SourceFile::new(path, text))
        .to_vec();
    files.push(SourceFile::new("seats.yaml", overlay));
    let catalog = Catalog::load(files, Dialect::ClickHouse);
    let query =
        json!({"measures": ["seats.seats"], "dimensions": ["people.pay"], "include_empty": false});
    let query = Query::from_value(&query).expect("a query");
    let sql = compile(&catalog, &query, Dialect::ClickHouse)
        .expect("an answer")
        .sql;
    assert_eq!(
        [
            lines(&sql, "FROM people"),
            lines(&sql, "LEFT JOIN"),
            lines(&sql, "GROUP BY")
        ]
        .concat(),
        [
            "FROM people AS seats",
            "LEFT JOIN (SELECT toNullable(looked_up.id) AS id, toNullable(looked_up.person) AS person FROM desks AS looked_up) AS desks ON seats.desk = desks.id",
            "LEFT JOIN (SELECT toNullable(looked_up.id) AS id, toNullable(looked_up.pay) AS pay FROM crm.people AS looked_up) AS people_2 ON desks.person = people_2.id",
            "GROUP BY people_2.pay",
        ]
    );
    let own = compiled(
        &json!({"measures": ["sum(people.pay)"], "dimensions": ["bosses.pay"], "include_empty": false}),
    );
    assert_eq!(
        lines(&own.expect("an answer"), "FROM crm.people"),
        ["FROM crm.people AS people"]
    );
}

/// `toStartOfHour` accepts no dates, and its results end in 1970 and 2106.
#[test]
fn hours_and_minutes_are_cut_from_dates_too_and_in_64_bits() {
    let group = |unit: &str| {
        let query = json!({"measures": ["count(people.id)"], "dimensions": [{"field": "people.born", "granularity": unit}]});
        let sql = compiled(&query).expect("an answer");
        lines(&sql, "GROUP BY").concat()
    };
    assert_eq!(
        [group("hour"), group("minute")],
        [
            "GROUP BY toDateTime64(subtractSeconds(toStartOfSecond(toDateTime64(people.born, 6)), \
             toMinute(toDateTime64(people.born, 6)) * 60 + toSecond(toDateTime64(people.born, 6))), 0)",
            "GROUP BY toDateTime64(subtractSeconds(toStartOfSecond(toDateTime64(people.born, 6)), \
             toSecond(toDateTime64(people.born, 6))), 0)",
        ]
    );
}

/// An array cannot be NULL, so an empty one for a missing row would look like a value.
#[test]
fn arrays_are_not_looked_up() {
    let shard = "tables:
  notes:
    table: notes
    columns:
    - {name: id, type: UInt64, pk: true}
    - {name: tags, type: Array(String)}
    - {name: seen, type: 'Map(String, UInt8)'}
    - {name: text, type: LowCardinality(String)}
  reads:
    table: reads
    columns:
    - {name: id, type: UInt64, pk: true}
    - {name: note, type: UInt64}
    joins:
    - {to: notes, on: note = notes.id, relationship: many_to_one}
";
    let catalog = Catalog::load(
        vec![SourceFile::new("_schema/a.yaml", shard)],
        Dialect::ClickHouse,
    );
    let ask = |query: Value| {
        let query = Query::from_value(&query).expect("a query");
        compile(&catalog, &query, Dialect::ClickHouse)
            .map(|_| ())
            .map_err(|error| format!("{}: {}", error.kind, error.message))
    };
    let refusal = |column: &str, kind: &str| {
        Err(format!(
            "invalid_query: `notes.{column}` is {kind}, which takes no NULL in ClickHouse and so cannot be looked \
             up from `reads`; ask for it together with measures of `notes` alone, or make a `sql` source with a text \
             or a number of it"
        ))
    };
    let answers = [
        json!({"measures": ["count(reads.id)"], "dimensions": ["notes.tags"], "include_empty": false}),
        json!({"measures": ["count(reads.id)"], "filters": ["has(notes.tags, 'a')"]}),
        json!({"measures": ["max(length(notes.seen) + reads.id)"]}),
        json!({"measures": ["count(reads.id)"], "dimensions": ["notes.text"]}),
        json!({"measures": ["count(notes.id)"], "dimensions": ["notes.tags"]}),
    ]
    .map(ask);
    assert_eq!(
        answers,
        [
            refusal("tags", "`Array(String)`"),
            refusal("tags", "`Array(String)`"),
            refusal("seen", "`Map(String, UInt8)`"),
            Ok(()),
            Ok(()),
        ]
    );
}
