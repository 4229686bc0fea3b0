//! `ktx report`: an answer as a page.

use serde_json::{Value, json};

use crate::support::{run, shop};

#[test]
fn a_report_is_one_page_with_its_rows_and_joins() {
    let sandbox = shop();
    let line = "report --measure orders.revenue --dimension regions.name --order-by regions.name --title Revenue --file out.html";
    check!(&sandbox, line, @"
    exit 0
    3 rows in out.html
    --- stderr
    Project: [SANDBOX]/work
    ");
    let page = sandbox.read("out.html").expect("a page");
    let (_, rest) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(
        json!([
            data["title"],
            data["headers"],
            data["rows"],
            data["truncated"]
        ]),
        json!([
            "Revenue",
            ["name", "revenue"],
            [["Islands", null], ["North", 15.5], ["South", 10.0]],
            false
        ])
    );
    let joins = data["plan"]["joins"].as_array().expect("joins");
    assert_eq!(joins.len(), 2, "{joins:?}");
    check!(&sandbox, line, @"
    exit 2
    --- stderr
    error: `out.html` is there already

    hint: name another file with `--file`, or replace it with `--force`
    ");
    assert_eq!(run(&sandbox, &format!("{line} --force")).code, Some(0));
    check!(&sandbox, "report --measure orders.revenu", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: unknown measure `orders.revenu`

    hint: try `orders.revenue`
    ");
}
