//! Formats texts with punctuation, days, spellings.

use crate::databases::generator::Random;
use crate::databases::shapes::{CalendarPart, DateForm, Spelling, TextLook};

const FIRST: [&str; 20] = [
    "North", "South", "East", "West", "Upper", "Lower", "Old", "New", "Great", "Little", "Inner",
    "Outer", "High", "Low", "Far", "Near", "Saint", "Grand", "Port", "Fort",
];
const SECOND: [&str; 20] = [
    "America", "Harbour", "Valley", "Ridge", "Bridge", "Shore", "Field", "Island", "Forest",
    "Lake", "Haven", "Cross", "Mill", "Hill", "Coast", "Plain", "Gate", "Moor", "River", "Point",
];
const OPENINGS: [&str; 6] = [
    "please call",
    "no answer from",
    "asked about",
    "sent a letter to",
    "ok",
    "met",
];
const CLOSINGS: [&str; 5] = [
    "the office",
    "a neighbour",
    "",
    "the new owner",
    "both of them",
];

/// Encodes a number without digits.
pub(crate) fn letters(mut number: u64) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(
            b'a' + u8::try_from(number % 26).expect("a letter"),
        ));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}

pub(crate) fn text(look: TextLook, seed: u64, row: u64) -> String {
    let at = |list: &[&'static str; 20], at: u64| list[usize::try_from(at % 20).expect("a place")];
    match look {
        TextLook::Mail => {
            let host = ["example.com", "example.org", "mail.example.net"]
                [usize::try_from(row % 3).expect("a place")];
            format!(
                "{}.{}@{host}",
                at(&FIRST, seed + row).to_lowercase(),
                letters(row * 7 + seed)
            )
        }
        TextLook::Url => format!(
            "https://example.com/{}/{}",
            letters(seed + 900),
            letters(row * 11 + seed)
        ),
        TextLook::Path => format!(
            "/srv/{}/{}.csv",
            letters(seed + 700),
            letters(row * 13 + seed)
        ),
        TextLook::Iban => {
            let mut random = Random::new(seed * 1_000_003 + row);
            let mut four = || format!("{:04}", random.below(10_000));
            format!(
                "DE{} {} {} {} {} {:02}",
                &four()[..2],
                four(),
                four(),
                four(),
                four(),
                row % 100
            )
        }
        TextLook::Phrase => format!(
            "{} {}",
            at(&FIRST, seed + row),
            at(&SECOND, seed * 3 + row / 20 + row)
        ),
    }
}

pub(crate) fn sentence(random: &mut Random) -> String {
    let opening = OPENINGS[usize::try_from(random.below(6)).expect("a place")];
    let closing = CLOSINGS[usize::try_from(random.below(5)).expect("a place")];
    let name = letters(random.below(400));
    match random.below(4) {
        0 => opening.to_owned(),
        1 => format!("{opening} {name}"),
        _ => format!("{opening} {name} and {closing}"),
    }
}

fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

pub(crate) fn written(form: DateForm, day: i64) -> String {
    let (year, month, day) = civil(day);
    match form {
        DateForm::Date | DateForm::Text => format!("'{year:04}-{month:02}-{day:02}'"),
        DateForm::Number => format!("{year:04}{month:02}{day:02}"),
    }
}

pub(crate) fn day_in(random: &mut Random, from: i64, days: u64) -> i64 {
    from + i64::try_from(random.below(days)).expect("a day")
}

pub(crate) fn part_of(period: CalendarPart, day: i64) -> String {
    let (year, month, _) = civil(day);
    match period {
        CalendarPart::Year => year,
        CalendarPart::Month => month,
        CalendarPart::Weekday => (day + 3).rem_euclid(7) + 1,
    }
    .to_string()
}

pub(crate) fn respelled(value: &str, spelling: Spelling) -> String {
    let bare = value.trim_matches('\'');
    match spelling {
        Spelling::Small => format!("'{}'", bare.to_lowercase()),
        Spelling::Padded => format!("'{bare}  '"),
        Spelling::Shifted => format!("'  {}'", bare.to_lowercase()),
        Spelling::Zeros => format!("'00{bare}'"),
    }
}
