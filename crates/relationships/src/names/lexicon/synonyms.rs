//! Synonyms, folded to plain letters, in the singular.

use crate::names::words::word_likeness;
use crate::weights as w;

const GROUPS: &[&[&str]] = &[
    &["customer", "client", "cust", "clnt"],
    &["employee", "staff", "worker", "emp"],
    &["doctor", "physician", "clinician"],
    &["teacher", "instructor", "lecturer", "professor"],
    &["attorney", "lawyer"],
    &["supplier", "vendor"],
    &[
        "company",
        "firm",
        "organization",
        "organisation",
        "enterprise",
    ],
    &["product", "item", "article", "sku"],
    &["shop", "store"],
    &["apartment", "flat"],
    &["airplane", "aircraft", "plane"],
    &["car", "vehicle"],
    &["purchase", "order"],
    &["bill", "invoice"],
    &["pupil", "student"],
    &["aluno", "estudante"],
    &["articulo", "producto"],
    &["empleado", "trabajador"],
    &["angestellter", "mitarbeiter"],
    &["artikel", "produkt"],
];

pub(crate) fn synonym(left: &str, right: &str) -> f64 {
    if synonyms(left).any(|other| is(other, right)) {
        w::SYNONYM.get()
    } else {
        0.0
    }
}

pub(crate) fn synonyms(word: &str) -> impl Iterator<Item = &'static str> {
    let first = word.bytes().next();
    GROUPS
        .iter()
        .filter(move |group| {
            group
                .iter()
                .any(|known| known.bytes().next() == first && is(known, word))
        })
        .flat_map(|group| group.iter().copied())
}

fn is(known: &str, word: &str) -> bool {
    known == word || (word.len() > known.len() && word_likeness(known, word) > w::SAME_WORD.get())
}
