//! Type names.

use super::column_type;
use crate::model::authored::ColumnType;

fn check(kind: ColumnType, names: &[&str]) {
    for name in names {
        assert_eq!(column_type(name), kind, "{name}");
    }
}

#[test]
fn types_are_known_by_the_names_that_warehouses_give_them() {
    check(
        ColumnType::Number,
        &[
            "integer",
            "NUMERIC(10, 2)",
            "INT64",
            "FLOAT64",
            "BIGNUMERIC",
            "MONEY",
            "UInt64",
            "hugeint",
            "int unsigned",
            "Nullable(Decimal(10, 2))",
            "LowCardinality(Nullable(UInt8))",
            "number(38,0)",
        ],
    );
    check(
        ColumnType::Time,
        &[
            "timestamp with time zone",
            "timestamp(6) without time zone",
            "DATETIME2",
            "DATETIMEOFFSET",
            "SMALLDATETIME",
            "DateTime64(3, 'UTC')",
            "Nullable(Date32)",
            "TIMESTAMP_NTZ(9)",
            "date",
        ],
    );
    check(
        ColumnType::Boolean,
        &["bool", "BOOLEAN", "BIT", "Nullable(Bool)"],
    );
    check(
        ColumnType::String,
        &[
            "text",
            "interval",
            "point",
            "json",
            "uuid",
            "varchar(20)",
            "Array(Int8)",
        ],
    );
}
