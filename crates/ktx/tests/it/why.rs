//! `ktx why`: origins of pages and sources.

use crate::sources::{locally, project, whole};
use crate::support::{commit, json as json_of, run, write};

#[test]
fn a_name_is_traced_to_commits_units_and_files() {
    let sandbox = locally(
        project(&[("models/schema.yml", crate::sources::SCHEMA)]),
        &whole(),
    );
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    let page = sandbox.read("wiki/global/revenue.md").expect("a page");
    write(
        &sandbox,
        "wiki/global/revenue.md",
        &format!("{page}\nIn euros.\n"),
    );
    commit(&sandbox, "the currency");
    let page = sandbox.read("wiki/global/revenue.md").expect("a page");
    write(
        &sandbox,
        "wiki/global/revenue.md",
        &format!("{page}Without tax.\n"),
    );
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d(\t|  )[0-9a-f]{8}\b", "[DATE]$1[COMMIT]");
    let _bound = settings.bind_to_scope();
    check!(&sandbox, "why revenue", @r"
    exit 0
    wiki/global/revenue.md:1-8
    lines	written by	date	commit
    1-5	unit dbt-all of shop-dbt	[DATE]	[COMMIT]
    6-7	Ada Test: the currency	[DATE]	[COMMIT]
    8-8	you, not committed yet	-	-
    unit dbt-all of shop-dbt was read from models/schema.yml
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "why orders.revenue", @r"
    exit 0
    semantic-layer/warehouse/orders.yaml:3-5
    lines	written by	date	commit
    3-5	unit dbt-all of shop-dbt	[DATE]	[COMMIT]
    unit dbt-all of shop-dbt was read from models/schema.yml
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "why orders.status", @r"
    exit 0
    semantic-layer/warehouse/_schema/public.yaml:22-30
    lines	written by	date	commit
    22-24	the scan of warehouse	[DATE]	[COMMIT]
    25-30	facts of shop-dbt	[DATE]	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "why orders --output pretty", @r"
    exit 0
    semantic-layer/warehouse/_schema/public.yaml:13-32
    lines  written by             date        commit
    13-24  the scan of warehouse  [DATE]  [COMMIT]
    25-32  facts of shop-dbt      [DATE]  [COMMIT]
    semantic-layer/warehouse/orders.yaml:1-5
    lines  written by                date        commit
    1-5    unit dbt-all of shop-dbt  [DATE]  [COMMIT]
    unit dbt-all of shop-dbt was read from models/schema.yml
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "why wiki/global/revenue.md --connection-id warehouse", @r"
    exit 0
    wiki/global/revenue.md:1-8
    lines	written by	date	commit
    1-5	unit dbt-all of shop-dbt	[DATE]	[COMMIT]
    6-7	Ada Test: the currency	[DATE]	[COMMIT]
    8-8	you, not committed yet	-	-
    unit dbt-all of shop-dbt was read from models/schema.yml
    --- stderr
    Project: [SANDBOX]/work
    ");
    let answer = json_of(&sandbox, "why orders.revenue --json");
    let place = &answer["data"]["places"][0];
    insta::assert_snapshot!(place["parts"][0]["writer"], @r#"{"kind":"unit","source":"shop-dbt","unit":"dbt-all"}"#);
    insta::assert_snapshot!(place["units"], @r#"[{"source":"shop-dbt","unit":"dbt-all","outcome":"written","files":["models/schema.yml"],"pages":["revenue"],"sources":["orders"]}]"#);
    check!(&sandbox, "why orders.revenu", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no page, source, measure or column is named `orders.revenu`

    hint: did you mean `ktx why orders.revenue`?
    ");
    check!(&sandbox, "why nothing-like-it", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no page, source, measure or column is named `nothing-like-it`

    hint: `ktx wiki list` and `ktx sl list` list what there is
    ");
    check!(&sandbox, "why orders --connection-id nope", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no connection `nope`

    hint: use one of `warehouse`
    ");
}
