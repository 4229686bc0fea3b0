//! Overlays next to the scan: what they can omit, and what no longer fits.

use std::fmt::Write as _;

use ktx_semantic_layer::validate;

use crate::fixtures::folder;

const SHARD: &str = "tables:
  orders:
    table: orders
    columns:
      - {name: id, type: integer, pk: true}
      - {name: shop_id, type: integer}
      - {name: old_shop_id, type: integer}
    joins:
      - {to: shops, on: shop_id = shops.id, relationship: many_to_one, source: inferred}
      - {to: shops, on: old_shop_id = shops.id, relationship: many_to_one, source: inferred}
      - {to: people, on: id = people.id, relationship: one_to_one, source: inferred}
  shops:
    table: shops
    columns:
      - {name: id, type: integer, pk: true}
      - {name: town, type: text}
  people:
    table: people
    columns:
      - {name: id, type: integer, pk: true}
";

fn said(overlay: &str) -> String {
    let catalog = folder(&[("_schema/shop.yaml", SHARD), ("orders.yaml", overlay)]);
    let report = validate(&catalog, &[]);
    let mut lines = String::new();
    let errors = report.errors.iter().map(|one| ("error", one));
    let warnings = report.warnings.iter().map(|one| ("warning", one));
    for (severity, one) in errors.chain(warnings) {
        let path = one.path.as_deref().unwrap_or("-");
        writeln!(lines, "{severity}: {path}: {}: {}", one.kind, one.message).expect("text grows");
    }
    lines
}

#[test]
fn a_join_that_the_scan_completes_needs_no_more_words() {
    insta::assert_snapshot!(said("name: orders\njoins:\n  - {to: people, alias: buyer}\n  - {to: shops, on: shops.id = shop_id, alias: seller}\n"), @r"
    warning: _schema/shop.yaml:17:3: ambiguous_join: two equally short joins lead from `people` to `shops`; an `alias` would tell them apart
    warning: orders.yaml:4:6: ambiguous_join: two equally short joins lead from `orders` to `shops`; an `alias` would tell them apart
    ");
    insta::assert_snapshot!(said("name: orders\njoins:\n  - {to: people, exclude: true}\n  - {to: shops, exclude: true}\n"), @"warning: -: disconnected_components: the sources form 3 groups without a join between them, such as those of `orders`, `people`, `shops`");
}

/// One error, with the position in the user's file.
#[test]
fn what_an_overlay_names_and_the_scan_lost_is_an_error_with_its_place() {
    let gone = [
        "joins:\n  - {to: shops, on: shop = shops.id, exclude: true}\n",
        "joins:\n  - {to: towns, exclude: true}\n",
        "joins:\n  - to: shops\n    on: shop = shops.id\n    alias: seller\n",
        "joins:\n  - {to: shops, on: shop = shops.id, relationship: many_to_one}\n",
        "joins:\n  - {to: shop, on: shop_id = shop.id, relationship: many_to_one}\n",
        "joins:\n  - {to: shops, alias: seller}\n",
        "joins:\n  - {to: people, exclude: true, alias: buyer}\n",
        "disable_joins: ['shop_id = shops.id', 'shop = shops.id']\n",
        "exclude_columns:\n  - id\n  - shop\n",
        "column_overrides:\n  - {name: id, role: default}\n  - {name: shop, visibility: hidden}\n",
        "columns:\n  - {name: twice, type: number, expr: shop * 2}\n",
        "grain: [id, shop]\n",
    ];
    let all: Vec<String> = gone
        .iter()
        .map(|rest| format!("{rest}{}", said(&format!("name: orders\n{rest}"))))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    joins:
      - {to: shops, on: shop = shops.id, exclude: true}
    error: orders.yaml:3:5: unmatched_overlay: no scanned join `shop = shops.id` leads to `shops`; those there are `shop_id = shops.id`, `old_shop_id = shops.id`

    joins:
      - {to: towns, exclude: true}
    error: orders.yaml:3:5: unmatched_overlay: no scanned join leads to `towns`; scanned joins of `orders` lead to `people`, `shops`

    joins:
      - to: shops
        on: shop = shops.id
        alias: seller
    error: orders.yaml:3:5: invalid_overlay: no scanned join `shop = shops.id` leads to `shops`; those there are `shop_id = shops.id`, `old_shop_id = shops.id`; a join that the scan does not have needs `relationship`
    warning: -: disconnected_components: the sources form 2 groups without a join between them, such as those of `people`, `shops`

    joins:
      - {to: shops, on: shop = shops.id, relationship: many_to_one}
    error: orders.yaml:3:6: join_local_column: join `shop = shops.id`: `orders` has no column `shop`

    joins:
      - {to: shop, on: shop_id = shop.id, relationship: many_to_one}
    error: orders.yaml:3:6: orphan_join_target: join to the unknown source `shop`; did you mean `shops`

    joins:
      - {to: shops, alias: seller}
    error: orders.yaml:3:5: invalid_overlay: several scanned joins lead to `shops`: say which one with `on`: `shop_id = shops.id`, `old_shop_id = shops.id`
    warning: -: disconnected_components: the sources form 2 groups without a join between them, such as those of `people`, `shops`

    joins:
      - {to: people, exclude: true, alias: buyer}
    error: orders.yaml:3:5: invalid_overlay: a join with `exclude: true` has `to` and `on` only: take `alias` out, or `exclude`
    warning: -: disconnected_components: the sources form 2 groups without a join between them, such as those of `people`, `shops`

    disable_joins: ['shop_id = shops.id', 'shop = shops.id']
    error: orders.yaml:2:39: unmatched_overlay: `disable_joins` names `shop = shops.id`, which is not a scanned join of `orders`

    exclude_columns:
      - id
      - shop
    error: _schema/shop.yaml:11:10: join_local_column: join `id = people.id`: `orders` has no column `id`
    error: _schema/shop.yaml:17:3: join_target_column: join `people.id = id`: `orders` has no column `id`
    error: orders.yaml:1:1: grain_not_in_columns: grain entry `id` is not a declared column
    error: orders.yaml:4:5: unmatched_overlay: `exclude_columns` names the unknown column `shop`; did you mean `shop_id`

    column_overrides:
      - {name: id, role: default}
      - {name: shop, visibility: hidden}
    error: orders.yaml:4:5: invalid_overlay: `column_overrides` names the unknown column `shop`; did you mean `shop_id`
    warning: -: disconnected_components: the sources form 2 groups without a join between them, such as those of `people`, `shops`

    columns:
      - {name: twice, type: number, expr: shop * 2}
    error: orders.yaml:3:6: unknown_column: column `twice`: unknown column `orders.shop`; did you mean `orders.shop_id`

    grain: [id, shop]
    error: orders.yaml:2:1: grain_not_in_columns: grain entry `shop` is not a declared column; did you mean `shop_id`
    ");
}
