//! The page is small, loads nothing, and holds its data safely.

use std::path::Path;

use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::{Value, json};

use super::{PAGE, report_page};

#[test]
fn the_page_is_small_and_loads_nothing() {
    let script = PAGE.split("<script>").nth(1).expect("a script");
    assert!(script.len() <= 30_000, "{}", script.len());
    assert!(PAGE.contains("default-src 'none'"));
    let addresses: Vec<&str> = PAGE
        .match_indices("://")
        .map(|(at, _)| &PAGE[at..])
        .collect();
    assert_eq!(addresses.len(), 1);
    for word in [
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "src=",
        "href=",
        "innerHTML",
        "eval(",
    ] {
        assert!(!PAGE.contains(word), "{word}");
    }
}

#[test]
fn no_text_of_a_result_ends_the_data() {
    let data = json!({ "headers": ["</script><script>alert(1)</script>"], "rows": [["<!--"]] });
    let page = report_page(&data);
    assert_eq!(
        page.matches("</script>").count(),
        PAGE.matches("</script>").count()
    );
    let (_, rest) = page.split_once("id=\"data\">").expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), data);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test writes a page and starts a browser"
)]
fn shown(browser: &Path, data: &Value) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    std::fs::write(&page, report_page(data)).expect("a file");
    let shown = std::process::Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let text = String::from_utf8(shown.stdout).expect("UTF-8");
    let (body, _) = text.split_once("<script type=").expect("a script");
    body.to_owned()
}

/// Runs with `cargo xtask test --heavy`.
#[test]
fn a_browser_draws_what_the_result_says() {
    let Service::Available(browser) = service(ServiceName::Browser) else {
        return;
    };
    let browser = Path::new(&browser);
    let months = ["2026-01-01", "2026-02-01", "2026-04-01"];
    let rows: Vec<Value> = months
        .iter()
        .flat_map(|month| [json!([month, "EU", "10.50"]), json!([month, "US", 7])])
        .collect();
    let data =
        json!({ "title": "By month", "headers": ["month", "region", "revenue"], "rows": rows });
    let page = shown(browser, &data);
    assert_eq!(page.matches("<polyline").count(), 2, "{page}");
    let (_, points) = page.split_once("points=\"").expect("a line");
    let (points, _) = points.split_once('"').expect("an end");
    let across: Vec<f64> = points
        .split(' ')
        .filter_map(|point| point.split_once(',')?.0.parse().ok())
        .collect();
    let [first, second, third] = across.as_slice() else {
        panic!("{points}")
    };
    assert!(second - first < third - second, "{points}");

    let rows: Vec<Value> = (0..40)
        .map(|row| json!([format!("<b>{row}"), row]))
        .collect();
    let mut rows = rows;
    rows.push(json!(["none", null]));
    let joins = json!([{ "from_source": "orders", "from_column": "customer_id", "to_source": "customers",
        "to_column": "id", "relationship": "many_to_one" }]);
    let data = json!({ "headers": ["name", "revenue"], "rows": rows, "truncated": true, "plan": { "joins": joins } });
    let page = shown(browser, &data);
    for part in [
        "revenue; without 1 of 41 rows, which have no value; the first 30 of 40 rows",
        "There are more rows than these.",
        "&lt;b&gt;39",
        "orders.customer_id = customers.id",
        "many to one",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("class=\"bar\"").count(), 30);
    assert_eq!(page.matches("<tr>").count(), 42);

    let page = shown(browser, &json!({ "headers": ["name"], "rows": [] }));
    assert!(page.contains("There are no rows."), "{page}");
}
