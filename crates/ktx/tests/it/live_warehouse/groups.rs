//! Grouped measures on real servers give the same rows.

use crate::support::{run, transcript};

use super::server::{MariaDb, Postgres, Server};
use super::warehouse;

/// The fifth customer has no order, the last order no customer.
const SHOP: &str = "CREATE TABLE customers (id int PRIMARY KEY, country varchar(2) NOT NULL);
    CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers (id), ordered_on date NOT NULL,
        amount numeric(10, 2) NOT NULL);
    INSERT INTO customers VALUES (1, 'DE'), (2, 'DE'), (3, 'JP'), (4, 'JP'), (5, 'PE');
    INSERT INTO orders VALUES (1, 1, '2025-01-02', 10), (2, 1, '2025-02-20', 20), (3, 2, '2025-01-21', 30),
        (4, 3, '2025-02-01', 40), (5, 4, '2025-03-03', 40), (6, NULL, '2025-03-05', 60)";

const QUESTIONS: [&str; 5] = [
    "--measure 'share(sum(orders.amount))' --measure 'rank(sum(orders.amount))' --dimension customers.country",
    "--measure 'sum(orders.amount)' --dimension customers.country --dimension customers.id \
     --filter 'rank(sum(orders.amount), customers.country) <= 1' --include-empty=false",
    "--measure 'running_total(sum(orders.amount))' --measure 'growth(sum(orders.amount))' \
     --dimension orders.ordered_on:month",
    "--measure 'avg(per(customers, count(orders.*)))' --measure 'max(per(customers, sum(orders.amount)))' \
     --dimension customers.country",
    "--measure 'count(customers.*)' --dimension 'per(customers, count(orders.*))' \
     --filter 'per(customers, count_if(orders.amount >= 30)) = 0'",
];

fn answers<S: Server>(name: &str) -> Option<String> {
    let server = S::new(name)?;
    server.execute(SHOP);
    let sandbox = warehouse(&server, server.port(), &format!("    database: {name}\n"));
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    let answers = QUESTIONS.iter().map(|question| {
        let line = format!("sl query {question} --execute --format csv");
        alike(&transcript(&run(&sandbox, &line)))
    });
    Some(answers.collect::<Vec<_>>().join("\n"))
}

/// Hides digits and the position of NULL, which differ by server.
fn alike(text: &str) -> String {
    let cell = |cell: &str| match cell.parse::<f64>() {
        Ok(number) if !cell.contains('-') => {
            let text = format!("{number:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => cell.to_owned(),
    };
    let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(",");
    let mut lines: Vec<String> = text.lines().map(line).collect();
    let end = lines.iter().position(|line| line.starts_with("---"));
    if let Some(rows) = end.and_then(|end| lines.get_mut(2..end)) {
        rows.sort();
    }
    lines.join("\n")
}

#[test]
fn groups_and_values_of_rows_are_compared_on_postgres_and_mariadb() {
    let postgres = answers::<Postgres>("ktx_it_groups");
    let mariadb = answers::<MariaDb>("ktx_it_groups");
    for answers in postgres.into_iter().chain(mariadb) {
        insta::allow_duplicates! {
            insta::assert_snapshot!(answers, @r"
            exit 0
            country,share_sum_orders_amount,rank_sum_orders_amount
            ,0.3,2
            DE,0.3,2
            JP,0.4,1
            PE,,
            --- stderr
            Project: [SANDBOX]/work
            note: rows of `orders` whose `customer_id` has no match in `customers` count under NULL
            exit 0
            country,id,sum_orders_amount
            ,,60
            DE,1,30
            DE,2,30
            JP,3,40
            JP,4,40
            --- stderr
            Project: [SANDBOX]/work
            note: rows of `orders` whose `customer_id` has no match in `customers` count under NULL
            exit 0
            ordered_on_month,running_total_sum_orders_amount,growth_sum_orders_amount
            2025-01-01,40,
            2025-02-01,100,0.5
            2025-03-01,200,0.667
            --- stderr
            Project: [SANDBOX]/work
            exit 0
            country,avg_per_customers_count_orders,max_per_customers_sum_orders_amount
            DE,1.5,30
            JP,1,40
            PE,0,
            --- stderr
            Project: [SANDBOX]/work
            exit 0
            count_orders,count_customers
            0,1
            2,1
            --- stderr
            Project: [SANDBOX]/work
            ");
        }
    }
}
