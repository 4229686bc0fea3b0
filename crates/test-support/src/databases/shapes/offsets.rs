//! Meaningless names with dense keys from any start.

use crate::databases::shapes::ColumnFill::{Count, Day, Like, Of, UpTo, Word};
use crate::databases::shapes::DatabaseShape;

const ALL: (u64, u64) = (0, 100);
const KINDS: &[&str] = &["plain", "large", "spare"];

pub const OFFSETS: &[DatabaseShape] = &[
    DatabaseShape {
        label: "keys that begin above one and overlap",
        tables: &[
            (
                "t12",
                180,
                &[("c1", Count(101)), ("c2", Word(KINDS)), ("c3", UpTo(40))],
            ),
            (
                "t07",
                420,
                &[
                    ("c1", Count(101)),
                    ("c2", Of("t12", "c1", ALL)),
                    ("c3", Day),
                ],
            ),
            ("t31", 60, &[("c1", Count(501)), ("c2", UpTo(9))]),
            (
                "t02",
                900,
                &[
                    ("c1", Count(1001)),
                    ("c2", Of("t07", "c1", ALL)),
                    ("c3", Of("t31", "c1", ALL)),
                    ("c4", UpTo(100)),
                ],
            ),
            (
                "t19",
                1500,
                &[
                    ("c1", Count(2001)),
                    ("c2", Of("t02", "c1", ALL)),
                    ("c3", Of("t12", "c1", ALL)),
                    ("c4", UpTo(12)),
                ],
            ),
            (
                "t44",
                260,
                &[
                    ("c1", Count(301)),
                    ("c2", Of("t31", "c1", ALL)),
                    ("c3", UpTo(31)),
                ],
            ),
            (
                "t05",
                1200,
                &[
                    ("c1", Count(10_001)),
                    ("c2", Of("t44", "c1", ALL)),
                    ("c3", Of("t02", "c1", ALL)),
                    ("c4", Day),
                ],
            ),
            (
                "t28",
                700,
                &[
                    ("c1", Count(701)),
                    ("c2", Of("t44", "c1", ALL)),
                    ("c3", Of("t07", "c1", ALL)),
                    ("c4", UpTo(200)),
                ],
            ),
            (
                "t50",
                500,
                &[
                    ("c1", Count(5001)),
                    ("c2", Of("t28", "c1", ALL)),
                    ("c3", UpTo(5)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "keys of many bases",
        tables: &[
            ("f01", 50, &[("a1", Count(11)), ("a2", Word(KINDS))]),
            (
                "f02",
                140,
                &[
                    ("a3", Count(201)),
                    ("a4", Of("f01", "a1", ALL)),
                    ("a5", UpTo(20)),
                ],
            ),
            (
                "f03",
                330,
                &[
                    ("a6", Count(1000)),
                    ("a7", Of("f02", "a3", ALL)),
                    ("a8", UpTo(99)),
                ],
            ),
            (
                "f04",
                800,
                &[
                    ("a9", Count(100)),
                    ("a10", Of("f03", "a6", ALL)),
                    ("a11", Of("f01", "a1", ALL)),
                    ("a12", UpTo(12)),
                ],
            ),
            (
                "f05",
                1600,
                &[
                    ("a13", Count(5000)),
                    ("a14", Of("f04", "a9", ALL)),
                    ("a15", Of("f02", "a3", ALL)),
                    ("a16", UpTo(1000)),
                ],
            ),
            (
                "f06",
                900,
                &[
                    ("a17", Count(300)),
                    ("a18", Of("f03", "a6", ALL)),
                    ("a19", UpTo(50)),
                    ("a20", Day),
                ],
            ),
            (
                "f07",
                700,
                &[
                    ("a21", Count(20_000)),
                    ("a22", Of("f06", "a17", ALL)),
                    ("a23", Of("f05", "a13", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "measures among keys that begin above one",
        tables: &[
            ("q1", 300, &[("b1", Count(101)), ("b2", UpTo(350))]),
            (
                "q2",
                900,
                &[
                    ("b3", Count(1001)),
                    ("b4", Of("q1", "b1", ALL)),
                    ("b5", Like("q1", "b1", (20, 45))),
                    ("b6", Like("q2", "b3", (50, 52))),
                ],
            ),
            (
                "q3",
                700,
                &[
                    ("b7", Count(3001)),
                    ("b8", Of("q2", "b3", ALL)),
                    ("b9", UpTo(1500)),
                    ("b10", Like("q2", "b3", (30, 50))),
                ],
            ),
        ],
    },
];
