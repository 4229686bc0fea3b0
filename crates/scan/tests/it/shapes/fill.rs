//! What stands in the columns of databases of particular shapes.

/// What stands in a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fill {
    /// Numbers that follow each other from here on.
    Count(u64),
    /// Numbers from 1 on of which two in seven are left out, at places of this seed.
    Gaps(u64),
    /// Numbers of seven digits anywhere, from this seed.
    Scattered(u64),
    /// Numbers of nineteen digits far apart, from this seed.
    Apart(u64),
    /// Values of another table's column, of rows from the first to the second hundredth; a link.
    Of(&'static str, &'static str, (u64, u64)),
    /// The same, which only looks like a link, or one through another table.
    Like(&'static str, &'static str, (u64, u64)),
    /// Each of the first rows' values of another table's column once; a link.
    Each(&'static str, &'static str),
    /// Numbers from 1 up to this.
    UpTo(u64),
    /// A code of this beginning and the row's number.
    Code(&'static str),
    /// A hash of this and the row's number.
    Hash(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A day as text.
    Day,
    /// These words in turn.
    Listed(&'static [&'static str]),
    /// Texts with marks or blanks in them that tell rows apart.
    Text(Look, u64),
    /// Sentences, some of them equal.
    Free,
    /// Days that follow each other from this one on, counted from 1970.
    Days(Form, i64),
    /// Days among so many from this one on.
    DayIn(Form, i64, u64),
    /// A part of the days that follow each other from this one on.
    PartOf(Period, i64),
    /// Numbers of groups of rows, of one to five rows each, from here on.
    Block(u64),
    /// The number of the row in its group.
    Line,
    /// Values of another table's column, one for each group of rows; a link.
    BlockOf(&'static str, &'static str),
    /// A column of a row of another table; all such columns to one table are one link.
    Tuple(&'static str, &'static str),
    /// A further column of that row, which is no link.
    Beside(&'static str, &'static str),
    /// Values of another table's column, written otherwise in so many of a hundred rows; a link.
    Respelled(&'static str, &'static str, u64, Spelling),
}

/// What texts look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Mail,
    Url,
    Path,
    Iban,
    Phrase,
}

/// How days are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As a date.
    Date,
    /// As `2024-01-31` in a text column.
    Text,
    /// As `20240131`.
    Number,
}

/// A part of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Year,
    Month,
    Weekday,
}

/// How a value is written otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// In small letters.
    Small,
    /// With blanks behind.
    Padded,
    /// With blanks before, in small letters.
    Shifted,
    /// With zeros before.
    Zeros,
}
