//! Calendars with references, and dates that are not references.

use crate::databases::shapes::CalendarPart::{Month, Weekday, Year};
use crate::databases::shapes::ColumnFill::{Count, DayIn, Days, Each, Of, PartOf, UpTo, Word};
use crate::databases::shapes::DatabaseShape;
use crate::databases::shapes::DateForm::{Date, Number, Text};

const ALL: (u64, u64) = (0, 100);
const STATES: &[&str] = &["open", "held", "done", "late"];
/// January 1, 2023.
const START: i64 = 19_358;

pub const DAYS: &[DatabaseShape] = &[
    DatabaseShape {
        label: "a calendar of dates",
        tables: &[
            (
                "calendar",
                731,
                &[
                    ("day", Days(Date, START)),
                    ("year", PartOf(Year, START)),
                    ("month", PartOf(Month, START)),
                    ("weekday", PartOf(Weekday, START)),
                ],
            ),
            (
                "purchase",
                900,
                &[
                    ("id", Count(1)),
                    ("ordered_on", Of("calendar", "day", ALL)),
                    ("shipped_on", Of("calendar", "day", (5, 90))),
                    ("state", Word(STATES)),
                ],
            ),
            (
                "rate",
                500,
                &[("day", Each("calendar", "day")), ("points", UpTo(900))],
            ),
        ],
    },
    DatabaseShape {
        label: "un calendario de textos (es)",
        tables: &[
            (
                "calendario",
                366,
                &[
                    ("fecha", Days(Text, START)),
                    ("anio", PartOf(Year, START)),
                    ("mes", PartOf(Month, START)),
                ],
            ),
            (
                "pedido",
                700,
                &[
                    ("id_pedido", Count(1)),
                    ("fecha_pedido", Of("calendario", "fecha", ALL)),
                    ("fecha_envio", Of("calendario", "fecha", (3, 97))),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "a calendar of numbers",
        tables: &[
            (
                "dim_date",
                1096,
                &[
                    ("date_key", Days(Number, START)),
                    ("full_date", Days(Date, START)),
                    ("year_no", PartOf(Year, START)),
                    ("month_no", PartOf(Month, START)),
                ],
            ),
            (
                "dim_shop",
                40,
                &[("shop_key", Count(1)), ("state", Word(STATES))],
            ),
            (
                "fct_sale",
                1500,
                &[
                    ("sale_key", Count(1)),
                    ("order_date_key", Of("dim_date", "date_key", ALL)),
                    ("ship_date_key", Of("dim_date", "date_key", (10, 60))),
                    ("shop_key", Of("dim_shop", "shop_key", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "a calendar under names that say nothing",
        tables: &[
            (
                "t4",
                730,
                &[
                    ("f1", Days(Date, START)),
                    ("f2", PartOf(Year, START)),
                    ("f3", PartOf(Month, START)),
                    ("f4", PartOf(Weekday, START)),
                ],
            ),
            (
                "t9",
                800,
                &[
                    ("f5", Count(4001)),
                    ("f6", Of("t4", "f1", ALL)),
                    ("f7", Of("t4", "f1", (20, 80))),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "days without a calendar",
        tables: &[
            (
                "purchase",
                800,
                &[
                    ("id", Count(1)),
                    ("ordered", DayIn(Date, START, 600)),
                    ("paid", DayIn(Date, START + 10, 580)),
                ],
            ),
            (
                "shipment",
                500,
                &[
                    ("id", Count(1)),
                    ("purchase_id", Of("purchase", "id", ALL)),
                    ("shipped", DayIn(Date, START + 5, 590)),
                ],
            ),
            (
                "exchange_rate",
                640,
                &[("quoted", Days(Date, START - 20)), ("rate", UpTo(400))],
            ),
            (
                "holiday",
                14,
                &[("id", Count(1)), ("observed", DayIn(Date, START, 700))],
            ),
        ],
    },
    DatabaseShape {
        label: "numbered days without a calendar",
        tables: &[
            (
                "booking",
                800,
                &[
                    ("id", Count(1)),
                    ("booked", DayIn(Number, START, 600)),
                    ("paid", DayIn(Number, START + 10, 580)),
                ],
            ),
            (
                "stay",
                500,
                &[
                    ("id", Count(1)),
                    ("booking_id", Of("booking", "id", ALL)),
                    ("arrived", DayIn(Number, START + 5, 590)),
                ],
            ),
            (
                "weather",
                640,
                &[("measured", Days(Number, START - 20)), ("rain", UpTo(40))],
            ),
        ],
    },
];
