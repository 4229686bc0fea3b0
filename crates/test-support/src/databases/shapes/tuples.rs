//! Two-column keys whose references have other names.

use crate::databases::shapes::ColumnFill::{
    Block, BlockOf, Code, Count, Day, Line, Of, Tuple, UpTo, Word,
};
use crate::databases::shapes::DatabaseShape;

const ALL: (u64, u64) = (0, 100);
const STATES: &[&str] = &["open", "held", "done"];

pub const TUPLES: &[DatabaseShape] = &[
    DatabaseShape {
        label: "cust_no, line -> customer_number, row_no",
        tables: &[
            (
                "customer",
                120,
                &[("customer_number", Count(1)), ("state", Word(STATES))],
            ),
            (
                "visit_row",
                300,
                &[
                    ("customer_number", BlockOf("customer", "customer_number")),
                    ("row_no", Line),
                    ("amount", UpTo(900)),
                ],
            ),
            (
                "charge",
                500,
                &[
                    ("charge_id", Count(1)),
                    ("cust_no", Tuple("visit_row", "customer_number")),
                    ("line", Tuple("visit_row", "row_no")),
                    ("day", Day),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "auftrag, pos -> beleg, zeile",
        tables: &[
            (
                "position",
                900,
                &[("beleg", Block(5001)), ("zeile", Line), ("menge", UpTo(50))],
            ),
            (
                "lieferung",
                400,
                &[
                    ("id", Count(1)),
                    ("auftrag", Tuple("position", "beleg")),
                    ("pos", Tuple("position", "zeile")),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "order, entry -> doc, item, dense",
        tables: &[
            ("doc", 350, &[("doc_id", Count(1)), ("state", Word(STATES))]),
            (
                "doc_item",
                900,
                &[
                    ("doc_id", BlockOf("doc", "doc_id")),
                    ("item_no", Line),
                    ("pieces", UpTo(50)),
                ],
            ),
            (
                "claim",
                450,
                &[
                    ("claim_id", Count(1)),
                    ("paper", Tuple("doc_item", "doc_id")),
                    ("entry", Tuple("doc_item", "item_no")),
                    ("state", Word(STATES)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "two columns under names that say nothing",
        tables: &[
            ("t21", 280, &[("c1", Count(1001)), ("c2", UpTo(90))]),
            (
                "t37",
                700,
                &[
                    ("c3", BlockOf("t21", "c1")),
                    ("c4", Line),
                    ("c5", UpTo(300)),
                ],
            ),
            (
                "t48",
                600,
                &[
                    ("c6", Count(50_001)),
                    ("c7", Tuple("t37", "c3")),
                    ("c8", Tuple("t37", "c4")),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "numbers in groups that are not references",
        tables: &[
            (
                "parcel",
                300,
                &[("parcel_id", Count(1)), ("state", Word(STATES))],
            ),
            (
                "parcel_step",
                800,
                &[
                    ("parcel_id", BlockOf("parcel", "parcel_id")),
                    ("step_no", Line),
                    ("day", Day),
                ],
            ),
            (
                "bill",
                260,
                &[("bill_id", Count(1)), ("state", Word(STATES))],
            ),
            (
                "bill_line",
                650,
                &[
                    ("bill_id", BlockOf("bill", "bill_id")),
                    ("line_no", Line),
                    ("pieces", UpTo(40)),
                ],
            ),
            (
                "reminder",
                300,
                &[
                    ("id", Count(1)),
                    ("bill_id", Of("bill", "bill_id", ALL)),
                    ("level_no", UpTo(3)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "codes and numbers in groups that are not references",
        tables: &[
            ("site", 60, &[("site_code", Code("S")), ("rank", UpTo(9))]),
            (
                "gate",
                150,
                &[
                    ("site_code", BlockOf("site", "site_code")),
                    ("gate_no", Line),
                    ("width", UpTo(40)),
                ],
            ),
            (
                "guard_shift",
                130,
                &[
                    ("site_code", BlockOf("site", "site_code")),
                    ("shift_no", Line),
                    ("hours", UpTo(12)),
                ],
            ),
            (
                "alarm",
                500,
                &[
                    ("id", Count(1)),
                    ("site_code", Of("site", "site_code", ALL)),
                    ("severity", UpTo(5)),
                ],
            ),
        ],
    },
];
