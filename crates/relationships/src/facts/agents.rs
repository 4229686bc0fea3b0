//! Recognizes names of agents by their form.

use crate::facts::{ColumnFacts, Facts, TableFacts};
use crate::names::entity::KeyMark;
use crate::names::lexicon::PERSON_ROLES;
use crate::profile::ColumnProfile;
use crate::types::{ColumnId, TypeFamily};
use crate::weights as w;

const AGENT_ENDINGS: &[&str] = &[
    "er", "or", "ee", "ian", "eur", "euse", "trice", "dor", "dora", "tore", "erin", "arz", "sha",
    "acy", "aca", "ista", "ist", "ero", "era",
];
const AGENT_PREPOSITIONS: &[&str] = &[
    "by", "por", "par", "durch", "von", "przez", "door", "da", "av", "af",
];
const PERSONAL: &[&str] = &[
    "firstname",
    "lastname",
    "surname",
    "forename",
    "birthdate",
    "birthday",
    "birth",
    "born",
    "dob",
    "gender",
    "hired",
    "salary",
    "vorname",
    "nachname",
    "geburtsdatum",
    "prenom",
    "naissance",
    "apellido",
    "apellidos",
    "nacimiento",
    "sobrenome",
    "nascimento",
    "cognome",
    "nascita",
    "achternaam",
    "nazwisko",
];
/// Before `name`.
const NAME_PARTS: &[&str] = &["first", "last", "given", "family", "middle"];
const NAMES: &[&str] = &[
    "name", "nombre", "nom", "nome", "naam", "nimi", "navn", "namn", "nazwa", "imie",
];
/// Not agents, despite their endings.
const THINGS: &[&str] = &[
    "order",
    "number",
    "folder",
    "center",
    "server",
    "printer",
    "layer",
    "container",
    "computer",
    "register",
    "chapter",
    "filter",
    "marker",
    "tracker",
    "trailer",
    "motor",
    "sensor",
    "reactor",
    "sector",
    "vector",
    "color",
    "floor",
    "letter",
    "newsletter",
    "offer",
    "transfer",
    "river",
    "tower",
    "theater",
    "quarter",
    "semester",
    "parameter",
    "cluster",
    "router",
    "adapter",
    "banner",
    "header",
    "corner",
    "border",
    "timer",
    "counter",
    "meter",
    "paper",
    "poster",
    "monitor",
    "elevator",
    "generator",
    "indicator",
    "operator",
    "barter",
    "fee",
    "committee",
    "degree",
    "coffee",
    "list",
];
const DAYS: [i64; 2] = [365, 366];

pub(crate) fn holds_humans(table: &TableFacts<'_>) -> bool {
    let tells = |column: &ColumnFacts<'_>| {
        let words = &column.name.words;
        words.iter().any(|word| PERSONAL.contains(&word.as_str()))
            || matches!(words.as_slice(), [part, name]
                if NAME_PARTS.contains(&part.as_str()) && name.starts_with("nam"))
    };
    let named = |column: &ColumnFacts<'_>| {
        let words = column.name.words.iter();
        words
            .last()
            .is_some_and(|word| NAMES.contains(&word.as_str()))
    };
    let acts = table.name.words.last().is_some_and(|word| {
        let one = word.strip_suffix('s').unwrap_or(word);
        is_agent(one) && !THINGS.contains(&one)
    });
    table.people
        || table.name.holds_a_trade()
        || table.columns.iter().any(tells)
        || (acts && table.columns.iter().any(named))
}

fn is_agent(word: &str) -> bool {
    let ends = |ending: &&str| word.ends_with(*ending);
    word.len() >= w::AGENT_LETTERS.size()
        && (AGENT_ENDINGS.iter().any(ends) || word.ends_with("person"))
}

pub(crate) fn names_agent(facts: &Facts<'_>, column: &ColumnFacts<'_>, parent: ColumnId) -> bool {
    let people = facts.table(parent.table).is_some_and(holds_humans);
    let base = column.name.base();
    let agent = |word: &String| PERSON_ROLES.contains(&word.as_str()) || is_agent(word);
    let done = |word: &String| AGENT_PREPOSITIONS.contains(&word.as_str());
    people && (base.last().is_some_and(agent) || (base.len() > 1 && base.iter().any(done)))
}

/// Returns whether the numbers begin and end exactly with the keys, and the end is not round.
pub(crate) fn ends_with_keys(column: &ColumnFacts<'_>, key: Option<&ColumnProfile>) -> bool {
    let ranges = column
        .profile
        .and_then(|profile| Some((profile, profile.range?)));
    let (Some((profile, (low, high))), Some(key)) = (ranges, key) else {
        return false;
    };
    let Some((first, last)) = key.key_range() else {
        return false;
    };
    let plain = column.name.mark == KeyMark::None && column.name.telling && !column.name.measure;
    let size = last.saturating_sub(first).saturating_add(1).unsigned_abs();
    let slack = size.saturating_mul(w::ENDS_SLACK.count()) / profile.distinct.max(1) + 1;
    let near = |left: i64, right: i64| left.abs_diff(right) <= slack;
    let round = last % w::ENDS_ROUND.signed() == 0 || DAYS.contains(&last);
    plain
        && column.family == TypeFamily::Integer
        && profile.distinct >= w::ENDS_MANY.count()
        && !round
        && low >= first
        && high <= last
        && near(low, first)
        && near(high, last)
}
