//! Hand-written sample files.

pub(crate) const FILES: [(&str, &str); 11] = [
    ("ktx.yaml", include_str!("files/ktx.yaml")),
    (
        "agents/analyst.yaml",
        include_str!("files/agents/analyst.yaml"),
    ),
    (
        "agents/cases/analyst.yaml",
        include_str!("files/agents/cases/analyst.yaml"),
    ),
    (
        "semantic-layer/warehouse/customers.yaml",
        include_str!("files/sources/customers.yaml"),
    ),
    (
        "semantic-layer/warehouse/order_items.yaml",
        include_str!("files/sources/order_items.yaml"),
    ),
    (
        "semantic-layer/warehouse/orders.yaml",
        include_str!("files/sources/orders.yaml"),
    ),
    (
        "semantic-layer/warehouse/payments.yaml",
        include_str!("files/sources/payments.yaml"),
    ),
    (
        "semantic-layer/warehouse/refunds.yaml",
        include_str!("files/sources/refunds.yaml"),
    ),
    (
        "wiki/global/net-revenue.md",
        include_str!("files/wiki/net-revenue.md"),
    ),
    (
        "wiki/global/test-accounts.md",
        include_str!("files/wiki/test-accounts.md"),
    ),
    (
        "wiki/global/time-zones.md",
        include_str!("files/wiki/time-zones.md"),
    ),
];

pub(crate) const QUESTION: &str = "What was net revenue by region?";

/// Joins everything that looks related.
pub(crate) const NAIVE_SQL: &str = "\
SELECT r.name AS region, SUM(o.net_amount - f.amount_cents) / 100.0 AS net_revenue
FROM orders o
JOIN customers c ON c.id = o.customer_id
JOIN regions r ON r.id = c.region_id
JOIN order_items i ON i.order_id = o.id
LEFT JOIN refunds f ON f.order_id = o.id
GROUP BY r.name
ORDER BY r.name";

/// Counts each fact alone, over the defined rows.
pub(crate) const CHECK_SQL: &str = "\
SELECT r.name AS region,
  (SELECT SUM(i.quantity * i.unit_price_cents) FROM order_items i
     JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id
     WHERE c.region_id = r.id AND o.status = 'completed' AND NOT c.is_test) / 100.0 AS sold,
  (SELECT SUM(f.amount_cents) FROM refunds f
     JOIN orders o ON o.id = f.order_id JOIN customers c ON c.id = o.customer_id
     WHERE c.region_id = r.id AND o.status = 'completed' AND NOT c.is_test) / 100.0 AS refunded
FROM regions r
ORDER BY r.name";

pub(crate) const MEASURE: &str = "order_items.goods_sold - refunds.refunded";
