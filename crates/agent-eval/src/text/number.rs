//! Finds numbers in a text.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalSign {
    /// `1,234.5`.
    Point,
    /// `1.234,5`.
    Comma,
}

impl DecimalSign {
    const fn mark(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    const fn group_mark(self) -> char {
        match self {
            Self::Point => ',',
            Self::Comma => '.',
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberStyle {
    /// `5 %` is 0.05, not 5.
    pub accept_percent: bool,
    /// Groups of three digits, with marks or spaces between them.
    pub accept_groups: bool,
    pub decimal: DecimalSign,
}

/// Returns all numbers in order.
///
/// A number can have a currency sign, an exponent, a suffix (`k`, `M`, `bn`) and a unit. Digits of
/// a name (`Q3`), an ordinal (`3rd`), a date (`2025-09-30`), a version (`1.2.3`) or another style
/// are not numbers.
pub(crate) fn numbers(text: &str, style: NumberStyle) -> Vec<f64> {
    let mut scan = NumberScan {
        signs: text.chars().collect(),
        style,
    };
    scan.all()
}

struct NumberScan {
    signs: Vec<char>,
    style: NumberStyle,
}

struct Digits {
    /// In Rust's syntax, if a number in this style.
    plain: Option<String>,
    end: usize,
}

struct NumberTail {
    /// Power of ten.
    power: i32,
    end: usize,
    is_number: bool,
}

impl NumberScan {
    fn all(&mut self) -> Vec<f64> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.signs.len() {
            if !self.begins(at) {
                at += 1;
                continue;
            }
            if at > 0 && is_word(self.signs[at - 1]) {
                at = self.after_word(at);
                continue;
            }
            if let Some(end) = self.after_date(at) {
                at = end;
                continue;
            }
            let digits = self.digits(at);
            let tail = self.tail(digits.end);
            if tail.is_number
                && let Some(plain) = digits.plain
                && let Ok(value) = format!("{plain}e{}", tail.power).parse::<f64>()
                && value.is_finite()
            {
                let negative = self.is_negative(at, tail.end);
                found.push(if negative { -value } else { value });
            }
            at = tail.end;
        }
        found
    }

    fn sign(&self, at: usize) -> Option<char> {
        self.signs.get(at).copied()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.sign(at).is_some_and(|sign| sign.is_ascii_digit())
    }

    /// Numbers begin with a digit, or with the decimal sign before one.
    fn begins(&self, at: usize) -> bool {
        let decimal = Some(self.style.decimal.mark());
        let is_first = at == 0 || self.sign(at - 1) != decimal;
        self.is_digit(at) || is_first && self.sign(at) == decimal && self.is_digit(at + 1)
    }

    fn after_word(&self, mut at: usize) -> usize {
        while self
            .sign(at)
            .is_some_and(|sign| is_word(sign) || matches!(sign, '.' | ',') && self.is_digit(at + 1))
        {
            at += 1;
        }
        at
    }

    /// Finds the end of `YYYY-MM-DD`.
    fn after_date(&self, at: usize) -> Option<usize> {
        let shape = "dddd-dd-dd";
        let fits = shape.chars().enumerate().all(|(index, form)| match form {
            'd' => self.is_digit(at + index),
            mark => self.sign(at + index) == Some(mark),
        });
        let end = at + shape.len();
        (fits && !self.is_digit(end)).then_some(end)
    }

    fn run_end(&self, mut at: usize) -> usize {
        while self.is_digit(at) || matches!(self.sign(at), Some('.' | ',')) && self.is_digit(at + 1)
        {
            at += 1;
        }
        at
    }

    fn digits(&self, at: usize) -> Digits {
        let mut end = self.run_end(at);
        let mut text: String = self.signs[at..end].iter().collect();
        let is_group = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        if self.style.accept_groups && text.len() <= 3 && is_group(&text) {
            while let Some(next) = self.next_group(end) {
                let group: String = self.signs[end + 1..next].iter().collect();
                let is_last = !is_group(&group);
                text.push_str(&group);
                end = next;
                if is_last {
                    break;
                }
            }
        }
        Digits {
            plain: self.plain(&text),
            end,
        }
    }

    /// Finds the end of a space and three digits, with optional decimals.
    fn next_group(&self, at: usize) -> Option<usize> {
        self.sign(at).filter(|sign| is_space(*sign))?;
        let end = self.run_end(at + 1);
        let group: String = self.signs[at + 1..end].iter().collect();
        let (whole, decimals) = match group.split_once(self.style.decimal.mark()) {
            Some((whole, decimals)) => (whole, decimals),
            None => (group.as_str(), ""),
        };
        let is_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        (whole.len() == 3 && is_digits(whole) && is_digits(decimals)).then_some(end)
    }

    fn plain(&self, text: &str) -> Option<String> {
        let (whole, decimals) = match text.split_once(self.style.decimal.mark()) {
            Some((whole, decimals)) => (whole, decimals),
            None => (text, "0"),
        };
        let mut groups = whole.split(self.style.decimal.group_mark());
        let first = groups.next().unwrap_or_default();
        let rest: Vec<&str> = groups.collect();
        let is_grouped = self.style.accept_groups
            && (1..=3).contains(&first.len())
            && rest.iter().all(|group| group.len() == 3);
        if !decimals.bytes().all(|digit| digit.is_ascii_digit()) || !rest.is_empty() && !is_grouped
        {
            return None;
        }
        Some(format!("{first}{}.{decimals}", rest.concat()))
    }

    fn tail(&self, at: usize) -> NumberTail {
        let mut tail = self.exponent(at).unwrap_or_else(|| self.scale(at));
        let spaced = usize::from(self.sign(tail.end).is_some_and(is_space));
        if self.sign(tail.end + spaced) == Some('%') {
            tail.end += spaced + 1;
            if self.style.accept_percent {
                tail.power -= 2;
            }
        }
        tail
    }

    /// Parses `e6`, `E-3`.
    fn exponent(&self, at: usize) -> Option<NumberTail> {
        self.sign(at).filter(|sign| matches!(sign, 'e' | 'E'))?;
        let signed = usize::from(matches!(self.sign(at + 1), Some('+' | '-' | '\u{2212}')));
        let begin = at + 1 + signed;
        let mut end = begin;
        while self.is_digit(end) {
            end += 1;
        }
        if end == begin || self.sign(end).is_some_and(is_word) {
            return None;
        }
        let digits: String = self.signs[begin..end].iter().collect();
        let power = digits.parse::<i32>().unwrap_or(9_999).min(9_999);
        let negative = signed == 1 && self.sign(at + 1) != Some('+');
        Some(NumberTail {
            power: if negative { -power } else { power },
            end,
            is_number: true,
        })
    }

    /// Parses a suffix, directly or after one space, or a unit.
    fn scale(&self, at: usize) -> NumberTail {
        let word = |begin: usize| -> String {
            let rest = self.signs.iter().skip(begin);
            rest.take_while(|sign| is_word(**sign)).collect()
        };
        let number = |power, end| NumberTail {
            power,
            end,
            is_number: true,
        };
        let unit = word(at);
        if unit.is_empty() {
            if self.sign(at).is_some_and(is_space) {
                let suffix = word(at + 1);
                if let Some(power) = power_of(&suffix) {
                    return number(power, at + 1 + suffix.len());
                }
            }
            return number(0, at);
        }
        let end = at + unit.chars().count();
        if let Some(power) = power_of(&unit) {
            return number(power, end);
        }
        let is_ordinal = matches!(unit.as_str(), "st" | "nd" | "rd" | "th");
        NumberTail {
            power: 0,
            end,
            is_number: !is_ordinal && unit.chars().all(char::is_alphabetic),
        }
    }

    /// True after a minus, also before a currency sign, and in parentheses.
    fn is_negative(&self, begin: usize, end: usize) -> bool {
        let mut at = begin;
        let mut before = || {
            at = at.checked_sub(1)?;
            self.sign(at)
        };
        let mut sign = before();
        if sign.is_some_and(is_space) || sign.is_some_and(is_currency) {
            let spaced = sign.is_some_and(is_space);
            let currency = if spaced { before() } else { sign };
            sign = if currency.is_some_and(is_currency) {
                before()
            } else {
                None
            };
        }
        let encloses = sign == Some('(') && self.sign(end) == Some(')');
        let is_minus = matches!(sign, Some('-' | '\u{2212}'));
        // `10-20` is a range and `f(5)` a call.
        (encloses || is_minus) && !before().is_some_and(|sign| is_word(sign) || sign == ')')
    }
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// Also narrow, thin and non-breaking.
fn is_space(sign: char) -> bool {
    matches!(sign, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

fn is_currency(sign: char) -> bool {
    matches!(sign, '$' | '€' | '£' | '¥' | '₹' | '₽' | '₩')
}

fn power_of(suffix: &str) -> Option<i32> {
    match suffix {
        "k" | "K" => Some(3),
        "M" => Some(6),
        "bn" => Some(9),
        _ => None,
    }
}
