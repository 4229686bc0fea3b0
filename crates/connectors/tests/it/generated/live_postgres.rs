//! Generated schemas on PostgreSQL.

use ktx_warehouse::{DimensionType, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::check;
use super::ddl::place;
use super::draft::RelationForm;
use super::model::{
    ColumnKind, ConstraintNames, Constraints, LinkScope, NameEquality, Relation, Server,
    ServerRules, plain,
};
use crate::postgres::Database;

struct Postgres;

const fn spelled(
    declared: &'static str,
    native: &'static str,
    dimension: DimensionType,
    default: Option<&'static str>,
) -> ColumnKind {
    ColumnKind {
        declared,
        native,
        dimension,
        default,
    }
}

const TYPES: &[ColumnKind] = &[
    plain("integer", DimensionType::Number, Some("7")),
    plain("bigint", DimensionType::Number, None),
    plain("text", DimensionType::String, Some("'it''s'")),
    spelled(
        "varchar(20)",
        "character varying(20)",
        DimensionType::String,
        None,
    ),
    plain("uuid", DimensionType::String, Some("gen_random_uuid()")),
    plain("date", DimensionType::Time, Some("current_date")),
    spelled(
        "numeric(10, 2)",
        "numeric(10,2)",
        DimensionType::Number,
        Some("1.5"),
    ),
    plain("numeric", DimensionType::Number, None),
    spelled("float8", "double precision", DimensionType::Number, None),
    plain("boolean", DimensionType::Boolean, Some("true")),
    spelled(
        "timestamptz",
        "timestamp with time zone",
        DimensionType::Time,
        Some("now()"),
    ),
    spelled(
        "timestamp(3)",
        "timestamp(3) without time zone",
        DimensionType::Time,
        None,
    ),
    spelled("time", "time without time zone", DimensionType::Time, None),
    plain("interval", DimensionType::String, None),
    plain("jsonb", DimensionType::String, Some("'{}'")),
    plain("bytea", DimensionType::String, None),
    spelled("char(3)", "character(3)", DimensionType::String, None),
    plain("integer[]", DimensionType::String, Some("'{1,2}'")),
    spelled("text[][]", "text[]", DimensionType::String, None),
    plain("int4range", DimensionType::String, None),
    plain("point", DimensionType::String, None),
    spelled("mood", "mood", DimensionType::String, Some("'fine'")),
    plain(r#""odd ""one"".x 🦀"."Mo.od""#, DimensionType::String, None),
    plain(
        r#""odd ""one"".x 🦀"."Mo.od"[]"#,
        DimensionType::String,
        None,
    ),
    plain("price", DimensionType::Number, None),
];

const PREPARE: &str = r#"CREATE TYPE mood AS ENUM ('fine', 'so ''so');
    CREATE TYPE "odd ""one"".x 🦀"."Mo.od" AS ENUM ('x');
    CREATE DOMAIN price AS numeric(12, 4) CHECK (VALUE >= 0)"#;

impl Server for Postgres {
    const RULES: ServerRules = ServerRules {
        schemas: &["public", "sales", "odd \"one\".x 🦀", "select"],
        forms: &[
            RelationForm::Table,
            RelationForm::Partitioned,
            RelationForm::View,
            RelationForm::Materialized,
        ],
        types: TYPES,
        key_types: 6,
        reach: LinkScope::EverySchema,
        names: ConstraintNames::OwnInTable,
        tables: NameEquality::Exact,
        columns: NameEquality::Exact,
        partitions_link: true,
        constraints: Constraints::All,
    };

    fn fits(name: &str) -> bool {
        name.len() <= 63
    }

    fn prepare() -> Vec<String> {
        let mut statements = Vec::new();
        for schema in Self::RULES.schemas.iter().skip(1) {
            statements.push(format!("CREATE SCHEMA {}", Self::quote(schema)));
        }
        statements.push(PREPARE.to_owned());
        statements
    }

    fn table_tail(relation: &Relation) -> String {
        match (relation.form, relation.table.columns.first()) {
            (RelationForm::Partitioned, Some(first)) => {
                format!(" PARTITION BY RANGE ({})", Self::quote(&first.name))
            }
            _ => String::new(),
        }
    }

    fn finish(relation: &Relation) -> Vec<String> {
        let table = &relation.table;
        let place = place::<Self>(&table.table);
        let kind = match relation.form {
            RelationForm::Table | RelationForm::Partitioned => "TABLE",
            RelationForm::View => "VIEW",
            RelationForm::Materialized => "MATERIALIZED VIEW",
        };
        let mut statements = partitions(relation);
        if let Some(comment) = &table.comment {
            let comment = Self::literal(comment);
            statements.push(format!("COMMENT ON {kind} {place} IS {comment}"));
        }
        for column in &table.columns {
            if let Some(comment) = &column.comment {
                let (name, comment) = (Self::quote(&column.name), Self::literal(comment));
                statements.push(format!("COMMENT ON COLUMN {place}.{name} IS {comment}"));
            }
        }
        if relation.rows > 0 {
            statements.push(format!("ANALYZE {place}"));
        }
        statements
    }

    fn adjust(relation: &mut Relation) {
        // Without analysis there is no estimate.
        relation.table.estimated_rows = (relation.rows > 0).then_some(relation.rows);
    }
}

/// A default partition with its own partitions.
fn partitions(relation: &Relation) -> Vec<String> {
    let (Some(schema), Some(first), [outer, inner]) = (
        relation.table.table.db.as_deref(),
        relation.table.columns.first(),
        relation.spare.as_slice(),
    ) else {
        return Vec::new();
    };
    let name = |name: &str| format!("{}.{}", Postgres::quote(schema), Postgres::quote(name));
    let (outer, inner, first) = (name(outer), name(inner), Postgres::quote(&first.name));
    vec![
        format!(
            "CREATE TABLE {outer} PARTITION OF {} DEFAULT PARTITION BY LIST ({first})",
            place::<Postgres>(&relation.table.table)
        ),
        format!("CREATE TABLE {inner} PARTITION OF {outer} DEFAULT"),
    ]
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let is_there = runtime
        .block_on(Database::new("ktx_generated", ""))
        .is_some();
    if !is_there {
        return;
    }
    check::<Postgres>(8, |statements| {
        runtime.block_on(async {
            let database = Database::new("ktx_generated", "").await.unwrap();
            for sql in statements {
                let made = database.admin.batch_execute(sql).await;
                made.map_err(|error| format!("{:?}: {sql}", error.as_db_error()))?;
            }
            let cancel = CancellationToken::new();
            let connector = database.connector(json!({}));
            let read = connector.introspect(&Scope::default(), &cancel).await;
            read.map_err(|error| error.message)
        })
    });
}
