//! Values of columns.

#[derive(Debug, Clone, Copy)]
pub enum ColumnFill {
    Count(u64),
    /// Numbers from 1 without two in seven, by seed.
    Gaps(u64),
    Scattered(u64),
    Apart(u64),
    /// A link to another table's column, within this percentile range of rows.
    Of(&'static str, &'static str, (u64, u64)),
    /// Like `Of`, but not a direct link.
    Like(&'static str, &'static str, (u64, u64)),
    /// A link to the first rows of another table, each once.
    Each(&'static str, &'static str),
    UpTo(u64),
    Code(&'static str),
    Hash(&'static str),
    Word(&'static [&'static str]),
    Day,
    Listed(&'static [&'static str]),
    /// Unique texts with punctuation or spaces.
    Text(TextLook, u64),
    Free,
    /// Consecutive days from this one, since 1970.
    Days(DateForm, i64),
    /// Days within a number of days from this one.
    DayIn(DateForm, i64, u64),
    /// Part of consecutive days from this one.
    PartOf(CalendarPart, i64),
    /// Numbers of groups of one to five rows, from this one.
    Block(u64),
    Line,
    /// A link to another table's column, one value per group.
    BlockOf(&'static str, &'static str),
    /// A column of another table's row; these columns form one link.
    Tuple(&'static str, &'static str),
    /// A column of that row outside the link.
    Beside(&'static str, &'static str),
    /// A link with another spelling in this percentage of rows.
    Respelled(&'static str, &'static str, u64, Spelling),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextLook {
    Mail,
    Url,
    Path,
    Iban,
    Phrase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateForm {
    Date,
    /// `2024-01-31` in a text column.
    Text,
    /// `20240131`.
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarPart {
    Year,
    Month,
    Weekday,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    Small,
    Padded,
    Shifted,
    Zeros,
}
