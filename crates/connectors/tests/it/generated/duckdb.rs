//! Generated schemas on DuckDB.

use ktx_warehouse::{Column, DimensionType, Scope};
use tokio_util::sync::CancellationToken;

use super::check;
use super::ddl::place;
use super::draft::RelationForm;
use super::model::{
    ColumnKind, ConstraintNames, Constraints, LinkScope, NameEquality, Relation, Server,
    ServerRules, plain,
};
use crate::duckdb::Database;

struct DuckDb;

const TYPES: &[ColumnKind] = &[
    plain("INTEGER", DimensionType::Number, Some("7")),
    plain("BIGINT", DimensionType::Number, None),
    plain("VARCHAR", DimensionType::String, Some("'it''s'")),
    plain("HUGEINT", DimensionType::Number, None),
    plain("DECIMAL(10,2)", DimensionType::Number, Some("1.5")),
    plain("DOUBLE", DimensionType::Number, None),
    plain("UUID", DimensionType::String, None),
    plain("INTEGER[]", DimensionType::String, None),
    plain("INTEGER[3]", DimensionType::String, None),
    plain("STRUCT(a INTEGER, b VARCHAR)", DimensionType::String, None),
    plain("MAP(VARCHAR, INTEGER)", DimensionType::String, None),
    plain("BOOLEAN", DimensionType::Boolean, Some("true")),
    plain("DATE", DimensionType::Time, Some("current_date")),
    plain("TIMESTAMP", DimensionType::Time, None),
    plain("TIMESTAMP WITH TIME ZONE", DimensionType::Time, None),
    plain("TIME", DimensionType::Time, None),
    plain("INTERVAL", DimensionType::String, None),
    plain("BLOB", DimensionType::String, None),
    ColumnKind {
        declared: "mood",
        native: "ENUM('fine', 'so ''so')",
        dimension: DimensionType::String,
        default: Some("'fine'"),
    },
];

impl Server for DuckDb {
    const RULES: ServerRules = ServerRules {
        schemas: &["main", "sales", "odd \"one\".x 🦀", "select"],
        forms: &[RelationForm::Table, RelationForm::View],
        types: TYPES,
        key_types: 3,
        reach: LinkScope::OwnSchema,
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
        let mut statements = vec!["CREATE TYPE mood AS ENUM ('fine', 'so ''so')".to_owned()];
        for schema in Self::RULES.schemas.iter().skip(1) {
            statements.push(format!("CREATE SCHEMA {}", Self::quote(schema)));
        }
        statements
    }

    fn finish(relation: &Relation) -> Vec<String> {
        let place = place::<Self>(&relation.table.table);
        let kind = match relation.form {
            RelationForm::View => "VIEW",
            _ => "TABLE",
        };
        let mut statements = Vec::new();
        if let Some(comment) = &relation.table.comment {
            let comment = Self::literal(comment);
            statements.push(format!("COMMENT ON {kind} {place} IS {comment}"));
        }
        for column in &relation.table.columns {
            if let Some(comment) = &column.comment {
                let (name, comment) = (Self::quote(&column.name), Self::literal(comment));
                statements.push(format!("COMMENT ON COLUMN {place}.{name} IS {comment}"));
            }
        }
        statements
    }

    fn view_column(base: &Column) -> Column {
        Column {
            nullable: true,
            primary_key: false,
            comment: None,
            ..base.clone()
        }
    }
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    if Database::new("SELECT 1").is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    check::<DuckDb>(12, |statements| {
        let database = Database::new(&statements.join("; ")).unwrap();
        let cancel = CancellationToken::new();
        let connector = database.connector();
        let scope = Scope::default();
        let read = connector.introspect(&scope, &cancel);
        runtime.block_on(read).map_err(|error| error.message)
    });
}
