//! Tests of the binary format.

use ktx_warehouse::Cell;
use proptest::prelude::*;
use serde_json::json;
use tokio_postgres::types::Type;

use super::decode;

#[track_caller]
fn check(ty: &Type, raw: &[u8], expected: &Cell) {
    assert_eq!(decode(ty, raw), *expected);
}

fn numeric(digits: &[u16], weight: i16, sign: u16, scale: u16) -> Cell {
    let mut raw = u16::try_from(digits.len()).unwrap().to_be_bytes().to_vec();
    raw.extend(weight.to_be_bytes());
    raw.extend(sign.to_be_bytes());
    raw.extend(scale.to_be_bytes());
    raw.extend(digits.iter().flat_map(|digit| digit.to_be_bytes()));
    decode(&Type::NUMERIC, &raw)
}

#[test]
fn writes_numerics_as_exact_digits() {
    let decimal = |text: &str| Cell::Decimal(text.to_owned());
    assert_eq!(numeric(&[], 0, 0, 0), decimal("0"));
    assert_eq!(numeric(&[], 0, 0, 2), decimal("0.00"));
    assert_eq!(numeric(&[12, 5000], 0, 0x4000, 2), decimal("-12.50"));
    assert_eq!(numeric(&[1], 2, 0, 0), decimal("100000000"));
    assert_eq!(numeric(&[1, 2345, 6700], 1, 0, 2), decimal("12345.67"));
    assert_eq!(numeric(&[1], -2, 0, 8), decimal("0.00000001"));
    assert_eq!(numeric(&[1234], -1, 0, 10), decimal("0.1234000000"));
    assert_eq!(numeric(&[9999, 9999], 0, 0, 3), decimal("9999.999"));
    assert_eq!(numeric(&[], 0, 0xD000, 0), Cell::Float(f64::INFINITY));
    assert_eq!(numeric(&[], 0, 0xF000, 0), Cell::Float(f64::NEG_INFINITY));
    let Cell::Float(value) = numeric(&[], 0, 0xC000, 0) else {
        panic!("not a float")
    };
    assert!(value.is_nan());
}

#[test]
fn keeps_the_bytes_of_unknown_values() {
    check(&Type::TSQUERY, &[1, 2], &Cell::Bytes(vec![1, 2]));
    check(&Type::INT4, &[1, 2, 3], &Cell::Bytes(vec![1, 2, 3]));
    check(
        &Type::INT4,
        &[0, 0, 0, 1, 9],
        &Cell::Bytes(vec![0, 0, 0, 1, 9]),
    );
    check(&Type::TEXT, &[0xff], &Cell::Bytes(vec![0xff]));
    check(&Type::UUID, &[1], &Cell::Bytes(vec![1]));
}

#[test]
fn survives_every_cut_of_an_array() {
    let mut raw = Vec::new();
    for number in [1_i32, 1, 23, 2, 1, 4, 7, -1] {
        raw.extend(number.to_be_bytes());
    }
    check(&Type::INT4_ARRAY, &raw, &Cell::Json(json!([7, null])));
    for length in 0..raw.len() {
        let (part, _) = raw.split_at(length);
        check(&Type::INT4_ARRAY, part, &Cell::Bytes(part.to_vec()));
    }
}

#[test]
fn does_not_trust_the_counts_of_a_broken_value() {
    let mut raw = Vec::new();
    for number in [1_i32, 0, 23, i32::MAX, 1] {
        raw.extend(number.to_be_bytes());
    }
    check(&Type::INT4_ARRAY, &raw, &Cell::Bytes(raw.clone()));
    check(
        &Type::POLYGON,
        &i32::MAX.to_be_bytes(),
        &Cell::Bytes(i32::MAX.to_be_bytes().to_vec()),
    );
    check(
        &Type::VARBIT,
        &i32::MAX.to_be_bytes(),
        &Cell::Bytes(i32::MAX.to_be_bytes().to_vec()),
    );
}

#[test]
fn keeps_short_decimals_of_single_precision() {
    check(&Type::FLOAT4, &0.1_f32.to_be_bytes(), &Cell::Float(0.1));
    check(
        &Type::FLOAT4,
        &f32::INFINITY.to_be_bytes(),
        &Cell::Float(f64::INFINITY),
    );
}

const TYPES: [Type; 44] = [
    Type::BOOL,
    Type::INT2,
    Type::INT8,
    Type::FLOAT4,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::MONEY,
    Type::DATE,
    Type::TIME,
    Type::TIMETZ,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::INTERVAL,
    Type::TEXT,
    Type::CHAR,
    Type::BYTEA,
    Type::JSON,
    Type::JSONB,
    Type::JSONPATH,
    Type::UUID,
    Type::INET,
    Type::MACADDR,
    Type::VARBIT,
    Type::PG_LSN,
    Type::VOID,
    Type::TS_VECTOR,
    Type::TSQUERY,
    Type::POINT,
    Type::LSEG,
    Type::BOX,
    Type::PATH,
    Type::POLYGON,
    Type::CIRCLE,
    Type::LINE,
    Type::RECORD,
    Type::XID8,
    Type::INT4_ARRAY,
    Type::TEXT_ARRAY,
    Type::NUMERIC_ARRAY,
    Type::INT4_RANGE,
    Type::TS_RANGE,
    Type::NUMMULTI_RANGE,
    Type::RECORD_ARRAY,
    Type::JSONB_ARRAY,
];

proptest! {
    #[test]
    fn reads_any_bytes_of_any_type_without_harm(
        index in 0..TYPES.len(),
        raw in prop::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255), any::<u8>()], 0..80),
    ) {
        if let Some(ty) = TYPES.get(index) {
            // Decoding must terminate, and the result must serialize.
            let json = decode(ty, &raw).to_json().to_string();
            prop_assert!(!json.is_empty());
        }
    }
}
