//! Numbers that the parser would misread.

use ktx_sql::Dialect;

/// Matches `0x1F`, `0b101` or, on Databricks, `3.5BD`.
pub(super) fn number_length(rest: &str, dialect: Dialect) -> Option<usize> {
    let length = based_length(rest, "0x", |digit| digit.is_ascii_hexdigit())
        .or_else(|| based_length(rest, "0b", |digit| matches!(digit, '0' | '1')))
        .or_else(|| suffixed_length(rest).filter(|_| dialect == Dialect::Databricks))?;
    let ends = !rest
        .get(length..)?
        .starts_with(|next: char| next.is_alphanumeric() || next == '_');
    ends.then_some(length)
}

fn based_length(rest: &str, prefix: &str, is_digit: impl Fn(char) -> bool) -> Option<usize> {
    let (head, digits) = rest.split_at_checked(prefix.len())?;
    let count = digits
        .find(|letter| !is_digit(letter))
        .unwrap_or(digits.len());
    (head.eq_ignore_ascii_case(prefix) && count > 0).then_some(count + prefix.len())
}

fn suffixed_length(rest: &str) -> Option<usize> {
    const TYPES: [&str; 6] = ["BD", "L", "S", "Y", "F", "D"];
    let digits = |from: usize| {
        let tail = rest.get(from..).unwrap_or_default();
        let count = tail
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(tail.len());
        (from + count, count > 0)
    };
    let (mut at, begins) = digits(0);
    if !begins {
        return None;
    }
    if rest.get(at..)?.starts_with('.') {
        at = digits(at + 1).0;
    }
    if rest.get(at..)?.starts_with(['e', 'E']) {
        let sign = usize::from(rest.get(at + 1..)?.starts_with(['+', '-']));
        let (end, has_digits) = digits(at + 1 + sign);
        if has_digits {
            at = end;
        }
    }
    TYPES.iter().find_map(|kind| {
        let written = rest.get(at..at + kind.len())?;
        written
            .eq_ignore_ascii_case(kind)
            .then_some(at + kind.len())
    })
}
