//! A catalog from an index answers like the whole one.

use std::collections::{BTreeMap, BTreeSet};

use ktx_semantic_layer::{Catalog, CatalogIndex, Compiled, Query, SourceFile, compile};
use ktx_sql::Dialect;

use crate::fixtures;

fn kept(catalog: &Catalog) -> CatalogIndex {
    let text = serde_json::to_string(&catalog.index().expect("an index")).expect("JSON");
    serde_json::from_str(&text).expect("an index")
}

/// Also returns the sources that were read; `None` if the query needs the whole catalog.
pub(crate) fn partly(
    files: &[SourceFile],
    whole: &Catalog,
    query: &Query,
) -> Option<(Compiled, BTreeSet<String>)> {
    let texts: BTreeMap<&str, &[u8]> = files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes.as_slice()))
        .collect();
    let mut catalog = kept(whole).catalog(whole.dialect());
    let mut wanted = catalog.known(query.mentioned());
    for _ in 0..12 {
        let pieces = catalog.pieces(&wanted);
        let pieces = pieces
            .iter()
            .map(|piece| piece.cut(texts[piece.file.as_str()]).expect("a piece"));
        let pieces = pieces.collect();
        catalog = catalog.with_read(&wanted, pieces).expect("sound files");
        let compiled = compile(&catalog, query, catalog.dialect());
        let unread = catalog.unread();
        if unread.all {
            return None;
        }
        if unread.sources.is_subset(&wanted) {
            return compiled.ok().map(|compiled| (compiled, wanted));
        }
        wanted.extend(unread.sources);
    }
    None
}

#[test]
fn answers_like_the_whole_catalog() {
    let (mut answered, mut left) = (0, 0);
    for case in fixtures::cases() {
        let model = case["model"].as_str().expect("a model");
        let files = fixtures::model_files(model);
        let whole = fixtures::model(model, Dialect::Sqlite);
        let Ok(query) = Query::from_value(&case["query"]) else {
            continue;
        };
        match partly(&files, &whole, &query) {
            Some((compiled, _)) => {
                answered += 1;
                let expected = compile(&whole, &query, Dialect::Sqlite);
                assert_eq!(expected, Ok(compiled), "{query:?}");
            }
            None => left += 1,
        }
    }
    assert!(answered > left, "{answered} answered, {left} left");
}

/// Many tables in one file, as a scan can write them.
const SHARD: &str = "tables:
  customers:
    table: customers
    columns:
    - {name: id, type: integer, pk: true}
    - {name: city_id, type: integer}
    joins:
    - {to: cities, on: customers.city_id = cities.id, relationship: many_to_one, source: inferred}
    - {to: orders, on: customers.id = orders.customer_id, relationship: one_to_many, source: inferred}
  cities:
    table: cities
    columns:
    - {name: id, type: integer, pk: true}
    - {name: name, type: text}
  orders:
    table: orders
    columns:
    - {name: id, type: integer, pk: true}
    - {name: customer_id, type: integer}
    - {name: amount, type: numeric}
    joins:
    - {to: customers, on: orders.customer_id = customers.id, relationship: many_to_one, source: inferred}
  payments:
    table: payments
    columns:
    - {name: id, type: integer, pk: true}
";

#[test]
fn reads_the_sources_on_the_way_and_no_others() {
    let overlay = "name: orders\nmeasures:\n- {name: revenue, expr: sum(amount)}\n";
    let files = [
        SourceFile::new("_schema/public.yaml", SHARD),
        SourceFile::new("orders.yaml", overlay),
    ];
    let whole = Catalog::load(files.to_vec(), Dialect::Sqlite);
    let ask = |measure: &str, dimension: &str| {
        let query = serde_json::json!({"measures": [measure], "dimensions": [dimension]});
        let query = Query::from_value(&query).expect("a query");
        let expected = compile(&whole, &query, Dialect::Sqlite);
        let found = partly(&files, &whole, &query);
        if let Some((compiled, _)) = &found {
            assert_eq!(expected.as_ref(), Ok(compiled));
        }
        found.map(|(_, read)| read.into_iter().collect::<Vec<_>>().join(" "))
    };
    let read = |text: &str| Some(text.to_owned());
    assert_eq!(ask("orders.revenue", "orders.id"), read("orders"));
    assert_eq!(
        ask("orders.revenue", "cities.name"),
        read("cities customers orders")
    );
    assert_eq!(
        ask("orders.revenue", "orders.customers.city_id"),
        read("customers orders")
    );
    // A bare name can be a column of any source.
    assert_eq!(ask("orders.revenue", "name"), None);
    assert_eq!(ask("orders.revenue", "payments.id"), None);
}

#[test]
fn a_catalog_with_an_unreadable_file_has_no_index() {
    let broken = fixtures::folder(&[("a.yaml", "name: a\ncolumns: [\n")]);
    assert!(broken.index().is_none());
}

/// The source's text has joins that only another file declares.
#[test]
fn a_join_that_is_written_on_the_other_side_only_reaches_far() {
    let joins = "
    joins:
    - {to: customers, on: orders.customer_id = customers.id, relationship: many_to_one, source: formal}";
    for (written, reaches_far) in [(joins, true), ("", false)] {
        let orders = format!(
            "tables:
  orders:
    table: orders
    columns: [{{name: id, type: integer, pk: true}}, {{name: customer_id, type: integer}}]{written}
"
        );
        let customers = "tables:
  customers:
    table: customers
    columns: [{name: id, type: integer, pk: true}]
";
        let whole = fixtures::folder(&[
            ("_schema/customers.yaml", customers),
            ("_schema/orders.yaml", &orders),
        ]);
        let read = kept(&whole).catalog(whole.dialect());
        assert_eq!(read.reaches_far(), reaches_far, "{written}");
    }
}

/// Neither table is meant, also if an answer reads one of the two.
#[test]
fn a_table_that_two_names_fit_is_ambiguous_with_an_index_too() {
    let table = |schema: &str, key: &str, columns: &str| {
        format!(
            "tables:
  {key}:
    table: {schema}.orders
    columns: [{{name: id, type: integer, pk: true}}, {{name: placed, type: {columns}}}]
"
        )
    };
    let own = "name: sold
table: orders
grain: [id, placed]
columns:
- {name: id, type: number}
- {name: placed, type: time}
joins:
- {to: shop_orders, on: id = shop_orders.id, relationship: many_to_one}
";
    let files = [
        SourceFile::new("_schema/shop.yaml", table("shop", "shop_orders", "text")),
        SourceFile::new("_schema/web.yaml", table("web", "web_orders", "time")),
        SourceFile::new("sold.yaml", own),
    ];
    let whole = Catalog::load(files.to_vec(), Dialect::Sqlite);
    for dimensions in [
        vec!["sold.placed:day"],
        vec!["sold.placed:day", "shop_orders.placed"],
    ] {
        let query = serde_json::json!({
            "measures": ["count(sold.*)"], "dimensions": dimensions,
        });
        let query = Query::from_value(&query).expect("a query");
        let expected = compile(&whole, &query, Dialect::Sqlite);
        let (found, _) = partly(&files, &whole, &query).expect("an answer from an index");
        assert_eq!(expected, Ok(found));
    }
}

#[test]
fn a_name_that_two_schemas_have_reaches_far() {
    let shard = |schema: &str| {
        format!(
            "tables:
  items:
    table: {schema}.items
    columns: [{{name: id, type: integer, pk: true}}, {{name: order_id, type: integer}}]
    joins:
    - {{to: orders, on: items.order_id = orders.id, relationship: many_to_one, source: formal}}
  orders:
    table: {schema}.orders
    columns: [{{name: id, type: integer, pk: true}}]
    joins:
    - {{to: items, on: orders.id = items.order_id, relationship: one_to_many, source: formal}}
"
        )
    };
    let (shop, web) = (shard("shop"), shard("web"));
    let files = [
        ("_schema/shop.yaml", shop.as_str()),
        ("_schema/web.yaml", &web),
    ];
    let whole = fixtures::folder(&files);
    assert!(kept(&whole).catalog(whole.dialect()).reaches_far());
}
