//! Decodes MySQL's binary protocol.

use ktx_warehouse::Cell;
use mysql_async::consts::{ColumnFlags, ColumnType};
use mysql_async::{Column, Value};

use crate::clock;
use crate::document;

const BINARY: u16 = 63;

pub(super) fn decode(column: &Column, value: Value) -> Cell {
    match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => integer(column, number),
        Value::UInt(number) => match i64::try_from(number) {
            Ok(number) => integer(column, number),
            Err(_) => Cell::UInt(number),
        },
        // The double with the same shortest text: 0.1 stays 0.1.
        Value::Float(number) => {
            Cell::Float(number.to_string().parse().unwrap_or(f64::from(number)))
        }
        Value::Double(number) => Cell::Float(number),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            if column.column_type() == ColumnType::MYSQL_TYPE_DATE {
                return Cell::Date(date);
            }
            let fraction = clock::fraction(i64::from(micros));
            Cell::Timestamp(format!(
                "{date} {hour:02}:{minute:02}:{second:02}{fraction}"
            ))
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let sign = if negative { "-" } else { "" };
            let hours = u64::from(days) * 24 + u64::from(hours);
            let fraction = clock::fraction(i64::from(micros));
            Cell::Time(format!(
                "{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"
            ))
        }
        Value::Bytes(bytes) => from_bytes(column, bytes),
    }
}

/// `tinyint(1)` holds booleans by convention; other numbers stay numbers.
fn integer(column: &Column, number: i64) -> Cell {
    match (column.column_type(), column.column_length(), number) {
        (ColumnType::MYSQL_TYPE_TINY, 1, 0 | 1) => Cell::Bool(number == 1),
        _ => Cell::Int(number),
    }
}

fn from_bytes(column: &Column, bytes: Vec<u8>) -> Cell {
    match column.column_type() {
        ColumnType::MYSQL_TYPE_NEWDECIMAL | ColumnType::MYSQL_TYPE_DECIMAL => {
            text(bytes, Cell::Decimal)
        }
        ColumnType::MYSQL_TYPE_BIT => bits(column, bytes),
        ColumnType::MYSQL_TYPE_JSON => text(bytes, |text| {
            document::read(&text).map_or(Cell::Text(text), Cell::Json)
        }),
        ColumnType::MYSQL_TYPE_GEOMETRY => Cell::Bytes(bytes),
        _ if column.character_set() == BINARY
            && !column
                .flags()
                .intersects(ColumnFlags::ENUM_FLAG | ColumnFlags::SET_FLAG) =>
        {
            Cell::Bytes(bytes)
        }
        _ => text(bytes, Cell::Text),
    }
}

/// The session uses UTF-8; invalid text stays bytes.
fn text(bytes: Vec<u8>, make: fn(String) -> Cell) -> Cell {
    match String::from_utf8(bytes) {
        Ok(text) => make(text),
        Err(error) => Cell::Bytes(error.into_bytes()),
    }
}

fn bits(column: &Column, bytes: Vec<u8>) -> Cell {
    if bytes.len() > 8 {
        return Cell::Bytes(bytes);
    }
    let number = bytes
        .iter()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    match (column.column_length(), number, i64::try_from(number)) {
        (1, 0 | 1, _) => Cell::Bool(number == 1),
        (_, _, Ok(number)) => Cell::Int(number),
        (_, number, Err(_)) => Cell::UInt(number),
    }
}

pub(super) fn type_name(column: &Column) -> String {
    let unsigned = column.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    let binary = column.character_set() == BINARY;
    let name = match column.column_type() {
        _ if column.flags().contains(ColumnFlags::ENUM_FLAG) => "enum",
        _ if column.flags().contains(ColumnFlags::SET_FLAG) => "set",
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => "decimal",
        ColumnType::MYSQL_TYPE_TINY if column.column_length() == 1 => "tinyint(1)",
        ColumnType::MYSQL_TYPE_TINY => "tinyint",
        ColumnType::MYSQL_TYPE_SHORT => "smallint",
        ColumnType::MYSQL_TYPE_INT24 => "mediumint",
        ColumnType::MYSQL_TYPE_LONG => "int",
        ColumnType::MYSQL_TYPE_LONGLONG => "bigint",
        ColumnType::MYSQL_TYPE_FLOAT => "float",
        ColumnType::MYSQL_TYPE_DOUBLE => "double",
        ColumnType::MYSQL_TYPE_YEAR => return "year".to_owned(),
        ColumnType::MYSQL_TYPE_BIT => return "bit".to_owned(),
        ColumnType::MYSQL_TYPE_NULL => "null",
        ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => {
            return "timestamp".to_owned();
        }
        ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => "datetime",
        ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => "date",
        ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => "time",
        ColumnType::MYSQL_TYPE_JSON => "json",
        ColumnType::MYSQL_TYPE_GEOMETRY => "geometry",
        ColumnType::MYSQL_TYPE_STRING => {
            if binary {
                "binary"
            } else {
                "char"
            }
        }
        ColumnType::MYSQL_TYPE_VARCHAR | ColumnType::MYSQL_TYPE_VAR_STRING => {
            if binary {
                "varbinary"
            } else {
                "varchar"
            }
        }
        _ => {
            if binary {
                "blob"
            } else {
                "text"
            }
        }
    };
    let is_number = matches!(
        name,
        "tinyint"
            | "tinyint(1)"
            | "smallint"
            | "mediumint"
            | "int"
            | "bigint"
            | "decimal"
            | "float"
            | "double"
    );
    if unsigned && is_number {
        format!("{name} unsigned")
    } else {
        name.to_owned()
    }
}
