//! Classifies the texts of a column.

use serde::{Deserialize, Serialize};

use crate::profile::sketch::ratio;
use crate::profile::value::is_uuid;
use crate::weights as w;

/// Shares of the values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Shape {
    pub digits: f64,
    pub blanks: f64,
    pub mail: f64,
    pub url: f64,
    pub phone: f64,
    pub uuid: f64,
    /// Long, no spaces, mixed letters and digits.
    pub token: f64,
    /// Parts without spaces between slashes.
    pub path: f64,
    /// At least as many digits as letters.
    pub coded: f64,
}

impl Shape {
    /// Returns whether nearly all texts are e-mail addresses, URLs or paths.
    pub fn is_address(&self) -> bool {
        [self.mail, self.url, self.path]
            .iter()
            .any(|share| *share > w::ADDRESSES.get())
    }
}

#[derive(Debug, Default)]
pub struct ShapeCounts {
    digits: u64,
    blanks: u64,
    mail: u64,
    url: u64,
    phone: u64,
    uuid: u64,
    token: u64,
    path: u64,
    coded: u64,
}

impl ShapeCounts {
    pub fn push(&mut self, text: &str, length: u64) {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let blank = text.contains(char::is_whitespace);
        self.digits += u64::from(digits > 0);
        self.blanks += u64::from(blank);
        self.mail += u64::from(looks_like_mail(text));
        self.url += u64::from(text.contains("://") || text.starts_with("www."));
        self.phone += u64::from(looks_like_phone(text, digits));
        let uuid = is_uuid(text);
        self.uuid += u64::from(uuid);
        self.token +=
            u64::from(!uuid && length >= 24 && !blank && digits > 2 && !text.contains(['@', '/']));
        self.path += u64::from(looks_like_path(text));
        let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
        self.coded += u64::from(digits >= 3 && digits >= letters);
    }

    pub fn shares(&self, values: u64) -> Shape {
        let share = |count: u64| ratio(count, values);
        Shape {
            digits: share(self.digits),
            blanks: share(self.blanks),
            mail: share(self.mail),
            url: share(self.url),
            phone: share(self.phone),
            uuid: share(self.uuid),
            token: share(self.token),
            path: share(self.path),
            coded: share(self.coded),
        }
    }
}

fn looks_like_mail(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains(char::is_whitespace)
    })
}

fn looks_like_path(text: &str) -> bool {
    let parts = |stroke: char| text.split(stroke).filter(|part| part.len() > 1).count();
    !text.contains("://")
        && (text.matches('/').count() >= 2 && parts('/') >= 2
            || text.matches('\\').count() >= 2 && parts('\\') >= 2)
}

fn looks_like_phone(text: &str, digits: usize) -> bool {
    let marked = text.starts_with('+') || text.contains([' ', '-', '(', '/']);
    marked
        && (7..=15).contains(&digits)
        && text
            .chars()
            .all(|letter| letter.is_ascii_digit() || " +-()/.x".contains(letter))
        && !looks_like_date(text)
}

pub fn looks_like_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(7) == Some(&b'-')
}
