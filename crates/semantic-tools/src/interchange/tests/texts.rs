//! Expected texts and losses.

pub(super) const SAID: &str = r"version: 0.2.0.dev0
semantic_model:
- name: warehouse
  datasets:
  - name: orders
    source: shop.orders
    primary_key:
    - id
    description: One row per order.
    fields:
    - name: id
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: id
      dimension:
        is_time: false
    - name: who
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: who
      dimension:
        is_time: false
    - name: status
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: status
      dimension:
        is_time: false
      description: open or paid
      datatype: String
    - name: cost
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: cost
      dimension:
        is_time: false
    - name: at
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: at
      dimension:
        is_time: true
    - name: net
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: cost * 0.8
      dimension:
        is_time: false
  - name: people
    source: select id, test from accounts
    primary_key:
    - id
    fields:
    - name: id
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: id
      dimension:
        is_time: false
    - name: test
      expression:
        dialects:
        - dialect: ANSI_SQL
          expression: test
      dimension:
        is_time: false
  relationships:
  - name: orders_to_twin
    from: orders
    to: people
    from_columns:
    - id
    to_columns:
    - id
  - name: orders_to_people
    from: orders
    to: people
    from_columns:
    - who
    to_columns:
    - id
  metrics:
  - name: revenue
    expression:
      dialects:
      - dialect: ANSI_SQL
        expression: sum(CASE WHEN (orders.status = 'paid' AND people.test = 0) THEN orders.net END)
    description: Money received.
  - name: orders_orders
    expression:
      dialects:
      - dialect: ANSI_SQL
        expression: count(CASE WHEN (orders.cost > 100) THEN orders.id END)
  - name: per_order
    expression:
      dialects:
      - dialect: ANSI_SQL
        expression: 1.0 * (sum(CASE WHEN (orders.status = 'paid' AND people.test = 0) THEN orders.net END)) / NULLIF(count(CASE WHEN (orders.cost > 100) THEN orders.id END), 0)
  - name: share
    expression:
      dialects:
      - dialect: ANSI_SQL
        expression: (1.0 * (sum(CASE WHEN (orders.status = 'paid' AND people.test = 0) THEN orders.net END)) / NULLIF(sum(orders.cost), 0))
  - name: people_orders
    expression:
      dialects:
      - dialect: ANSI_SQL
        expression: COUNT(CASE WHEN (people.test = 0) THEN people.id END)
";

pub(super) const NOT_SAID: &str = r"extension orders descriptions: of the texts by ai, user one is said
extension orders usage: the format has no `usage`
extension orders.large segment: the format has no segments
rewritten orders.orders count_rows: rows are counted by a column of their key
extension orders.orders measure_name: metrics have no source: it is called `orders_orders`
rewritten orders.orders measure_segment: the segment `large` is written as CASE inside the aggregates
extension orders.orders_to_twin join_alias: the format has no roles: `twin` is only the relationship's name
extension orders.orders_to_twin one_to_one: the format says only that many rows have one
rewritten orders.per_order count_rows: rows are counted by a column of their key
rewritten orders.per_order measure_filter: the filter is written as CASE inside the aggregates
rewritten orders.per_order measure_segment: the segment `large` is written as CASE inside the aggregates
rewritten orders.per_order ratio: a ratio is written as a division
rewritten orders.revenue measure_filter: the filter is written as CASE inside the aggregates
extension orders.running measure: the format has no running totals (`cumulative`)
rewritten orders.share division: the division of real numbers that gives NULL by zero is spelled out
rewritten orders.share measure_filter: the filter is written as CASE inside the aggregates
rewritten orders.share measure_reference: measures that it is made of are spelled out
extension orders.who visibility: other programs show this hidden column
extension people sql_source: the query stands where the format wants the name of a table
rewritten people.orders conditional_aggregate: `count_if` is written as CASE
rewritten people.orders count_rows: rows are counted by a column of their key
extension people.orders measure_name: metrics have no source: it is called `people_orders`
extension warehouse dialect: expressions are those of sqlite and are called ANSI_SQL: the format does not know this dialect
";
