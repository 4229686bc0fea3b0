//! Unknown or uninformative names.

use crate::databases::shapes::ColumnFill::{Count, Day, Of, UpTo, Word};
use crate::databases::shapes::DatabaseShape;

const ALL: (u64, u64) = (0, 100);
const KINDS: &[&str] = &["aka", "kuro", "shiro"];

pub const WORDS: &[DatabaseShape] = &[
    DatabaseShape {
        label: "an unknown key word behind, roles before",
        tables: &[
            ("mise", 45, &[("mise_fugo", Count(1)), ("iro", Word(KINDS))]),
            (
                "hataraki",
                160,
                &[
                    ("hataraki_fugo", Count(1)),
                    ("mise_fugo", Of("mise", "mise_fugo", ALL)),
                ],
            ),
            (
                "shina",
                320,
                &[("shina_fugo", Count(1)), ("dankai", UpTo(5))],
            ),
            (
                "chumon",
                900,
                &[
                    ("chumon_fugo", Count(1)),
                    ("mise_fugo", Of("mise", "mise_fugo", ALL)),
                    ("shina_fugo", Of("shina", "shina_fugo", ALL)),
                    (
                        "ukeru_hataraki_fugo",
                        Of("hataraki", "hataraki_fugo", (0, 80)),
                    ),
                    (
                        "shimeru_hataraki_fugo",
                        Of("hataraki", "hataraki_fugo", ALL),
                    ),
                    ("dankai", UpTo(5)),
                    ("hi", Day),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "an unknown key word alone and before",
        tables: &[
            ("gorod", 80, &[("poradok", Count(1)), ("vid", Word(KINDS))]),
            (
                "otdel",
                25,
                &[
                    ("poradok", Count(1)),
                    ("poradok_gorod", Of("gorod", "poradok", ALL)),
                ],
            ),
            (
                "rabotnik",
                150,
                &[
                    ("poradok", Count(1)),
                    ("poradok_otdel", Of("otdel", "poradok", ALL)),
                ],
            ),
            (
                "zakaz",
                700,
                &[
                    ("poradok", Count(1)),
                    ("poradok_gorod_otkuda", Of("gorod", "poradok", ALL)),
                    ("poradok_gorod_kuda", Of("gorod", "poradok", ALL)),
                    ("poradok_rabotnik", Of("rabotnik", "poradok", ALL)),
                    ("ball", UpTo(100)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "an unknown key word glued on",
        tables: &[
            (
                "fluss",
                60,
                &[("flussnummer", Count(1)), ("art", Word(KINDS))],
            ),
            (
                "hafen",
                35,
                &[
                    ("hafennummer", Count(1)),
                    ("flussnummer", Of("fluss", "flussnummer", ALL)),
                ],
            ),
            (
                "schiff",
                240,
                &[
                    ("schiffnummer", Count(1)),
                    ("hafennummer", Of("hafen", "hafennummer", ALL)),
                ],
            ),
            (
                "fahrt",
                800,
                &[
                    ("fahrtnummer", Count(1)),
                    ("schiffnummer", Of("schiff", "schiffnummer", ALL)),
                    ("abfahrtnummer", Of("hafen", "hafennummer", ALL)),
                    ("dauer", UpTo(48)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "like tables of several applications",
        tables: &[
            ("crm_contact", 400, &[("id", Count(1)), ("rank", UpTo(9))]),
            ("crm_zone", 50, &[("id", Count(1)), ("rank", UpTo(9))]),
            (
                "crm_visit",
                600,
                &[
                    ("id", Count(1)),
                    ("crm_contact_id", Of("crm_contact", "id", ALL)),
                ],
            ),
            ("ops_contact", 400, &[("id", Count(1)), ("rank", UpTo(9))]),
            ("ops_zone", 90, &[("id", Count(1)), ("rank", UpTo(9))]),
            (
                "ops_trip",
                600,
                &[
                    ("id", Count(1)),
                    ("crm_contact_id", Of("crm_contact", "id", ALL)),
                    ("backup_crm_contact_id", Of("crm_contact", "id", ALL)),
                    ("ops_contact_id", Of("ops_contact", "id", ALL)),
                    ("crm_zone_id", Of("crm_zone", "id", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "roles that only the size of a table explains",
        tables: &[
            ("club", 24, &[("id", Count(1)), ("seats", UpTo(900))]),
            (
                "player",
                450,
                &[
                    ("id", Count(1)),
                    ("badge_no", Count(1)),
                    ("club_id", Of("club", "id", ALL)),
                ],
            ),
            (
                "fixture",
                700,
                &[
                    ("id", Count(1)),
                    ("home_id", Of("club", "id", ALL)),
                    ("away_id", Of("club", "id", ALL)),
                    ("round", UpTo(40)),
                ],
            ),
            (
                "goal_2023_01",
                600,
                &[
                    ("fixture_id", Of("fixture", "id", ALL)),
                    ("scorer_id", Of("player", "id", ALL)),
                ],
            ),
            (
                "goal_2023_02",
                600,
                &[
                    ("fixture_id", Of("fixture", "id", ALL)),
                    ("scorer_id", Of("player", "id", ALL)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "numbers beside keys and trades",
        tables: &[
            (
                "attorney",
                60,
                &[
                    ("id", Count(1)),
                    ("bar_no", Count(1)),
                    ("batch_no", Count(1)),
                ],
            ),
            (
                "patient",
                200,
                &[("id", Count(1)), ("batch_no", Count(1)), ("age", UpTo(95))],
            ),
            (
                "matter",
                500,
                &[
                    ("id", Count(1)),
                    ("created_by", Of("attorney", "id", ALL)),
                    ("lawyer_id", Of("attorney", "id", ALL)),
                    ("rank", UpTo(60)),
                ],
            ),
        ],
    },
];
