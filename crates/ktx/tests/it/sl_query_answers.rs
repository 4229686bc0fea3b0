//! Notes of `ktx sl query` about misleading answers.

use crate::support::{check, run, shop};

/// Members without facts do not count, in either direction.
#[test]
fn the_first_rows_by_a_measure_are_members_with_facts() {
    let sandbox = shop();
    let query = "sl query --measure orders.revenue --dimension regions.name --format csv --execute";
    let notes = "\
--- stderr
Project: [SANDBOX]/work
note: members of `regions` without facts are left out of the first rows by `revenue`; `include_empty` adds them
";
    for (direction, row) in [("asc", "South,10"), ("desc", "North,15.5")] {
        check(
            &sandbox,
            &format!("{query} --order-by orders.revenue:{direction} --limit 1"),
            &format!("\nexit 0\nname,revenue\n{row}\n{notes}"),
        );
    }
    for (order, rows) in [
        // NULL sorts last.
        (
            "--order-by orders.revenue:asc --limit 3 --include-empty",
            "South,10\nNorth,15.5\nIslands,",
        ),
        (
            "--order-by orders.revenue:asc",
            "South,10\nNorth,15.5\nIslands,",
        ),
        ("--order-by regions.name --limit 1", "Islands,"),
    ] {
        check(
            &sandbox,
            &format!("{query} {order}"),
            &format!("\nexit 0\nname,revenue\n{rows}\n--- stderr\nProject: [SANDBOX]/work\n"),
        );
    }
}

#[test]
fn totals_and_the_rest_are_rows_of_their_own() {
    let sandbox = crate::support::unscanned(
        "CREATE TABLE sales (id INTEGER PRIMARY KEY, region TEXT, store TEXT, buyer TEXT, amount INTEGER);
         INSERT INTO sales VALUES (1, 'north', 'Mill', 'ann', 10), (2, 'north', 'Mill', 'bob', 20),
           (3, 'south', 'Yard', 'ann', 30), (4, 'south', 'Tower', 'ann', 5);",
    );
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line = "sl query --measure sum(sales.amount) --measure count_distinct(sales.buyer) --dimension sales.region --dimension sales.store --totals --execute --format csv";
    compare!(line, &run(&sandbox, line), @r#"
    exit 0
    region,store,sum_sales_amount,count_distinct_sales_buyer,total_over
    north,Mill,30,2,
    north,,30,2,store
    south,Tower,5,1,
    south,Yard,30,1,
    south,,35,1,store
    ,,65,2,"region, store"
    --- stderr
    Project: [SANDBOX]/work
    "#);
    let line = "sl query --measure sum(sales.amount) --dimension sales.store --order-by sum(sales.amount):desc --limit 1 --others --totals --execute --format csv";
    compare!(line, &run(&sandbox, line), @r"
    exit 0
    store,sum_sales_amount,total_over
    Mill,30,
    ,35,others
    ,65,store
    --- stderr
    Project: [SANDBOX]/work
    ");
    let line =
        "sl query --measure count_distinct(sales.buyer) --dimension sales.store --limit 1 --others";
    compare!(line, &run(&sandbox, line), @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: `others` adds up groups, and the values of `count_distinct(sales.buyer)` do not add up: it goes with counts, sums, averages, minima and maxima, and with arithmetic over them

    hint: ask for the measure alone, or for a share of a count or a sum; `across: allocate` divides sums and counts only
    ");
}

#[test]
fn doubtful_filters_and_ratios_are_told_with_the_answer() {
    let sandbox = shop();
    for (measure, filter, notes) in [
        (
            "orders.order_count",
            Some("orders.status = 'piad'"),
            "note: filter `orders.status = 'piad'`: the last scan found no `piad` in `orders.status`; the nearest value \
             is `paid`\n",
        ),
        (
            "orders.order_count",
            Some("orders.status <> 'returned'"),
            "note: filter `orders.status <> 'returned'`: the last scan found no `returned` in `orders.status`; its \
             values are `paid`, `open`\n",
        ),
        (
            "orders.revenue",
            Some("orders.status = 'open'"),
            "note: no row counts for `revenue`: its own filter `orders.status = 'paid' AND customers.test = 0` \
             contradicts filter `orders.status = 'open'`\n",
        ),
        (
            "orders.revenue / orders.order_count",
            None,
            "note: the two sides of `orders_revenue_orders_order_count` are over different rows: `sum(orders.amount) \
             where orders.status = 'paid' AND customers.test = 0` is divided by `count(orders.id)`\n",
        ),
        ("orders.order_count", Some("orders.status = 'open'"), ""),
    ] {
        let mut line = vec!["sl", "query", "--measure", measure, "--format", "csv"];
        line.extend(filter.iter().flat_map(|filter| ["--filter", filter]));
        line.push("--execute");
        let printed = sandbox.run_arguments(&line).expect("the program runs");
        assert_eq!(printed.code, Some(0), "{printed}");
        let told: Vec<String> = printed
            .stderr
            .lines()
            .filter(|line| line.starts_with("note: "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(told.concat(), notes, "{measure} {filter:?}");
    }
}
