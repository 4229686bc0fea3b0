//! Generated schemas on ClickHouse, without keys.

use ktx_warehouse::{Column, DimensionType, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::check;
use super::draft::RelationForm;
use super::model::{
    ColumnKind, ConstraintNames, Constraints, LinkScope, NameEquality, Relation, Server,
    ServerRules, plain,
};
use crate::live_clickhouse::Database;

struct ClickHouse;

const TYPES: &[ColumnKind] = &[
    plain("UInt64", DimensionType::Number, Some("7")),
    plain("String", DimensionType::String, Some("'it\\'s'")),
    plain("Date", DimensionType::Time, None),
    plain("Nullable(Int32)", DimensionType::Number, None),
    plain(
        "LowCardinality(Nullable(String))",
        DimensionType::String,
        None,
    ),
    plain("Nullable(DateTime64(3, 'UTC'))", DimensionType::Time, None),
    plain("Decimal(10, 2)", DimensionType::Number, None),
    plain("Float64", DimensionType::Number, Some("1.5")),
    plain("Bool", DimensionType::Boolean, Some("true")),
    plain(
        "Enum8('a' = 1, 'so \\'so' = 2)",
        DimensionType::String,
        None,
    ),
    plain("Array(Nullable(Int32))", DimensionType::String, None),
    plain("Map(String, UInt8)", DimensionType::String, None),
    plain("Tuple(a UInt8, b String)", DimensionType::String, None),
    plain("FixedString(3)", DimensionType::String, None),
    plain("UUID", DimensionType::String, None),
];

impl Server for ClickHouse {
    const RULES: ServerRules = ServerRules {
        schemas: &["ktx_generated", "ktx_gen odd `x`.é"],
        forms: &[
            RelationForm::Table,
            RelationForm::Partitioned,
            RelationForm::View,
            RelationForm::Materialized,
        ],
        types: TYPES,
        key_types: 3,
        reach: LinkScope::Nowhere,
        names: ConstraintNames::Theirs,
        tables: NameEquality::Exact,
        columns: NameEquality::Exact,
        partitions_link: false,
        constraints: Constraints::Types,
    };

    /// Tables are folders; a special character takes three bytes.
    fn fits(name: &str) -> bool {
        name.len() <= 60
    }

    /// The engine's proxy ends a statement at a quoted semicolon.
    fn clean(name: &str) -> String {
        name.replace(';', ",")
    }

    fn remark(text: &str) -> String {
        text.replace(';', ",")
    }

    fn quote(name: &str) -> String {
        format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
    }

    fn prepare() -> Vec<String> {
        let name = Self::quote(Self::RULES.schemas[1]);
        vec![
            format!("DROP DATABASE IF EXISTS {name}"),
            format!("CREATE DATABASE {name}"),
        ]
    }

    fn column_tail(column: &Column) -> String {
        let comment = column.comment.as_deref().map(Self::literal);
        comment.map_or_else(String::new, |comment| format!(" COMMENT {comment}"))
    }

    fn table_tail(relation: &Relation) -> String {
        let order = if relation.table.primary_key.is_empty() {
            " ORDER BY tuple()"
        } else {
            ""
        };
        let first = relation.table.columns.first();
        let comment = relation.table.comment.as_deref().map(Self::literal);
        let comment = comment.map_or_else(String::new, |comment| format!(" COMMENT {comment}"));
        match (relation.form, first) {
            (RelationForm::View, _) | (_, None) => String::new(),
            (RelationForm::Materialized, _) => " ENGINE = MergeTree ORDER BY tuple()".to_owned(),
            (RelationForm::Partitioned, Some(first)) => {
                let first = Self::quote(&first.name);
                format!(" ENGINE = MergeTree PARTITION BY {first}{order}{comment}")
            }
            (RelationForm::Table, _) => format!(" ENGINE = MergeTree{order}{comment}"),
        }
    }

    /// Only the type makes a column nullable.
    fn view_column(base: &Column) -> Column {
        Column {
            comment: None,
            ..base.clone()
        }
    }

    fn adjust(relation: &mut Relation) {
        let table = &mut relation.table;
        table.primary_key.clear();
        if relation.base.is_some() {
            table.comment = None;
            table.estimated_rows = None;
        }
        for column in &mut table.columns {
            column.primary_key = false;
            column.nullable = column.native_type.contains("Nullable(")
                && !column.native_type.starts_with("Array");
        }
    }
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    if Database::new("ktx_generated", &[]).is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scope = Scope {
        schemas: ClickHouse::RULES
            .schemas
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        tables: Vec::new(),
    };
    check::<ClickHouse>(6, |statements| {
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let database = Database::new("ktx_generated", &statements).unwrap();
        let cancel = CancellationToken::new();
        let connector = database.connector(json!({}));
        let read = runtime.block_on(connector.introspect(&scope, &cancel));
        read.map_err(|error| error.message)
    });
}
