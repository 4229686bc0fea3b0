//! The parser's grammars with the switches of the servers.

use sqlparser::dialect::{Dialect as ParserDialect, PostgreSqlDialect, SnowflakeDialect};

use crate::dialect::Dialect;

mod derived {
    #![expect(unreachable_pub, reason = "the macro writes the items")]

    use sqlparser::derive_dialect;
    use sqlparser::dialect::{
        BigQueryDialect, ClickHouseDialect, DatabricksDialect, DuckDbDialect, GenericDialect,
        MsSqlDialect, MySqlDialect, RedshiftSqlDialect, SQLiteDialect,
    };

    derive_dialect!(TrinoGrammar, GenericDialect, preserve_type_id = true, overrides = {
        supports_lambda_functions = true,
        supports_table_versioning = true,
        supports_numeric_literal_underscores = true,
        supports_named_fn_args_with_colon_operator = true,
        supports_named_fn_args_with_expr_name = true,
    });

    derive_dialect!(MySqlGrammar, MySqlDialect, preserve_type_id = true, overrides = {
        supports_bang_not_operator = true,
        allow_extract_custom = true,
    });

    derive_dialect!(
        MariaDbGrammar,
        MySqlDialect,
        preserve_type_id = true,
        overrides = {
            supports_bang_not_operator = true,
            allow_extract_custom = true,
            supports_table_versioning = true,
        }
    );

    derive_dialect!(
        DuckDbGrammar,
        DuckDbDialect,
        preserve_type_id = true,
        overrides = {
            supports_select_wildcard_rename = true,
            supports_window_function_null_treatment_arg = true,
            supports_factorial_operator = true,
        }
    );

    derive_dialect!(SqliteGrammar, SQLiteDialect, preserve_type_id = true, overrides = {
        supports_cross_join_constraint = true,
        supports_bitwise_shift_operators = true,
    });

    derive_dialect!(SqlServerGrammar, MsSqlDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
        supports_group_by_expr = true,
        supports_group_by_with_modifier = true,
    });

    derive_dialect!(RedshiftGrammar, RedshiftSqlDialect, preserve_type_id = true, overrides = {
        supports_group_by_expr = true,
        supports_outer_join_operator = true,
        supports_connect_by = true,
    });

    derive_dialect!(ClickHouseGrammar, ClickHouseDialect, preserve_type_id = true, overrides = {
        supports_filter_during_aggregation = true,
        require_interval_qualifier = false,
    });

    derive_dialect!(DatabricksGrammar, DatabricksDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
        supports_table_sample_before_alias = true,
        supports_struct_literal = false,
        supports_aliased_function_args = true,
    });

    derive_dialect!(BigQueryGrammar, BigQueryDialect, preserve_type_id = true, overrides = {
        supports_bitwise_shift_operators = true,
    });
}

pub(super) fn grammar(dialect: Dialect) -> Box<dyn ParserDialect> {
    match dialect {
        Dialect::Postgres => Box::new(PostgreSqlDialect {}),
        Dialect::Databricks => Box::new(derived::DatabricksGrammar::new()),
        Dialect::BigQuery => Box::new(derived::BigQueryGrammar::new()),
        Dialect::Trino => Box::new(derived::TrinoGrammar::new()),
        Dialect::MySql => Box::new(derived::MySqlGrammar::new()),
        Dialect::MariaDb => Box::new(derived::MariaDbGrammar::new()),
        Dialect::DuckDb => Box::new(derived::DuckDbGrammar::new()),
        Dialect::Sqlite => Box::new(derived::SqliteGrammar::new()),
        Dialect::SqlServer => Box::new(derived::SqlServerGrammar::new()),
        Dialect::Redshift => Box::new(derived::RedshiftGrammar::new()),
        Dialect::ClickHouse => Box::new(derived::ClickHouseGrammar::new()),
        Dialect::Snowflake => Box::new(SnowflakeDialect {}),
    }
}
