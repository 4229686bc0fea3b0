//! Generated schemas on MariaDB; only table names are case-sensitive.

use ktx_warehouse::{Column, DimensionType, Scope};
use mysql_async::prelude::Queryable as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::check;
use super::ddl::place;
use super::draft::RelationForm;
use super::model::{
    ColumnKind, ConstraintNames, Constraints, LinkScope, NameEquality, Relation, Server,
    ServerRules, plain,
};
use crate::mysql::Database;

struct MariaDb;

const TYPES: &[ColumnKind] = &[
    plain("int(11)", DimensionType::Number, Some("7")),
    plain("bigint(20) unsigned", DimensionType::Number, None),
    plain("varchar(20)", DimensionType::String, Some("'it\\'s'")),
    plain("date", DimensionType::Time, Some("'2024-02-29'")),
    plain("tinyint(1)", DimensionType::Boolean, Some("1")),
    plain("tinyint(4)", DimensionType::Number, None),
    plain("bit(1)", DimensionType::Boolean, Some("b'1'")),
    plain("decimal(10,2)", DimensionType::Number, Some("1.5")),
    plain("double", DimensionType::Number, None),
    plain("enum('a','so ''so')", DimensionType::String, Some("'a'")),
    plain("set('x','y')", DimensionType::String, None),
    plain(
        "datetime(6)",
        DimensionType::Time,
        Some("current_timestamp(6)"),
    ),
    plain("time", DimensionType::Time, None),
    plain("year(4)", DimensionType::Number, None),
    plain("longtext", DimensionType::String, None),
    plain("blob", DimensionType::String, None),
    ColumnKind {
        declared: "json",
        native: "longtext",
        dimension: DimensionType::String,
        default: None,
    },
];

impl Server for MariaDb {
    const RULES: ServerRules = ServerRules {
        schemas: &["ktx_gen", "KTX_GEN", "ktx_gen odd `one`.é漢", "ktx_gen_x"],
        forms: &[
            RelationForm::Table,
            RelationForm::Partitioned,
            RelationForm::View,
        ],
        types: TYPES,
        key_types: 4,
        reach: LinkScope::EverySchema,
        names: ConstraintNames::OwnInSchema,
        tables: NameEquality::Exact,
        columns: NameEquality::Folded,
        partitions_link: false,
        constraints: Constraints::All,
    };

    fn fits(name: &str) -> bool {
        name.chars().count() <= 64
    }

    /// Replaces characters outside the basic plane and trailing blanks; view columns cannot have
    /// leading blanks.
    fn clean(name: &str) -> String {
        let name = name.replace('🦀', "漢");
        let bare = name.trim_matches(' ');
        if bare.len() == name.len() {
            name
        } else {
            format!("{bare}_")
        }
    }

    fn remark(text: &str) -> String {
        text.replace('🦀', "漢")
    }

    fn quote(name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }

    fn prepare() -> Vec<String> {
        let checks = |state: u8| format!("SET foreign_key_checks = {state}");
        let mut statements = vec![checks(0)];
        for schema in Self::RULES.schemas {
            let name = Self::quote(schema);
            statements.push(format!("DROP DATABASE IF EXISTS {name}"));
            statements.push(format!("CREATE DATABASE {name} CHARSET utf8mb4"));
        }
        statements.push(checks(1));
        statements
    }

    fn column_tail(column: &Column) -> String {
        let comment = column.comment.as_deref().map(Self::literal);
        comment.map_or_else(String::new, |comment| format!(" COMMENT {comment}"))
    }

    fn table_tail(relation: &Relation) -> String {
        if relation.base.is_some() {
            return String::new();
        }
        let comment = relation.table.comment.as_deref().map(Self::literal);
        let comment = comment.map_or_else(String::new, |comment| format!(" COMMENT {comment}"));
        match relation.table.columns.first() {
            Some(first) if relation.form == RelationForm::Partitioned => {
                let first = Self::quote(&first.name);
                format!("{comment} PARTITION BY KEY ({first}) PARTITIONS 3")
            }
            _ => comment,
        }
    }

    fn finish(relation: &Relation) -> Vec<String> {
        let place = place::<Self>(&relation.table.table);
        if relation.rows == 0 {
            return Vec::new();
        }
        vec![format!("ANALYZE TABLE {place}")]
    }

    fn view_column(base: &Column) -> Column {
        Column {
            primary_key: false,
            ..base.clone()
        }
    }

    fn adjust(relation: &mut Relation) {
        if relation.base.is_some() {
            relation.table.comment = None;
            relation.table.estimated_rows = None;
        }
        if relation.form == RelationForm::Partitioned {
            // The engine counts at least one row per partition.
            relation.table.estimated_rows = Some(3);
        }
    }
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let Some(mut database) = runtime.block_on(Database::new("ktx_my_generated", "")) else {
        return;
    };
    let scope = Scope {
        schemas: MariaDb::RULES
            .schemas
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        tables: Vec::new(),
    };
    check::<MariaDb>(8, |statements| {
        runtime.block_on(async {
            for sql in statements {
                let made = database.admin.query_drop(sql).await;
                made.map_err(|error| format!("{error}: {sql}"))?;
            }
            let cancel = CancellationToken::new();
            let connector = database.connector(json!({}));
            let read = connector.introspect(&scope, &cancel).await;
            read.map_err(|error| error.message)
        })
    });
}
