//! Generated tables before they are fitted to a server.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const LETTERS: &str = "[a-zA-Z_ .'\"%;:`\\\\ä🦀0-9$-]{1,12}";

const RESERVED: [&str; 12] = [
    "select", "table", "order", "group", "user", "primary", "NULL", "from", "rowid", "default",
    "Check", "where",
];

#[derive(Debug, Clone)]
pub(super) enum NameWord {
    Short(String),
    /// Padded to the server's longest name.
    Long(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelationForm {
    Table,
    Partitioned,
    View,
    Materialized,
}

#[derive(Debug, Clone)]
pub(super) struct DraftColumn {
    pub(super) name: NameWord,
    pub(super) kind: Index,
    pub(super) required: bool,
    pub(super) has_default: bool,
    pub(super) comment: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct RelationDraft {
    pub(super) schema: Index,
    pub(super) name: NameWord,
    pub(super) form: RelationForm,
    pub(super) columns: Vec<DraftColumn>,
    pub(super) comment: Option<String>,
    /// Number of key columns, and whether they are reversed.
    pub(super) key: (usize, bool),
    /// First column and number of columns.
    pub(super) unique: Option<(Index, usize)>,
    /// Parents up to this table, by primary key or unique constraint.
    pub(super) links: Vec<(Index, NameWord)>,
    pub(super) base: Index,
    pub(super) rows: u64,
}

fn word() -> impl Strategy<Value = NameWord> {
    prop_oneof![
        5 => LETTERS.prop_map(NameWord::Short),
        2 => select(&RESERVED[..]).prop_map(|word| NameWord::Short(word.to_owned())),
        1 => LETTERS.prop_map(NameWord::Long),
    ]
}

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

pub(super) fn draft() -> impl Strategy<Value = RelationDraft> {
    let form = prop_oneof![
        6 => Just(RelationForm::Table),
        1 => Just(RelationForm::Partitioned),
        2 => Just(RelationForm::View),
        1 => Just(RelationForm::Materialized),
    ];
    let keys = (
        (0..4_usize, any::<bool>()),
        option::of((any::<Index>(), 1..3_usize)),
        vec((any::<Index>(), word()), 0..3),
    );
    let head = (any::<Index>(), word(), form, comment());
    let rest = (any::<Index>(), 0..5_u64);
    (head, vec(column(), 1..7), keys, rest).prop_map(
        |((schema, name, form, comment), columns, (key, unique, links), (base, rows))| {
            RelationDraft {
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
            }
        },
    )
}
