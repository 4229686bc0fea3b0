//! Words for the side or the use of a referenced row, folded to plain letters: the home and the
//! away club, the address to bill and the address to ship to.

/// Words that occur in pairs: the two columns of one table that have them refer to one table.
const OPPOSITES: &[(&str, &str)] = &[
    ("home", "away"),
    ("home", "visitor"),
    ("home", "visiting"),
    ("home", "guest"),
    ("from", "to"),
    ("source", "target"),
    ("source", "dest"),
    ("source", "destination"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("orig", "dest"),
    ("start", "end"),
    ("departure", "arrival"),
    ("dep", "arr"),
    ("depart", "arrive"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("winner", "loser"),
    ("winning", "losing"),
    ("buyer", "seller"),
    ("payer", "payee"),
    ("bill", "ship"),
    ("billing", "shipping"),
    ("billing", "delivery"),
    ("invoice", "delivery"),
    ("sold", "ship"),
    ("pickup", "dropoff"),
    ("pickup", "delivery"),
    ("citing", "cited"),
    ("following", "followed"),
    ("follower", "followed"),
    ("follower", "followee"),
    ("predecessor", "successor"),
    ("parent", "child"),
    ("ancestor", "descendant"),
    ("mother", "father"),
    ("husband", "wife"),
    ("old", "new"),
    ("before", "after"),
    ("first", "second"),
    ("left", "right"),
    ("white", "black"),
    ("red", "blue"),
    ("a", "b"),
    ("1", "2"),
    ("debit", "credit"),
    ("heim", "gast"),
    ("heim", "auswarts"),
    ("heim", "auswaerts"),
    ("von", "nach"),
    ("start", "ziel"),
    ("quelle", "ziel"),
    ("absender", "empfanger"),
    ("absender", "empfaenger"),
    ("kaufer", "verkaufer"),
    ("sieger", "verlierer"),
    ("soll", "haben"),
    ("origen", "destino"),
    ("local", "visitante"),
    ("ganador", "perdedor"),
    ("desde", "hasta"),
    ("salida", "llegada"),
    ("origine", "destination"),
    ("domicile", "exterieur"),
    ("depart", "arrivee"),
    ("vainqueur", "perdant"),
    ("origem", "destino"),
    ("mandante", "visitante"),
    ("partida", "chegada"),
    ("origine", "destinazione"),
    ("casa", "ospite"),
    ("partenza", "arrivo"),
    ("thuis", "uit"),
    ("van", "naar"),
    ("herkomst", "bestemming"),
];

/// Words that occur alone.
const SINGLE: &[&str] = &[
    "venue",
    "host",
    "opponent",
    "rival",
    "champion",
    "location",
    "site",
    "birthplace",
    "hometown",
    "capital",
    "headquarters",
    "hq",
    "base",
    "residence",
    "nationality",
    "citizenship",
    "via",
    "through",
    "stop",
    "return",
    "deliver",
    "liked",
    "belongs",
    "preferred",
    "favorite",
    "favourite",
    "default",
    "primary",
    "main",
    "sponsor",
    "holder",
    "beneficiary",
    "subject",
    "object",
    "inhaber",
    "halter",
    "lieferort",
    "wohnort",
    "standort",
    "austragungsort",
    "sede",
    "lieu",
    "luogo",
    "titular",
    "titulaire",
];

/// Words that stand for a person: `WhoLikes`.
const PRONOUNS: &[&str] = &[
    "who", "whom", "wer", "wen", "wem", "quien", "quem", "chi", "qui",
];

/// Returns whether a word stands for a person.
pub(crate) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.contains(&word)
}

/// Returns whether a word names a side or use of the referenced row.
pub(crate) fn is_side(word: &str) -> bool {
    word.len() > 1
        && (SINGLE.contains(&word)
            || OPPOSITES
                .iter()
                .any(|(one, other)| *one == word || *other == word))
}

/// Returns whether two words name the two sides of one thing.
pub(crate) fn are_opposite(left: &str, right: &str) -> bool {
    OPPOSITES.contains(&(left, right)) || OPPOSITES.contains(&(right, left))
}
