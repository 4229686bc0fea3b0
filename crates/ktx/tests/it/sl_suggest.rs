//! `ktx sl suggest` straight after a scan.

use crate::support::{run, unscanned, write};

const SQL: &str = "
create table orders (id integer primary key, customer_id integer, amount real, unit_price real,
    tax_rate real, year integer, created_at timestamp);
insert into orders values (1, 7, 10.0, 5.0, 0.2, 2026, '2026-01-01 00:00:00');
create table visits (id integer primary key, clicks integer, impressions integer);
insert into visits values (1, 2, 10), (2, 3, 20);
";

#[test]
fn a_first_scan_has_suggestions_that_become_sources_and_then_answer() {
    let sandbox = unscanned(SQL);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    check!(&sandbox, "sl suggest", @r"
exit 0
orders	measure	row_count	count(*)	rows can always be counted
orders	measure	total_amount	sum(amount)	the name `amount` says an amount or a quantity
orders	measure	average_amount	avg(amount)	the name `amount` says an amount or a quantity
orders	measure	average_unit_price	avg(unit_price)	the values of `unit_price` do not add up; their average means something
orders	time_dimension	created_at		its name says best when a row happened
visits	measure	row_count	count(*)	rows can always be counted
visits	measure	total_clicks	sum(clicks)	the name `clicks` says an amount or a quantity
visits	measure	average_clicks	avg(clicks)	the name `clicks` says an amount or a quantity
visits	measure	total_impressions	sum(impressions)	the name `impressions` says an amount or a quantity
visits	measure	average_impressions	avg(impressions)	the name `impressions` says an amount or a quantity
visits	measure	click_through_rate	sum(clicks) / sum(impressions)	`clicks` and `impressions` are counts
--- stderr
Project: [SANDBOX]/work
accept them with `ktx sl suggest --accept all`, or with names such as `source` or `source.measure`
");
    check!(&sandbox, "sl suggest visits --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "row_count",
        "expr": "count(*)",
        "reason": "rows can always be counted"
      },
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "total_clicks",
        "expr": "sum(clicks)",
        "reason": "the name `clicks` says an amount or a quantity"
      },
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "average_clicks",
        "expr": "avg(clicks)",
        "reason": "the name `clicks` says an amount or a quantity"
      },
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "total_impressions",
        "expr": "sum(impressions)",
        "reason": "the name `impressions` says an amount or a quantity"
      },
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "average_impressions",
        "expr": "avg(impressions)",
        "reason": "the name `impressions` says an amount or a quantity"
      },
      {
        "connectionId": "warehouse",
        "source": "visits",
        "kind": "measure",
        "name": "click_through_rate",
        "expr": "sum(clicks) / sum(impressions)",
        "reason": "`clicks` and `impressions` are counts"
      }
    ]
  },
  "meta": {
    "command": "sl suggest"
  }
}
--- stderr
accept them with `ktx sl suggest --accept all`, or with names such as `source` or `source.measure`
"#);
    check!(&sandbox, "sl suggest --accept visits orders.total_amount orders.created_at", @r"
exit 0
wrote semantic-layer/warehouse/orders.yaml
wrote semantic-layer/warehouse/visits.yaml
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl validate --all", @r"
exit 0
warehouse: 2 sources are valid
--- stderr
Project: [SANDBOX]/work
warning: semantic-layer/warehouse/: disconnected_components: the sources form 2 groups without a join between them, such as those of `orders`, `visits`
");
    check!(&sandbox, "sl query --measure visits.click_through_rate --execute --format csv", @r"
exit 0
click_through_rate
0.16666666666666666
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl suggest visits", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
nothing to suggest
");
}

#[test]
fn files_of_people_stay_and_unknown_names_are_refused() {
    let sandbox = unscanned(SQL);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let path = "semantic-layer/warehouse/orders.yaml";
    let text = "name: orders\nmeasures:\n  - {name: row_count, expr: count(*)}\n";
    write(&sandbox, path, text);
    check!(&sandbox, "sl suggest --accept orders", @r"
exit 7
--- stderr
Project: [SANDBOX]/work
left alone: orders already has a file; copy what you want from `ktx sl suggest orders`
");
    assert_eq!(
        std::fs::read_to_string(sandbox.work().join(path)).unwrap(),
        text
    );
    check!(&sandbox, "sl suggest --accept orders.total_foo", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: nothing is suggested for `orders.total_foo`

hint: run `ktx sl suggest` for all suggestions
");
    check!(&sandbox, "sl suggest nowhere", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: no source has the name `nowhere`

hint: run `ktx sl suggest` for all suggestions
");
}
