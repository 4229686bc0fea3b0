//! Numbers that match keys by chance or certainly not by chance, and equal table names in several
//! modules.

use crate::databases::shapes::ColumnFill::{Count, Day, Each, Gaps, Of, Scattered, UpTo, Word};
use crate::databases::shapes::DatabaseShape;

const ALL: (u64, u64) = (0, 100);
const KINDS: &[&str] = &["plain", "large", "spare"];

pub const CHANCE: &[DatabaseShape] = &[
    DatabaseShape {
        label: "kinds and exports with gaps in their own numbers",
        tables: &[
            (
                "product",
                200,
                &[
                    ("id", Gaps(1)),
                    ("type_id", Of("product_type", "id", ALL)),
                    ("day", Day),
                ],
            ),
            (
                "product_type",
                12,
                &[("id", Gaps(2)), ("kind", Word(KINDS))],
            ),
            (
                "sale",
                400,
                &[
                    ("id", Gaps(3)),
                    ("product_id", Of("product", "id", ALL)),
                    ("attr_3", UpTo(55)),
                    ("x17", UpTo(90)),
                ],
            ),
            ("sale_export", 25, &[("id", Gaps(4)), ("day", Day)]),
            (
                "product_photo",
                60,
                &[
                    ("id", Gaps(5)),
                    ("product_id", Of("product", "id", ALL)),
                    ("day", Day),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "numbers that begin at one base",
        tables: &[
            ("employee", 250, &[("id", Count(1000)), ("hired", Day)]),
            (
                "employee_badge",
                60,
                &[("id", Count(1000)), ("kind", Word(KINDS))],
            ),
            (
                "shift",
                600,
                &[
                    ("id", Count(50_000)),
                    ("employee_id", Of("employee", "id", ALL)),
                    ("day", Day),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "modules of long names",
        tables: &[
            ("finance_customer", 200, &[("id", Count(1)), ("since", Day)]),
            ("finance_order", 500, ORDER_OF_FINANCE),
            ("finance_item", 900, ITEM_OF_FINANCE),
            (
                "logistics_customer",
                200,
                &[("id", Count(1)), ("since", Day)],
            ),
            ("logistics_order", 500, ORDER_OF_LOGISTICS),
            ("logistics_item", 900, ITEM_OF_LOGISTICS),
        ],
    },
    DatabaseShape {
        label: "parts behind the names of tables",
        tables: &[
            ("customer_us", 200, &[("id", Count(1)), ("since", Day)]),
            (
                "order_us",
                500,
                &[
                    ("id", Count(1)),
                    ("customer_id", Of("customer_us", "id", ALL)),
                ],
            ),
            (
                "item_us",
                900,
                &[("id", Count(1)), ("order_id", Of("order_us", "id", ALL))],
            ),
            ("customer_eu", 200, &[("id", Count(1)), ("since", Day)]),
            (
                "order_eu",
                500,
                &[
                    ("id", Count(1)),
                    ("customer_id", Of("customer_eu", "id", ALL)),
                ],
            ),
            (
                "item_eu",
                900,
                &[("id", Count(1)), ("order_id", Of("order_eu", "id", ALL))],
            ),
            ("customer_jp", 200, &[("id", Count(1)), ("since", Day)]),
            (
                "order_jp",
                500,
                &[
                    ("id", Count(1)),
                    ("customer_id", Of("customer_jp", "id", ALL)),
                ],
            ),
            (
                "item_jp",
                900,
                &[("id", Count(1)), ("order_id", Of("order_jp", "id", ALL))],
            ),
        ],
    },
    DatabaseShape {
        label: "audits that hold nothing but the key",
        tables: &[
            ("contract", 500, &[("id", Gaps(6)), ("signed", Day)]),
            (
                "contract_audit",
                300,
                &[("contract_id", Each("contract", "id")), ("checked", Day)],
            ),
        ],
    },
    DatabaseShape {
        label: "other words for scattered numbers",
        tables: &[
            (
                "gadget",
                200,
                &[("sku", Scattered(1)), ("kind", Word(KINDS))],
            ),
            (
                "purchase",
                700,
                &[
                    ("id", Count(1)),
                    ("what", Of("gadget", "sku", ALL)),
                    ("day", Day),
                ],
            ),
        ],
    },
];

type Columns = &'static [(&'static str, crate::databases::shapes::ColumnFill)];

const ORDER_OF_FINANCE: Columns = &[
    ("id", Count(1)),
    ("customer_id", Of("finance_customer", "id", ALL)),
];
const ITEM_OF_FINANCE: Columns = &[
    ("id", Count(1)),
    ("order_id", Of("finance_order", "id", ALL)),
];
const ORDER_OF_LOGISTICS: Columns = &[
    ("id", Count(1)),
    ("customer_id", Of("logistics_customer", "id", ALL)),
];
const ITEM_OF_LOGISTICS: Columns = &[
    ("id", Count(1)),
    ("order_id", Of("logistics_order", "id", ALL)),
];
