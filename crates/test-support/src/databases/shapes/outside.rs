//! External numbers that happen to match unrelated keys.

use crate::databases::shapes::ColumnFill::{Count, Day, Like, Of, UpTo, Word};
use crate::databases::shapes::DatabaseShape;

const ALL: (u64, u64) = (0, 100);
const KINDS: &[&str] = &["plain", "large", "spare"];

pub const OUTSIDE: &[DatabaseShape] = &[
    DatabaseShape {
        label: "ids of another system",
        tables: &[
            ("customer", 380, &[("id", Count(1)), ("kind", Word(KINDS))]),
            (
                "device",
                150,
                &[("id", Count(1)), ("customer_id", Of("customer", "id", ALL))],
            ),
            (
                "invoice",
                900,
                &[
                    ("id", Count(1)),
                    ("customer_id", Of("customer", "id", ALL)),
                    ("external_id", UpTo(150)),
                    ("day", Day),
                ],
            ),
            (
                "repair",
                500,
                &[
                    ("id", Count(1)),
                    ("device_id", Of("device", "id", ALL)),
                    ("legacy_no", UpTo(380)),
                    ("partner_ref_id", UpTo(900)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "batches, sessions, campaigns without a table",
        tables: &[
            (
                "region",
                40,
                &[("region_id", Count(1)), ("kind", Word(KINDS))],
            ),
            (
                "store",
                30,
                &[
                    ("store_id", Count(1)),
                    ("region_id", Of("region", "region_id", ALL)),
                ],
            ),
            (
                "product",
                800,
                &[("product_id", Count(1)), ("batch_id", UpTo(40))],
            ),
            (
                "sale",
                1200,
                &[
                    ("sale_id", Count(1)),
                    ("store_id", Of("store", "store_id", ALL)),
                    ("product_id", Of("product", "product_id", ALL)),
                    ("session_id", UpTo(800)),
                    ("campaign_id", UpTo(30)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "lines and places",
        tables: &[
            ("hall", 9, &[("id", Count(1)), ("kind", Word(KINDS))]),
            (
                "actor",
                120,
                &[("id", Count(1)), ("hall_id", Of("hall", "id", ALL))],
            ),
            (
                "booking",
                700,
                &[
                    ("id", Count(1)),
                    ("actor_id", Of("actor", "id", ALL)),
                    ("seat_no", UpTo(120)),
                    ("line_no", UpTo(9)),
                ],
            ),
            (
                "booking_line",
                1500,
                &[
                    ("booking_id", Of("booking", "id", ALL)),
                    ("position", UpTo(9)),
                    ("quantity", UpTo(20)),
                    ("sort_order", UpTo(120)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "parts of the calendar",
        tables: &[
            ("zone", 12, &[("id", Count(1)), ("kind", Word(KINDS))]),
            (
                "shelf",
                31,
                &[("id", Count(1)), ("zone_id", Of("zone", "id", ALL))],
            ),
            (
                "team",
                53,
                &[("id", Count(1)), ("shelf_id", Of("shelf", "id", ALL))],
            ),
            (
                "part",
                3000,
                &[
                    ("id", Count(1)),
                    ("team_id", Of("team", "id", ALL)),
                    ("month", UpTo(12)),
                    ("day_of_month", UpTo(31)),
                    ("week", UpTo(53)),
                ],
            ),
            (
                "report",
                600,
                &[
                    ("id", Count(1)),
                    ("team_id", Of("team", "id", ALL)),
                    ("year", Like("part", "id", (66, 67))),
                    ("hour", UpTo(12)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "ports, codes, versions",
        tables: &[
            ("plan", 15, &[("plan_id", Count(1)), ("kind", Word(KINDS))]),
            (
                "host",
                3000,
                &[
                    ("host_id", Count(1)),
                    ("plan_id", Of("plan", "plan_id", ALL)),
                    ("version", UpTo(15)),
                ],
            ),
            (
                "request",
                900,
                &[
                    ("request_id", Count(1)),
                    ("host_id", Of("host", "host_id", ALL)),
                    ("port", Like("host", "host_id", ALL)),
                    ("status_code", Like("host", "host_id", (6, 17))),
                    ("retries", UpTo(5)),
                ],
            ),
            ("carrier", 5, &[("carrier_id", Count(1)), ("tier", UpTo(3))]),
            (
                "parcel",
                800,
                &[
                    ("parcel_id", Count(1)),
                    ("carrier_id", Of("carrier", "carrier_id", ALL)),
                    ("state", UpTo(5)),
                    ("priority", UpTo(3)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "ages, amounts, scores",
        tables: &[
            ("shop", 20, &[("id", Count(1)), ("kind", Word(KINDS))]),
            (
                "account",
                400,
                &[
                    ("id", Count(1)),
                    ("shop_id", Of("shop", "id", ALL)),
                    ("age", Like("account", "id", (4, 22))),
                    ("height_cm", Like("account", "id", (36, 50))),
                ],
            ),
            (
                "course",
                100,
                &[
                    ("id", Count(1)),
                    ("shop_id", Of("shop", "id", ALL)),
                    ("rating", UpTo(20)),
                ],
            ),
            (
                "exam",
                900,
                &[
                    ("id", Count(1)),
                    ("account_id", Of("account", "id", ALL)),
                    ("course_id", Of("course", "id", ALL)),
                    ("score", UpTo(100)),
                    ("quantity", UpTo(20)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "numbers of rows of one count",
        tables: &[
            (
                "house",
                250,
                &[("house_id", Count(1)), ("kind", Word(KINDS))],
            ),
            (
                "meter",
                250,
                &[
                    ("meter_id", Count(1)),
                    ("house_id", Of("house", "house_id", ALL)),
                    ("serial_no", Count(1)),
                ],
            ),
            (
                "reading",
                250,
                &[
                    ("reading_id", Count(1)),
                    ("meter_id", Of("meter", "meter_id", ALL)),
                    ("sequence_no", Count(1)),
                    ("rank", UpTo(250)),
                ],
            ),
            (
                "visit",
                600,
                &[
                    ("visit_id", Count(1)),
                    ("house_id", Of("house", "house_id", ALL)),
                    ("receipt_no", UpTo(250)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "one outside number in many tables",
        tables: &[
            ("driver", 220, &[("id", Count(1)), ("kind", Word(KINDS))]),
            (
                "truck",
                90,
                &[
                    ("id", Count(1)),
                    ("driver_id", Of("driver", "id", ALL)),
                    ("source_id", UpTo(220)),
                ],
            ),
            (
                "trip",
                800,
                &[
                    ("id", Count(1)),
                    ("truck_id", Of("truck", "id", ALL)),
                    ("source_id", UpTo(220)),
                ],
            ),
            (
                "stop",
                1200,
                &[
                    ("id", Count(1)),
                    ("trip_id", Of("trip", "id", ALL)),
                    ("source_id", UpTo(220)),
                    ("import_id", UpTo(90)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "outside numbers under German names",
        tables: &[
            (
                "kunde",
                310,
                &[("kunde_nr", Count(1)), ("art", Word(KINDS))],
            ),
            ("lager", 24, &[("lager_nr", Count(1)), ("art", Word(KINDS))]),
            (
                "auftrag",
                700,
                &[
                    ("auftrag_nr", Count(1)),
                    ("kunde_nr", Of("kunde", "kunde_nr", ALL)),
                    ("beleg_nr", UpTo(310)),
                    ("vorgang_id", UpTo(24)),
                ],
            ),
            (
                "buchung",
                900,
                &[
                    ("buchung_nr", Count(1)),
                    ("auftrag_nr", Of("auftrag", "auftrag_nr", ALL)),
                    ("lager_nr", Of("lager", "lager_nr", ALL)),
                    ("konto_nr", UpTo(700)),
                ],
            ),
        ],
    },
];

pub const NAMELESS: &[DatabaseShape] = &[DatabaseShape {
    label: "names that say nothing, dense keys",
    tables: &[
        ("t81", 380, &[("c1", Count(1)), ("c2", Word(KINDS))]),
        ("t17", 57, &[("c3", Count(1)), ("c4", Day)]),
        (
            "t52",
            950,
            &[
                ("c5", Count(1)),
                ("c6", Of("t81", "c1", ALL)),
                ("c7", UpTo(20)),
            ],
        ),
        (
            "t33",
            1700,
            &[
                ("c8", Count(1)),
                ("c9", Of("t52", "c5", ALL)),
                ("c10", Of("t17", "c3", ALL)),
                ("c11", UpTo(12)),
                ("c12", UpTo(100)),
            ],
        ),
    ],
}];
