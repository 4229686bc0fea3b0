//! Loads, validates and queries generated folders of growing size; prints one JSON line per size,
//! times in milliseconds.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Measures of one source; a third each are plain, derived and filtered.
const MEASURES: [usize; 2] = [700, 7_000];
const STAR: usize = 10;
/// The fastest run counts, because it was disturbed least.
const RUNS: usize = 9;
const COMPILES: usize = 200;

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for size in SIZES {
        writeln!(out, "{}", measured(size)?)?;
    }
    for count in MEASURES {
        writeln!(out, "{}", one_source(count)?)?;
    }
    Ok(())
}

fn one_source(count: usize) -> Result<Value, Failure> {
    let mut text =
        "name: wide\ntable: wide\ngrain: [id]\ncolumns:\n- {name: id, type: number}\nmeasures:\n"
            .to_owned();
    for n in 0..count {
        writeln!(text, "- {{name: plain_{n}, expr: sum(id + {n})}}")?;
        writeln!(text, "- {{name: derived_{n}, expr: plain_{n} * 2}}")?;
        writeln!(
            text,
            "- {{name: filtered_{n}, expr: count(*), filter: id > {n}}}"
        )?;
    }
    let catalog = Catalog::load(vec![SourceFile::new("wide.yaml", text)], Dialect::Postgres);
    let mut fastest = f64::INFINITY;
    for _ in 0..3 {
        let started = Instant::now();
        let report = validate(&catalog, &[]);
        fastest = fastest.min(milliseconds(started));
        if !report.errors.is_empty() || report.warnings.len() + 1 != count {
            return Err(format!("the source is not sound: {:?}", report.errors.first()).into());
        }
    }
    Ok(json!({"measures": count, "validate": fastest}))
}

fn measured(size: usize) -> Result<Value, Failure> {
    let files = folder(size)?;
    let (mut load, mut check) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        let copy = files.clone();
        let started = Instant::now();
        let catalog = Catalog::load(copy, Dialect::Postgres);
        load = load.min(milliseconds(started));
        let started = Instant::now();
        let report = validate(&catalog, &[]);
        check = check.min(milliseconds(started));
        if !report.errors.is_empty() || catalog.sources().len() < size {
            return Err(format!("the folder is not sound: {:?}", report.errors.first()).into());
        }
    }
    let catalog = Catalog::load(files, Dialect::Postgres);
    let mut compiled = serde_json::Map::new();
    for (name, query) in queries(size / STAR / 2) {
        let query = Query::from_value(&query)?;
        let is_refused = name.starts_with("refused");
        let mut fastest = f64::INFINITY;
        for _ in 0..COMPILES {
            let started = Instant::now();
            let outcome = compile(&catalog, &query, Dialect::Postgres);
            fastest = fastest.min(milliseconds(started));
            if outcome.is_err() != is_refused {
                return Err(format!("{name}: {outcome:?}").into());
            }
        }
        compiled.insert(name.to_owned(), json!(fastest));
    }
    Ok(json!({"sources": size, "load": load, "validate": check, "compile": compiled}))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn queries(n: usize) -> Vec<(&'static str, Value)> {
    vec![
        (
            "measure by dimension",
            json!({
                "measures": [format!("orders_{n}.revenue"), format!("sum(orders_{n}.amount)")],
                "dimensions": [format!("customers_{n}.region"), "calendar.month"],
                "filters": [format!("orders_{n}.status = 'paid'"), format!("orders_{n}.revenue > 10")],
            }),
        ),
        (
            "two facts",
            json!({
                "measures": [format!("orders_{n}.count"), format!("items_{n}.quantity")],
                "dimensions": [format!("regions_{n}.name")],
                "filters": [format!("customers_{n}.segment = 'a'")],
            }),
        ),
        (
            "roles and bare names",
            json!({
                "measures": [format!("only_{n}")],
                "dimensions": [format!("billing_{n}.regions_{n}.name"), format!("note_{n}")],
            }),
        ),
        (
            "dotted names",
            json!({
                "measures": [format!("public.stores_{n}.sales")],
                "dimensions": [format!("public.stores_{n}.id")],
            }),
        ),
        (
            "refused",
            json!({"measures": [format!("order_{n}.revenue")], "dimensions": []}),
        ),
    ]
}

fn folder(size: usize) -> Result<Vec<SourceFile>, std::fmt::Error> {
    let mut files = vec![SourceFile::new(
        "calendar.yaml",
        "name: calendar\ntable: public.calendar\ngrain: [day]\ncolumns:\n  - {name: day, type: time}\n  - {name: month, type: string}\n",
    )];
    let mut shards: Vec<String> = Vec::new();
    for n in 0..size / STAR {
        let mut file = |name: &str, text: String| {
            files.push(SourceFile::new(format!("{name}_{n}.yaml"), text));
        };
        file("orders", orders(n));
        file("items", items(n));
        file("regions", regions(n));
        for name in ["products", "channels", "campaigns"] {
            file(name, dimension(name, n));
        }
        file("customers", overlay(n));
        file("suppliers", heir(n));
        file("stores", stores(n));
        if n % 25 == 0 {
            shards.push("tables:\n".to_owned());
        }
        if let Some(shard) = shards.last_mut() {
            scanned(shard, n)?;
        }
    }
    for (at, text) in shards.into_iter().enumerate() {
        files.push(SourceFile::new(format!("_schema/part{at}.yaml"), text));
    }
    Ok(files)
}

fn orders(n: usize) -> String {
    format!(
        "name: orders_{n}
table: public.orders_{n}
grain: [id]
descriptions:
  user: Orders of shop {n}, one row each.
columns:
  - {{name: id, type: number}}
  - {{name: customer_id, type: number}}
  - {{name: billing_id, type: number}}
  - {{name: store_id, type: number}}
  - {{name: ordered_at, type: time, role: time}}
  - {{name: status, type: string, descriptions: {{user: 'paid, open or void'}}}}
  - {{name: note_{n}, type: string}}
  - {{name: amount, type: number}}
  - {{name: tax, type: number, visibility: internal}}
  - {{name: net, type: number, expr: amount - tax}}
joins:
  - {{to: customers_{n}, on: customer_id = customers_{n}.id, relationship: many_to_one}}
  - {{to: customers_{n}, alias: billing_{n}, on: billing_id = customers_{n}.id, relationship: many_to_one}}
  - {{to: public.stores_{n}, on: store_id = stores_{n}.id, relationship: many_to_one}}
  - {{to: calendar, on: ordered_at = calendar.day, relationship: many_to_one}}
measures:
  - {{name: revenue, expr: sum(net), filter: status <> 'void', description: Money that came in}}
  - {{name: count, expr: count(*)}}
  - {{name: average, expr: revenue / count}}
  - {{name: only_{n}, expr: sum(amount), segments: [paid]}}
segments:
  - {{name: paid, expr: status = 'paid'}}
"
    )
}

fn items(n: usize) -> String {
    format!(
        "name: items_{n}
table: public.items_{n}
grain: [order_id, line]
columns:
  - {{name: order_id, type: number}}
  - {{name: line, type: number}}
  - {{name: product_id, type: number}}
  - {{name: amount, type: number}}
joins:
  - {{to: orders_{n}, on: order_id = orders_{n}.id, relationship: many_to_one}}
  - {{to: products_{n}, on: product_id = products_{n}.id, relationship: many_to_one}}
measures:
  - {{name: quantity, expr: sum(amount)}}
"
    )
}

fn regions(n: usize) -> String {
    format!(
        "name: regions_{n}
sql: select id, name from public.regions_{n} where id > 0
grain: [id]
columns:
  - {{name: id, type: number}}
  - {{name: name, type: string}}
"
    )
}

fn dimension(name: &str, n: usize) -> String {
    let join = match name {
        "products" => String::new(),
        _ => format!(
            "joins:
  - {{to: products_{n}, on: product_id = products_{n}.id, relationship: many_to_one}}
"
        ),
    };
    format!(
        "name: {name}_{n}
table: public.{name}_{n}
grain: [id]
columns:
  - {{name: id, type: number}}
  - {{name: product_id, type: number}}
  - {{name: label, type: string}}
  - {{name: kind, type: string}}
{join}"
    )
}

fn overlay(n: usize) -> String {
    format!(
        "name: customers_{n}
columns:
  - {{name: region, type: string, expr: upper(region_code)}}
joins:
  - {{to: regions_{n}, on: region_id = regions_{n}.id, relationship: many_to_one}}
measures:
  - {{name: customers, expr: count(*)}}
"
    )
}

fn heir(n: usize) -> String {
    format!(
        "name: suppliers_{n}
table: public.raw_{n}
inherits_columns_from: public.raw_{n}
grain: [id]
columns:
  - {{name: id}}
  - {{name: label}}
"
    )
}

fn stores(n: usize) -> String {
    format!(
        "name: public.stores_{n}
table: public.stores_{n}
grain: [id]
columns:
  - {{name: id, type: number}}
  - {{name: size, type: number}}
measures:
  - {{name: sales, expr: sum(stores_{n}.size)}}
"
    )
}

fn scanned(shard: &mut String, n: usize) -> std::fmt::Result {
    write!(
        shard,
        "  customers_{n}:
    table: public.customers_{n}
    columns:
      - {{name: id, type: integer, pk: true}}
      - {{name: segment, type: text}}
      - {{name: region_code, type: text}}
      - {{name: region_id, type: integer}}
      - {{name: created_at, type: timestamp}}
  raw_{n}:
    table: public.raw_{n}
    columns:
      - {{name: id, type: integer, pk: true, descriptions: {{db: The number}}}}
      - {{name: label, type: text, nullable: true}}
"
    )
}
