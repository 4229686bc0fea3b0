//! What `ktx sl query` answers and notes where the plain answer would mislead.

use crate::support::{check, shop};

/// Members without facts are no answer to "the first five", upwards or downwards.
#[test]
fn the_first_rows_by_a_measure_are_members_with_facts() {
    let sandbox = shop();
    let query = "sl query --measure orders.revenue --dimension regions.name --format csv --execute";
    let notes = "\
--- stderr
Project: [SANDBOX]/work
note: members of `regions` without facts are left out of the first rows by `revenue`; `include_empty` adds them
note: rows of `orders` whose `customer_id`, then `customers.region_id` has no match in `regions` count under NULL
";
    for (direction, row) in [("asc", "South,10"), ("desc", "North,15.5")] {
        check(
            &sandbox,
            &format!("{query} --order-by orders.revenue:{direction} --limit 1"),
            &format!("\nexit 0\nname,revenue\n{row}\n{notes}"),
        );
    }
    for (order, rows) in [
        // Where members without facts are asked for, NULL stands last.
        (
            "--order-by orders.revenue:asc --limit 3 --include-empty",
            "South,10\nNorth,15.5\nIslands,",
        ),
        (
            "--order-by orders.revenue:asc",
            "South,10\nNorth,15.5\nIslands,",
        ),
        // The first rows by a name are among all names.
        ("--order-by regions.name --limit 1", "Islands,"),
    ] {
        check(
            &sandbox,
            &format!("{query} {order}"),
            &format!(
                "\nexit 0\nname,revenue\n{rows}\n--- stderr\nProject: [SANDBOX]/work\n\
                 note: rows of `orders` whose `customer_id`, then `customers.region_id` has no match in `regions` \
                 count under NULL\n"
            ),
        );
    }
}
