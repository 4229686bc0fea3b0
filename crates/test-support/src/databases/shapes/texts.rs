//! Text keys with punctuation or spaces, and texts that resemble references.

use crate::databases::shapes::ColumnFill::{
    Beside, Count, Day, Each, Free, Listed, Of, Text, Tuple, UpTo, Word,
};
use crate::databases::shapes::DatabaseShape;
use crate::databases::shapes::TextLook::{Iban, Mail, Path, Phrase, Url};

const ALL: (u64, u64) = (0, 100);
const STATES: &[&str] = &["open", "held", "done", "late"];
const LABELS: &[&str] = &[
    "urgent", "open", "garden", "held", "music", "done", "winter", "late", "kitchen", "travel",
    "sport", "work", "school", "family", "paper", "glass", "wood", "metal", "stone", "water",
    "air", "fire", "earth", "light", "dark", "red", "blue", "green", "white", "black",
];
const REMARKS: &[&str] = &[
    "call back later",
    "no answer",
    "moved away",
    "asked for a refund",
    "very happy",
    "wrong address",
    "on holiday",
    "sent a letter",
    "wants a discount",
    "will pay next month",
];

pub const TEXTS: &[DatabaseShape] = &[
    DatabaseShape {
        label: "e-mail addresses as keys",
        tables: &[
            (
                "customer",
                300,
                &[
                    ("email", Text(Mail, 1)),
                    ("full_name", Text(Phrase, 4)),
                    ("notes", Free),
                ],
            ),
            (
                "purchase",
                900,
                &[
                    ("id", Count(1)),
                    ("customer_email", Of("customer", "email", ALL)),
                    ("state", Word(STATES)),
                    ("notes", Free),
                ],
            ),
            (
                "ticket",
                400,
                &[
                    ("id", Count(1)),
                    ("requester", Of("customer", "email", (10, 95))),
                    ("day", Day),
                ],
            ),
            (
                "consent",
                220,
                &[("email", Each("customer", "email")), ("given", Day)],
            ),
        ],
    },
    DatabaseShape {
        label: "addresses as second keys",
        tables: &[
            (
                "member",
                350,
                &[
                    ("id", Count(1)),
                    ("login", Text(Mail, 2)),
                    ("age", UpTo(90)),
                ],
            ),
            (
                "club",
                40,
                &[("id", Count(1)), ("owner_id", Of("member", "id", ALL))],
            ),
            (
                "access_log",
                1200,
                &[
                    ("id", Count(1)),
                    ("actor", Of("member", "login", ALL)),
                    ("text", Free),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "names of places as keys",
        tables: &[
            (
                "region",
                24,
                &[("region", Text(Phrase, 1)), ("headcount", UpTo(90))],
            ),
            (
                "store",
                120,
                &[
                    ("id", Count(1)),
                    ("region", Of("region", "region", ALL)),
                    ("street", Text(Phrase, 6)),
                ],
            ),
            (
                "sale",
                900,
                &[
                    ("id", Count(1)),
                    ("store_id", Of("store", "id", ALL)),
                    ("ship_region", Of("region", "region", ALL)),
                    ("state", Word(STATES)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "nombres as keys (es)",
        tables: &[
            (
                "provincia",
                45,
                &[("nombre", Text(Phrase, 3)), ("habitantes", UpTo(9000))],
            ),
            (
                "municipio",
                300,
                &[
                    ("id_municipio", Count(1)),
                    ("provincia", Of("provincia", "nombre", ALL)),
                ],
            ),
            (
                "envio",
                800,
                &[
                    ("id_envio", Count(1)),
                    ("id_municipio", Of("municipio", "id_municipio", ALL)),
                    ("provincia_origen", Of("provincia", "nombre", ALL)),
                    ("comentario", Free),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "pages and files as keys",
        tables: &[
            ("page", 250, &[("url", Text(Url, 1)), ("title", Free)]),
            (
                "visit",
                1500,
                &[
                    ("id", Count(1)),
                    ("page_url", Of("page", "url", ALL)),
                    ("referrer", Of("page", "url", (0, 60))),
                    ("seconds", UpTo(600)),
                ],
            ),
            (
                "file",
                180,
                &[("path", Text(Path, 1)), ("bytes", UpTo(90_000))],
            ),
            (
                "import_run",
                500,
                &[
                    ("run_id", Count(1)),
                    ("source_file", Of("file", "path", ALL)),
                    ("message", Free),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "account numbers with blanks",
        tables: &[
            (
                "konto",
                200,
                &[("iban", Text(Iban, 1)), ("inhaber", Text(Phrase, 5))],
            ),
            (
                "ueberweisung",
                1000,
                &[
                    ("id", Count(1)),
                    ("von_iban", Of("konto", "iban", ALL)),
                    ("an_iban", Of("konto", "iban", ALL)),
                    ("verwendungszweck", Free),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "names carried along beside the key",
        tables: &[
            (
                "client",
                250,
                &[
                    ("id", Count(1)),
                    ("name", Text(Phrase, 2)),
                    ("email", Text(Mail, 3)),
                ],
            ),
            (
                "bill",
                800,
                &[
                    ("id", Count(1)),
                    ("client_id", Tuple("client", "id")),
                    ("client_name", Beside("client", "name")),
                    ("client_email", Beside("client", "email")),
                    ("state", Word(STATES)),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "words inside lists of names",
        tables: &[
            (
                "label",
                30,
                &[("name", Listed(LABELS)), ("weight", UpTo(90))],
            ),
            (
                "person",
                200,
                &[
                    ("id", Count(1)),
                    ("name", Text(Phrase, 7)),
                    ("remark", Free),
                ],
            ),
            (
                "task",
                700,
                &[
                    ("id", Count(1)),
                    ("person_id", Of("person", "id", ALL)),
                    ("status", Word(STATES)),
                    ("remark", Free),
                ],
            ),
        ],
    },
    DatabaseShape {
        label: "free text beside free text",
        tables: &[
            (
                "phrase_book",
                10,
                &[("id", Count(1)), ("wording", Listed(REMARKS))],
            ),
            (
                "caller",
                150,
                &[
                    ("id", Count(1)),
                    ("email", Text(Mail, 5)),
                    ("comment", Free),
                ],
            ),
            (
                "talk",
                600,
                &[
                    ("id", Count(1)),
                    ("caller_id", Of("caller", "id", ALL)),
                    ("summary", Word(REMARKS_SAID)),
                    ("comment", Free),
                ],
            ),
            (
                "lead",
                90,
                &[
                    ("id", Count(1)),
                    ("email", Text(Mail, 6)),
                    ("comment", Free),
                ],
            ),
        ],
    },
];

const REMARKS_SAID: &[&str] = &[
    "no answer",
    "moved away",
    "asked to be called",
    "on holiday",
];
