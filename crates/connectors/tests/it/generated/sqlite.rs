//! Generated schemas on SQLite: no schemas, comments or constraint names.

use ktx_warehouse::{DimensionType, Scope};
use tokio_util::sync::CancellationToken;

use super::check;
use super::draft::RelationForm;
use super::model::{
    ColumnKind, ConstraintNames, Constraints, LinkScope, NameEquality, Relation, Server,
    ServerRules, plain,
};
use crate::sqlite::Database;

struct Sqlite;

const TYPES: &[ColumnKind] = &[
    plain("INTEGER", DimensionType::Number, Some("7")),
    plain("TEXT", DimensionType::String, Some("'it''s'")),
    plain("BIGINT", DimensionType::Number, None),
    plain("VARCHAR(20)", DimensionType::String, None),
    plain("DECIMAL(10,2)", DimensionType::Number, Some("1.5")),
    plain("REAL", DimensionType::Number, None),
    plain("BOOLEAN", DimensionType::Boolean, Some("1")),
    plain("DATE", DimensionType::Time, Some("CURRENT_DATE")),
    plain("DATETIME", DimensionType::Time, None),
    plain("BLOB", DimensionType::String, Some("x'00'")),
    plain("odd type", DimensionType::String, None),
];

impl Server for Sqlite {
    const RULES: ServerRules = ServerRules {
        schemas: &[],
        forms: &[RelationForm::Table, RelationForm::View],
        types: TYPES,
        key_types: 4,
        reach: LinkScope::EverySchema,
        names: ConstraintNames::Theirs,
        tables: NameEquality::Folded,
        columns: NameEquality::Folded,
        partitions_link: true,
        constraints: Constraints::All,
    };

    fn fits(name: &str) -> bool {
        name.len() <= 200
    }

    fn prepare() -> Vec<String> {
        Vec::new()
    }

    fn adjust(relation: &mut Relation) {
        let table = &mut relation.table;
        table.comment = None;
        if relation.base.is_some() {
            table.estimated_rows = None;
        }
        let is_rowid = table.primary_key.len() == 1;
        for (column, (_, required, _)) in table.columns.iter_mut().zip(&relation.declared) {
            column.comment = None;
            // Only the row number is never NULL because of its key.
            let is_rowid = is_rowid && column.primary_key && column.native_type == "INTEGER";
            column.nullable = !(*required || is_rowid);
        }
    }
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    check::<Sqlite>(40, |statements| {
        let database = Database::new(&statements.join("; "));
        let cancel = CancellationToken::new();
        let connector = database.connector();
        let scope = Scope::default();
        let read = connector.introspect(&scope, &cancel);
        runtime.block_on(read).map_err(|error| error.message)
    });
}
