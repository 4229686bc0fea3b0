//! Tables as they are drawn, without regard to any server.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Characters that names and comments are made of.
const LETTERS: &str = "[a-zA-Z_ .'\"%;:`\\\\ä🦀0-9$-]{1,12}";

const RESERVED: [&str; 12] = [
    "select", "table", "order", "group", "user", "primary", "NULL", "from", "rowid", "default",
    "Check", "where",
];

/// A name before it is fitted to a server.
#[derive(Debug, Clone)]
pub(super) enum Word {
    Short(String),
    /// Filled up to the longest name that the server takes.
    Long(String),
}

/// What a relation is, where the server has such a thing; else it is a plain table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Table,
    Partitioned,
    View,
    Materialized,
}

#[derive(Debug, Clone)]
pub(super) struct DraftColumn {
    pub(super) name: Word,
    pub(super) kind: Index,
    pub(super) required: bool,
    pub(super) has_default: bool,
    pub(super) comment: Option<String>,
}

/// One relation as it is drawn.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) schema: Index,
    pub(super) name: Word,
    pub(super) form: Form,
    pub(super) columns: Vec<DraftColumn>,
    pub(super) comment: Option<String>,
    /// How many columns the primary key has, and whether from the last to the first.
    pub(super) key: (usize, bool),
    /// The first of the columns of a unique constraint, and how many it has.
    pub(super) unique: Option<(Index, usize)>,
    /// Parents among this table and those before it, by key or by unique constraint.
    pub(super) links: Vec<(Index, Word)>,
    /// What a view reads.
    pub(super) base: Index,
    pub(super) rows: u64,
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        5 => LETTERS.prop_map(Word::Short),
        2 => select(&RESERVED[..]).prop_map(|word| Word::Short(word.to_owned())),
        1 => LETTERS.prop_map(Word::Long),
    ]
}

/// None, some text, or blanks.
fn comment() -> impl Strategy<Value = Option<String>> {
    let text = prop_oneof![9 => LETTERS.prop_map_into(), 1 => Just("  ".to_owned())];
    option::of(text)
}

fn column() -> impl Strategy<Value = DraftColumn> {
    let comment = option::of(LETTERS);
    (
        word(),
        any::<Index>(),
        any::<bool>(),
        any::<bool>(),
        comment,
    )
        .prop_map(|(name, kind, required, has_default, comment)| DraftColumn {
            name,
            kind,
            required,
            has_default,
            comment,
        })
}

pub(super) fn draft() -> impl Strategy<Value = Draft> {
    let form = prop_oneof![
        6 => Just(Form::Table),
        1 => Just(Form::Partitioned),
        2 => Just(Form::View),
        1 => Just(Form::Materialized),
    ];
    let keys = (
        (0..4_usize, any::<bool>()),
        option::of((any::<Index>(), 1..3_usize)),
        vec((any::<Index>(), word()), 0..3),
    );
    let head = (any::<Index>(), word(), form, comment());
    let rest = (any::<Index>(), 0..5_u64);
    (head, vec(column(), 1..7), keys, rest).prop_map(
        |((schema, name, form, comment), columns, (key, unique, links), (base, rows))| Draft {
            schema,
            name,
            form,
            columns,
            comment,
            key,
            unique,
            links,
            base,
            rows,
        },
    )
}
