//! Scratch.
use ktx_semantic_layer::{Catalog, SourceFile, diff, draw_svg, graph_json, self_tests};
fn src(name: &str, joins: &[&str], m: bool) -> SourceFile {
    let js: String = joins
        .iter()
        .map(|j| format!("  - {{to: {j:?}, on: k = {j:?}.id, relationship: many_to_one}}\n"))
        .collect();
    SourceFile::new(
        format!("{name}.yaml"),
        format!(
            "name: {name:?}\ntable: t\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: k, type: number}}\njoins:\n{js}measures:\n{}",
            if m {
                "  - {name: rows, expr: count(*)}\n"
            } else {
                ""
            }
        ),
    )
}
fn main() {
    let c = Catalog::load(
        vec![
            src("order_items", &["orders", "products"], true),
            src("orders", &["customers", "dates", "channels"], true),
            src("customers", &["regions"], false),
            src("tickets", &["customers", "agents", "dates"], true),
            src("agents", &["teams"], false),
            src("teams", &["regions"], false),
            src("regions", &[], false),
            src("dates", &[], false),
            src("channels", &[], false),
            src("products", &["categories"], false),
            src("categories", &[], false),
            src(
                "a very long name of a source that somebody has generated from a query <x>",
                &["dates"],
                true,
            ),
            src("stock_levels", &["products", "dates"], true),
            src("lonely", &[], false),
        ],
        ktx_warehouse::Dialect::Postgres,
    );
    print!("{}", draw_svg(&c));
    let n: usize = 1000;
    let names: Vec<String> = (0..n).map(|i| format!("s{i}")).collect();
    let big = Catalog::load(
        (0..n)
            .map(|i| {
                let js: Vec<&str> = [i / 3, i / 7 + 1, 0]
                    .iter()
                    .filter(|j| **j < i)
                    .map(|j| names[*j].as_str())
                    .collect();
                src(&names[i], &js, i % 5 == 0)
            })
            .collect(),
        ktx_warehouse::Dialect::Postgres,
    );
    for (what, f) in [
        (
            "svg",
            Box::new(|| draw_svg(&big).len()) as Box<dyn Fn() -> usize>,
        ),
        ("json", Box::new(|| graph_json(&big).to_string().len())),
        ("diff", Box::new(|| diff(&big, &big).len())),
        ("tests", Box::new(|| self_tests(&big, None).len())),
    ] {
        let t = std::time::Instant::now();
        let r = f();
        eprintln!("{what} {r} {:?}", t.elapsed());
    }
}
