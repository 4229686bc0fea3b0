CREATE TABLE regions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  currency TEXT NOT NULL
);
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  email TEXT NOT NULL,
  full_name TEXT NOT NULL,
  region_id INTEGER NOT NULL REFERENCES regions(id),
  segment TEXT NOT NULL,
  is_test BOOLEAN NOT NULL,
  created_at TIMESTAMP NOT NULL
);
CREATE TABLE product_categories (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL,
  title TEXT NOT NULL,
  category_id INTEGER NOT NULL REFERENCES product_categories(id),
  list_price_cents INTEGER NOT NULL
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers(id),
  status TEXT NOT NULL,
  channel TEXT NOT NULL,
  placed_at TIMESTAMP NOT NULL,
  net_amount INTEGER NOT NULL,
  tax_amount INTEGER NOT NULL
);
CREATE TABLE order_items (
  id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders(id),
  product_id INTEGER NOT NULL REFERENCES products(id),
  quantity INTEGER NOT NULL,
  unit_price_cents INTEGER NOT NULL
);
CREATE TABLE payments (
  id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders(id),
  method TEXT NOT NULL,
  amount_cents INTEGER NOT NULL,
  paid_at_local TIMESTAMP NOT NULL
);
CREATE TABLE refunds (
  id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders(id),
  reason TEXT NOT NULL,
  amount_cents INTEGER NOT NULL,
  refunded_at TIMESTAMP NOT NULL
);
-- The warehouse team renamed these keys and never declared them.
CREATE TABLE shipments (
  id INTEGER PRIMARY KEY,
  ord_no INTEGER NOT NULL,
  carrier TEXT NOT NULL,
  shipped_at TIMESTAMP NOT NULL,
  weight_grams INTEGER NOT NULL
);
CREATE TABLE support_tickets (
  id INTEGER PRIMARY KEY,
  acct INTEGER,
  topic TEXT NOT NULL,
  opened_at TIMESTAMP NOT NULL,
  minutes_to_answer INTEGER
);
CREATE TABLE web_sessions (
  id INTEGER PRIMARY KEY,
  visitor_ref INTEGER,
  source TEXT NOT NULL,
  started_at TIMESTAMP NOT NULL,
  pages INTEGER NOT NULL
);
-- A second system with names that look like the shop's.
CREATE TABLE crm_accounts (
  account_no TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  owner TEXT NOT NULL
);
CREATE TABLE crm_orders (
  deal_no INTEGER PRIMARY KEY,
  account_no TEXT NOT NULL REFERENCES crm_accounts(account_no),
  stage TEXT NOT NULL,
  amount INTEGER NOT NULL,
  closed_on DATE
);
CREATE INDEX orders_by_customer ON orders(customer_id);
CREATE INDEX order_items_by_order ON order_items(order_id);
CREATE INDEX payments_by_order ON payments(order_id);
CREATE INDEX refunds_by_order ON refunds(order_id);
