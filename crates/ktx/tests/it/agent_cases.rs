//! `ktx agent cases suggest`, sessions as cases, and the sample project's cases.

use serde_json::json;

use crate::agent_tests::{model, question, tested};
use crate::support::{commit, run, sandbox, write};

#[test]
fn the_cases_of_the_demo_hold_without_a_model() {
    let sandbox = sandbox();
    let made = run(&sandbox, "demo --dir shop");
    assert_eq!(made.code, Some(0), "{made}");
    check!(&sandbox, "--project-dir shop agent test --runner planner", @r"
    exit 0
    case	verdict	passes	reason
    goods-sold	passed	1/1	-
    goods-sold-by-region	passed	1/1	-
    refunded	passed	1/1	-
    net-revenue	passed	1/1	-
    net-revenue-by-region	passed	1/1	-
    orders	passed	1/1	-
    orders-by-channel	passed	1/1	-
    orders-by-month	passed	1/1	-
    customers	passed	1/1	-
    customers-by-segment	passed	1/1	-
    customers-by-region	passed	1/1	-
    payments	passed	1/1	-
    payments-by-method	passed	1/1	-
    payments-of-real-customers	passed	1/1	-
    goods-by-category	passed	1/1	-
    best-products	passed	1/1	-
    order-value	passed	1/1	-
    refunds-by-reason	passed	1/1	-
    refund-rate-by-channel	passed	1/1	-
    shipments-by-carrier	passed	1/1	-
    weight-by-carrier	passed	1/1	-
    shipments-by-channel	passed	1/1	-
    tickets-by-topic	passed	1/1	-
    tickets-by-segment	passed	1/1	-
    minutes-to-answer	passed	1/1	-
    sessions-by-source	passed	1/1	-
    pages-per-session	passed	1/1	-
    deals-by-stage	passed	1/1	-
    cancelled-orders	passed	1/1	-
    tax-by-currency	passed	1/1	-
    --- stderr
    Project: [SANDBOX]/work/shop
    full: 30 cases: 30 passed; accuracy 100 % (95 %: 89…100)
    ");
    check!(&sandbox, "--project-dir shop agent test --runner retrieval --case '*s'", @r"
    exit 0
    case	verdict	passes	reason
    orders	passed	1/1	-
    customers	passed	1/1	-
    payments	passed	1/1	-
    payments-of-real-customers	skipped	0/0	the case has no `expected_sources`
    best-products	skipped	0/0	the case has no `expected_sources`
    cancelled-orders	skipped	0/0	the case has no `expected_sources`
    --- stderr
    Project: [SANDBOX]/work/shop
    full: 6 cases: 3 passed, 3 skipped; accuracy 100 % (95 %: 44…100)
    ");
    check!(&sandbox, "--project-dir shop agent validate", @r"
    exit 0
    agents/analyst.yaml: valid
    --- stderr
    Project: [SANDBOX]/work/shop
    ");
    let orders = sandbox
        .read("shop/semantic-layer/warehouse/orders.yaml")
        .expect("a file");
    let changed = orders.replace(" and customers.is_test = false", "");
    write(
        &sandbox,
        "shop/semantic-layer/warehouse/orders.yaml",
        &changed,
    );
    check!(&sandbox, "--project-dir shop agent test --runner planner --case 'orders*'", @r"
    exit 8
    case	verdict	passes	reason
    orders	failed: wrong_rows	0/1	sql_result: the rows differ
    orders-by-channel	failed: wrong_rows	0/1	sql_result: the rows differ
    orders-by-month	failed: wrong_rows	0/1	sql_result: the rows differ
    --- stderr
    Project: [SANDBOX]/work/shop
    full: 3 cases: 0 passed, 3 failed; accuracy 0 % (95 %: 0…56)
    ");
}

#[test]
fn cases_are_suggested_with_their_sql() {
    let provider = model(|asked| (Vec::new(), question(asked)));
    let sandbox = tested(&provider, "cases: []\n");
    let config = sandbox.read("ktx.yaml").expect("a file");
    let with_file = config.replace(
        "    path: warehouse.db\n",
        "    path: warehouse.db\n    context: {queryHistory: {file: past.sql}}\n",
    );
    write(&sandbox, "ktx.yaml", &with_file);
    write(
        &sandbox,
        "past.sql",
        "SELECT status, sum(amount) AS total FROM orders GROUP BY status;\nDELETE FROM orders;\nSELECT id FROM orders WHERE id = $1;\n",
    );
    commit(&sandbox, "past queries");
    check!(&sandbox, "agent cases suggest", @r"
    exit 0
    # Proposed by `ktx agent cases suggest`. Read the SQL of each case, correct its question, then remove `skip`.
    cases:
      - name: status-total
        tags:
          - suggested
          - past-query
        skip: read the SQL, then remove this line
        input: Which question does this query answer? It gives status, total.
        ground_truth:
          - sql: SELECT status, sum(amount) AS total FROM orders GROUP BY status
            connection: warehouse
      - name: orders-revenue
        tags:
          - suggested
          - measure
        skip: read the SQL, then remove this line
        input: What is the revenue of orders?
        ground_truth:
          - sql: WITH orders_part AS ( SELECT sum(CASE WHEN (orders.status = 'paid') THEN orders.amount END) AS a1_revenue FROM orders AS orders ) SELECT a1_revenue AS revenue FROM orders_part LIMIT 1000
            connection: warehouse
          - semantic:
              measures:
                - orders.revenue
            connection: warehouse
    --- stderr
    Project: [SANDBOX]/work
    past queries of `warehouse` that were left out, because the gate refuses them, or they do not run or have no rows: 2
    next: read the SQL of each case, remove its `skip`, then run `ktx agent test FILE`
    ");
    check!(&sandbox, "agent cases suggest --to suggested.yaml --limit 2", @r"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    past queries of `warehouse` that were left out, because the gate refuses them, or they do not run or have no rows: 2
    wrote 2 cases to [SANDBOX]/work/suggested.yaml
    next: read the SQL of each case, remove its `skip`, then run `ktx agent test FILE`
    ");
    check!(&sandbox, "agent cases suggest --to suggested.yaml", @r"
    exit 1
    --- stderr
    Project: [SANDBOX]/work
    error: `[SANDBOX]/work/suggested.yaml` exists already

    hint: name another file
    ");
    check!(&sandbox, "agent validate suggested.yaml", @r"
    exit 0
    suggested.yaml: valid
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent test suggested.yaml --runner planner", @r"
    exit 0
    case	verdict	passes	reason
    status-total	skipped	0/0	read the SQL, then remove this line
    orders-revenue	skipped	0/0	read the SQL, then remove this line
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 0 passed, 2 skipped
    ");
    let text = sandbox.read("suggested.yaml").expect("cases");
    let accepted: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("skip: "))
        .collect();
    write(&sandbox, "suggested.yaml", &(accepted.join("\n") + "\n"));
    check!(&sandbox, "agent test suggested.yaml --runner planner", @r"
    exit 0
    case	verdict	passes	reason
    status-total	skipped	0/0	the case has not both `semantic` and `sql`
    orders-revenue	passed	1/1	-
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 1 passed, 1 skipped; accuracy 100 % (95 %: 21…100)
    ");
}

#[test]
fn a_session_is_exported_as_a_case() {
    let provider = model(|asked| {
        let query = json!({ "connectionId": "warehouse", "measures": ["orders.revenue"] });
        let calls = vec![
            ("wiki_search", json!({ "query": "revenue" })),
            ("sl_query", query),
        ];
        match asked["messages"].as_array().map(Vec::len) {
            Some(1 | 3 | 5) => (calls, "Revenue is 15.".to_owned()),
            _ => (Vec::new(), "In euros.".to_owned()),
        }
    });
    let sandbox = tested(&provider, "cases: []\n");
    let ask = "agent run --agent analyst --session talk";
    assert_eq!(
        run(&sandbox, &format!("{ask} --create -m 'How much revenue?'")).code,
        Some(0)
    );
    check!(&sandbox, "agent sessions export talk --format case", @r"
    exit 0
    cases:
      - name: how-much-revenue
        tags:
          - session
        skip: look at what session talk has answered, then remove this line
        input: How much revenue?
        ground_truth:
          semantic:
            measures:
              - orders.revenue
          connection: warehouse
        expected_tools:
          - wiki_search
          - sl_query
    --- stderr
    Project: [SANDBOX]/work
    ");
    assert_eq!(
        run(&sandbox, &format!("{ask} -m 'In which currency?'")).code,
        Some(0)
    );
    check!(&sandbox, "agent sessions export talk --format case --to talk.yaml", @r"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    wrote [SANDBOX]/work/talk.yaml
    ");
    insta::assert_snapshot!(sandbox.read("talk.yaml").expect("a case"), @r"
    cases:
      - name: how-much-revenue
        tags:
          - session
        skip: look at what session talk has answered, then remove this line
        turns:
          - input: How much revenue?
            ground_truth:
              semantic:
                measures:
                  - orders.revenue
              connection: warehouse
            expected_tools:
              - wiki_search
              - sl_query
          - input: In which currency?
            ground_truth: In euros.
    ");
    check!(&sandbox, "agent validate talk.yaml", @r"
    exit 0
    talk.yaml: valid
    --- stderr
    Project: [SANDBOX]/work
    ");
}
