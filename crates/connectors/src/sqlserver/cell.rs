//! Decodes TDS values.

use ktx_warehouse::{Cell, ColumnHeader, DimensionType};
use tiberius::time::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use tiberius::{Column, ColumnData, ColumnType, Row};

use crate::clock;

/// 1900-01-01, the epoch of `datetime`, in days since 1970-01-01.
const DAYS_OF_1900: i64 = -25_567;

/// 0001-01-01, the epoch of `date`, in days since 1970-01-01.
const DAYS_OF_1: i64 = -719_162;

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 1440 * MINUTE;

/// Above this amount, the client's double loses digits of a `money`.
const EXACT_MONEY: f64 = 900_000_000_000.0;

pub(super) fn header(column: &Column) -> ColumnHeader {
    let native_type = match column.column_type() {
        ColumnType::Null => None,
        ColumnType::Bit | ColumnType::Bitn => Some("bit"),
        ColumnType::Int1 => Some("tinyint"),
        ColumnType::Int2 => Some("smallint"),
        ColumnType::Int4 | ColumnType::Intn => Some("int"),
        ColumnType::Int8 => Some("bigint"),
        ColumnType::Float4 => Some("real"),
        ColumnType::Float8 | ColumnType::Floatn => Some("float"),
        ColumnType::Money => Some("money"),
        ColumnType::Money4 => Some("smallmoney"),
        ColumnType::Decimaln => Some("decimal"),
        ColumnType::Numericn => Some("numeric"),
        ColumnType::Datetime4 => Some("smalldatetime"),
        ColumnType::Datetime | ColumnType::Datetimen => Some("datetime"),
        ColumnType::Daten => Some("date"),
        ColumnType::Timen => Some("time"),
        ColumnType::Datetime2 => Some("datetime2"),
        ColumnType::DatetimeOffsetn => Some("datetimeoffset"),
        ColumnType::Guid => Some("uniqueidentifier"),
        ColumnType::BigVarBin => Some("varbinary"),
        ColumnType::BigBinary => Some("binary"),
        ColumnType::Image => Some("image"),
        ColumnType::BigVarChar => Some("varchar"),
        ColumnType::BigChar => Some("char"),
        ColumnType::Text => Some("text"),
        ColumnType::NVarchar => Some("nvarchar"),
        ColumnType::NChar => Some("nchar"),
        ColumnType::NText => Some("ntext"),
        ColumnType::Xml => Some("xml"),
        ColumnType::Udt => Some("udt"),
        ColumnType::SSVariant => Some("sql_variant"),
    };
    ColumnHeader {
        name: column.name().to_owned(),
        native_type: native_type.map(str::to_owned),
    }
}

pub(super) fn row(row: &Row) -> Vec<Cell> {
    row.cells()
        .map(|(column, value)| match (column.column_type(), value) {
            (ColumnType::Money | ColumnType::Money4, ColumnData::F64(Some(amount))) => {
                money(*amount)
            }
            (_, value) => decode(value),
        })
        .collect()
}

pub(super) fn decode(value: &ColumnData<'_>) -> Cell {
    let found = match value {
        ColumnData::Bit(value) => value.map(Cell::Bool),
        ColumnData::U8(value) => value.map(|value| Cell::Int(i64::from(value))),
        ColumnData::I16(value) => value.map(|value| Cell::Int(i64::from(value))),
        ColumnData::I32(value) => value.map(|value| Cell::Int(i64::from(value))),
        ColumnData::I64(value) => value.map(Cell::Int),
        ColumnData::F32(value) => value.map(|value| Cell::Float(widen(value))),
        ColumnData::F64(value) => value.map(Cell::Float),
        ColumnData::Numeric(value) => {
            value.map(|value| Cell::Decimal(decimal(value.value(), value.scale())))
        }
        ColumnData::String(value) => value.as_ref().map(|text| Cell::Text(text.to_string())),
        ColumnData::Guid(value) => value.map(|value| Cell::Text(value.to_string().to_uppercase())),
        ColumnData::Binary(value) => value.as_ref().map(|bytes| Cell::Bytes(bytes.to_vec())),
        ColumnData::Xml(value) => value
            .as_ref()
            .map(|text| Cell::Text(text.as_ref().to_string())),
        ColumnData::DateTime(value) => value.map(datetime),
        ColumnData::SmallDateTime(value) => value.map(small_datetime),
        ColumnData::Date(value) => value.map(|value| Cell::Date(date(days(value)))),
        ColumnData::Time(value) => value.map(|value| Cell::Time(time(nanos(value)))),
        ColumnData::DateTime2(value) => value.map(|value| Cell::Timestamp(datetime2(value))),
        ColumnData::DateTimeOffset(value) => value.map(|value| Cell::Timestamp(offset(value))),
    };
    found.unwrap_or(Cell::Null)
}

/// The double with the same shortest text: 0.1 stays 0.1.
fn widen(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Four decimal places. The client's double is exact up to 900 billion; larger amounts stay
/// doubles.
fn money(amount: f64) -> Cell {
    if amount.abs() < EXACT_MONEY {
        Cell::Decimal(format!("{amount:.4}"))
    } else {
        Cell::Float(amount)
    }
}

pub(super) fn decimal(value: i128, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

fn days(value: Date) -> i64 {
    i64::from(value.days()) + DAYS_OF_1
}

fn date(days: i64) -> String {
    clock::date(days).0
}

fn time(nanos: i64) -> String {
    let text = clock::time(nanos / SECOND * 1_000_000);
    match nanos % SECOND {
        0 => text,
        part => format!("{text}.{}", format!("{part:09}").trim_end_matches('0')),
    }
}

/// Since midnight, from units of `10^-scale` seconds, at most seven places.
fn nanos(value: Time) -> i64 {
    let unit = 10_i64.pow(9 - u32::from(value.scale().min(9)));
    i64::try_from(value.increments())
        .unwrap_or_default()
        .saturating_mul(unit)
}

/// Counts 300ths of a second, shown as milliseconds.
fn datetime(value: DateTime) -> Cell {
    let ticks = i64::from(value.seconds_fragments());
    let millis = (ticks * 10 + 1) / 3;
    let day = i64::from(value.days()) + DAYS_OF_1900;
    Cell::Timestamp(format!("{} {}", date(day), time(millis * 1_000_000)))
}

fn small_datetime(value: SmallDateTime) -> Cell {
    let day = i64::from(value.days()) + DAYS_OF_1900;
    let minutes = i64::from(value.seconds_fragments());
    Cell::Timestamp(format!("{} {}", date(day), time(minutes * MINUTE)))
}

fn datetime2(value: DateTime2) -> String {
    format!("{} {}", date(days(value.date())), time(nanos(value.time())))
}

/// Arrives in UTC; shown as local time with offset.
fn offset(value: DateTimeOffset) -> String {
    let minutes = i64::from(value.offset());
    let utc = value.datetime2();
    let shifted = nanos(utc.time()) + minutes * MINUTE;
    let day = days(utc.date()) + shifted.div_euclid(DAY);
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    format!(
        "{} {}{sign}{hours:02}:{rest:02}",
        date(day),
        time(shifted.rem_euclid(DAY))
    )
}

pub(super) fn dimension(base_type: &str) -> DimensionType {
    match base_type {
        "bit" => DimensionType::Boolean,
        "tinyint" | "smallint" | "int" | "bigint" | "decimal" | "numeric" | "money"
        | "smallmoney" | "float" | "real" => DimensionType::Number,
        "date" | "time" | "datetime" | "datetime2" | "smalldatetime" | "datetimeoffset" => {
            DimensionType::Time
        }
        _ => DimensionType::String,
    }
}
