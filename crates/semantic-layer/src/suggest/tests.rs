//! Suggestions.

use std::collections::BTreeMap;

use ktx_sql::Dialect;

use super::names::{Meaning, meaning, time_rank};
use super::{Declared, SourceFacts, overlay, suggest};
use crate::{Catalog, SourceFile, validate};

#[test]
fn names_say_what_may_be_computed() {
    let mut wrong = Vec::new();
    let expected = [
        (
            Meaning::Additive,
            "amount gross_weight amount_usd totalPrice line_total revenue salesTax qty OrderQuantity num_items \
             number_of_seats click_count paid_amount discount Rechnungsbetrag gesamtumsatz Anzahl \
             montant_ttc quantité importe_neto cantidad ricavo valor bedrag сумма_заказа 注文金額 \
             数量 매출",
        ),
        (
            Meaning::Extent,
            "distance distance_km flight_distance salary base_salary attendance duration duration_minutes weight \
             weight_kg freight hours minutes_played gehalt Gewicht dauer salaris poids passengers",
        ),
        (
            Meaning::Level,
            "price unit_price net_price unit_cost age rating balance account_balance \
             running_total total_balance unit_weight birth_weight temp height score population capacity level temperature Einzelpreis prix precio цена 単価 나이",
        ),
        (
            Meaning::Excluded,
            "id customer_id orderId zip_code postal_code order_number account discount_rate \
             conversion_rate tax_pct revenue_per_user avg_amount max_price percentage latitude \
             avg_distance max_weight distance_per_day weight_pct salary_code epoch_seconds distance_id hour minute lng x year fiscal_year month paid_at is_paid has_discount discount_code tax_id \
             Kundennummer Steuersatz PLZ jahr código taux_tva 商品コード 割合 年 доля",
        ),
        (
            Meaning::Unknown,
            "cost_center sales_rep payment_method foo column1 a 1",
        ),
    ];
    for (meant, names) in expected {
        for name in names.split_whitespace() {
            if meaning(name) != meant {
                wrong.push((name, meaning(name), meant));
            }
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn the_time_of_the_event_goes_before_its_record_and_upkeep_is_no_axis() {
    let mut times = [
        "created_at",
        "shipped_on",
        "order_date",
        "updated_at",
        "_dlt_at",
    ]
    .map(|name| (time_rank(name), name));
    times.sort_unstable();
    assert_eq!(
        times.map(|(_, name)| name),
        [
            "_dlt_at",
            "updated_at",
            "order_date",
            "created_at",
            "shipped_on"
        ]
    );
    assert_eq!(
        times.map(|(rank, _)| rank.is_some()),
        [false, false, true, true, true]
    );
}

const SHARD: &str = "\
tables:
  orders:
    table: orders
    columns:
      - {name: id, type: bigint, pk: true}
      - {name: customer_id, type: bigint}
      - {name: amount, type: decimal}
      - {name: tax, type: int}
      - {name: unit_price, type: decimal}
      - {name: tax_rate, type: decimal}
      - {name: clicks, type: int}
      - {name: impressions, type: int}
      - {name: created_at, type: timestamp}
      - {name: updated_at, type: timestamp}
      - {name: _fivetran_synced, type: timestamp}
";

fn catalog(overlay: Option<&str>) -> Catalog {
    let mut files = vec![SourceFile::new("_schema/main.yaml", SHARD)];
    files.extend(overlay.map(|text| SourceFile::new("orders.yaml", text)));
    Catalog::load(files, Dialect::Postgres)
}

#[test]
fn an_accepted_source_says_what_was_suggested_and_why_and_is_valid() {
    let catalog_before = catalog(None);
    let facts = |source, time_dimension| SourceFacts {
        source,
        time_dimension,
        values: BTreeMap::from([("tax".to_owned(), vec!["0".to_owned(), "1".to_owned()])]),
    };
    let source = catalog_before.source("orders").unwrap();
    let text = overlay("orders", &suggest(&facts(source, Declared::No))).unwrap();
    assert_eq!(text, EXPECTED);
    let after = catalog(Some(&text));
    assert_eq!(validate(&after, &[]).errors, []);
    let source = after.source("orders").unwrap();
    assert_eq!(suggest(&facts(source, Declared::Yes)), []);
}

const EXPECTED: &str = "\
name: orders
column_overrides:
- name: _fivetran_synced
  visibility: hidden
  descriptions:
    suggested: 'Suggested by ktx: a loader of data keeps its own notes in it.'
measures:
- name: row_count
  expr: count(*)
  description: 'Suggested by ktx: rows can always be counted.'
- name: total_amount
  expr: sum(amount)
  description: 'Suggested by ktx: the name `amount` says an amount or a quantity.'
- name: average_amount
  expr: avg(amount)
  description: 'Suggested by ktx: the name `amount` says an amount or a quantity.'
- name: average_unit_price
  expr: avg(unit_price)
  description: 'Suggested by ktx: the values of `unit_price` do not add up; their average means something.'
- name: total_clicks
  expr: sum(clicks)
  description: 'Suggested by ktx: the name `clicks` says an amount or a quantity.'
- name: average_clicks
  expr: avg(clicks)
  description: 'Suggested by ktx: the name `clicks` says an amount or a quantity.'
- name: total_impressions
  expr: sum(impressions)
  description: 'Suggested by ktx: the name `impressions` says an amount or a quantity.'
- name: average_impressions
  expr: avg(impressions)
  description: 'Suggested by ktx: the name `impressions` says an amount or a quantity.'
- name: click_through_rate
  expr: sum(clicks) / sum(impressions)
  description: 'Suggested by ktx: `clicks` and `impressions` are counts.'
default_time_dimension:
  suggested: created_at
";
