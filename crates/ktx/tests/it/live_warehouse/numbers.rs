//! Measures over times and intervals on PostgreSQL.

use serde_json::{Value, json};

use super::server::{Postgres, Server as _};
use super::warehouse;
use crate::support::{json as json_of, run};

const TICKETS: &str = "
CREATE TABLE agents (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE tickets (
  id int PRIMARY KEY, agent_id int NOT NULL REFERENCES agents (id), opened_at timestamp NOT NULL,
  closed_at timestamp NOT NULL, spent interval NOT NULL, shift time NOT NULL, points int NOT NULL);
INSERT INTO agents VALUES (1, 'Ada'), (2, 'Ben'), (3, 'Cleo');
INSERT INTO tickets VALUES
  (1, 1, '2026-01-01 00:00', '2026-01-02 06:00', '1 hour 30 minutes', '09:00', 3),
  (2, 1, '2026-01-01 00:00', '2026-01-01 18:00', '2 hours', '08:30', 4),
  (3, 2, '2026-02-01 00:00', '2026-02-01 00:10', '5 minutes', '22:15', 5);
";

/// One JSON type per measure.
#[test]
fn times_and_intervals_are_measured_by_a_looked_up_column() {
    let Some(server) = Postgres::new("ktx_it_numbers") else {
        return;
    };
    server.execute(TICKETS);
    let sandbox = warehouse(
        &server,
        server.port(),
        "    database: ktx_it_numbers\n    timezone: UTC\n",
    );
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    let answer = |more: &str| {
        let line = "sl query --measure 'avg(tickets.closed_at - tickets.opened_at)' \
                    --measure sum(tickets.spent) --measure min(tickets.shift) --measure sum(tickets.points) \
                    --measure avg(tickets.points) --measure count(tickets.id) --dimension agents.name --execute --json";
        json_of(&sandbox, &format!("{line}{more}"))["rows"].take()
    };
    let with_facts = json!([
        [
            "Ada",
            "24:00:00",
            "03:30:00",
            "08:30:00",
            7,
            "3.5000000000000000",
            2
        ],
        [
            "Ben",
            "00:10:00",
            "00:05:00",
            "22:15:00",
            5,
            "5.0000000000000000",
            1
        ],
    ]);
    assert_eq!(answer(" --include-empty false"), with_facts);
    let mut with_empty = with_facts;
    let empty = json!(["Cleo", null, null, null, null, null, 0]);
    with_empty.as_array_mut().expect("rows").push(empty);
    assert_eq!(answer(" --include-empty true"), with_empty);
    assert_eq!(answer(""), Value::clone(&with_empty));
}
