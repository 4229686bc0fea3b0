//! References that are spelled differently from keys in some rows.

use crate::databases::shapes::ColumnFill::{Code, Count, Of, Respelled, Text, UpTo, Word};
use crate::databases::shapes::DatabaseShape;
use crate::databases::shapes::Spelling::{Padded, Shifted, Small, Zeros};
use crate::databases::shapes::TextLook::{Mail, Phrase};

const ALL: (u64, u64) = (0, 100);
const STATES: &[&str] = &["open", "held", "done"];

/// All links except those of `sale` need review.
pub const SPELLING: &[DatabaseShape] = &[DatabaseShape {
    label: "case and blanks differ",
    tables: &[
        (
            "item",
            220,
            &[("item_code", Code("ITM")), ("weight", UpTo(90))],
        ),
        (
            "person",
            200,
            &[("email", Text(Mail, 1)), ("rank", UpTo(9))],
        ),
        (
            "region",
            30,
            &[("region", Text(Phrase, 1)), ("rank", UpTo(9))],
        ),
        ("depot", 90, &[("depot_no", Code("0")), ("rank", UpTo(9))]),
        (
            "stock",
            700,
            &[
                ("id", Count(1)),
                ("item_code", Respelled("item", "item_code", 30, Small)),
                ("state", Word(STATES)),
            ],
        ),
        (
            "letter",
            700,
            &[
                ("id", Count(1)),
                ("region", Respelled("region", "region", 100, Small)),
                ("item_code", Respelled("item", "item_code", 40, Padded)),
            ],
        ),
        (
            "parcel",
            600,
            &[
                ("id", Count(1)),
                ("item_code", Respelled("item", "item_code", 25, Shifted)),
                ("depot_no", Respelled("depot", "depot_no", 100, Zeros)),
            ],
        ),
        (
            "sale",
            600,
            &[
                ("id", Count(1)),
                ("email", Of("person", "email", ALL)),
                ("item_code", Respelled("item", "item_code", 9, Small)),
            ],
        ),
    ],
}];
