//! The values in the columns of particular shapes.

#[derive(Debug, Clone, Copy)]
pub enum Fill {
    /// Consecutive numbers from here.
    Count(u64),
    /// Numbers from 1 of which two in seven are missing, at places of this seed.
    Gaps(u64),
    /// Scattered seven-digit numbers from this seed.
    Scattered(u64),
    /// Nineteen-digit numbers far apart, from this seed.
    Apart(u64),
    /// Values of another table's column, from rows in this percentile range; a link.
    Of(&'static str, &'static str, (u64, u64)),
    /// Like `Of`, but only looks like a link, or is one through another table.
    Like(&'static str, &'static str, (u64, u64)),
    /// The values of the first rows of another table's column, once each; a link.
    Each(&'static str, &'static str),
    UpTo(u64),
    /// A code with this prefix and the row's number.
    Code(&'static str),
    /// A hash of this and the row's number.
    Hash(&'static str),
    Word(&'static [&'static str]),
    Day,
    Listed(&'static [&'static str]),
    /// Unique texts with punctuation or spaces.
    Text(Look, u64),
    /// Sentences, some of them equal.
    Free,
    /// Consecutive days from this one, counted from 1970.
    Days(Form, i64),
    /// Days within a number of days from this one.
    DayIn(Form, i64, u64),
    /// A part of the consecutive days from this one.
    PartOf(Period, i64),
    /// Numbers of groups of one to five rows, from here.
    Block(u64),
    /// The number of the row within its group.
    Line,
    /// Values of another table's column, one per group of rows; a link.
    BlockOf(&'static str, &'static str),
    /// A column of a row of another table; all such columns for one table are one link.
    Tuple(&'static str, &'static str),
    /// Another column of that row, which is not a link.
    Beside(&'static str, &'static str),
    /// Values of another table's column with another spelling in this percentage of rows; a link.
    Respelled(&'static str, &'static str, u64, Spelling),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Mail,
    Url,
    Path,
    Iban,
    Phrase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Date,
    /// Dates as `2024-01-31` in a text column.
    Text,
    /// Dates as `20240131`.
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
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
