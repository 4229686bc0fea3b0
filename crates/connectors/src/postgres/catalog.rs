//! PostgreSQL's catalog queries, one per kind of object. Names are cast to text, because type
//! `name` has its own binary form.

pub(super) const USER_SCHEMAS: &str = "
SELECT nspname::text, has_schema_privilege(oid, 'USAGE')
FROM pg_catalog.pg_namespace
WHERE nspname <> 'information_schema' AND nspname !~ '^pg_'
ORDER BY nspname";

pub(super) const SHOWN_SCHEMAS: &str = "
SELECT nspname::text, has_schema_privilege(oid, 'USAGE')
FROM pg_catalog.pg_namespace
WHERE nspname <> 'information_schema' AND nspname !~ '^pg_' OR nspname = ANY ($1)
ORDER BY nspname";

/// User schemas and those in a list, with their [`RELATIONS`]; one row for an empty schema.
pub(super) const LISTING: &str = "
SELECT n.nspname::text, has_schema_privilege(n.oid, 'USAGE'), c.relname::text,
  parent_schema.nspname::text, parent.relname::text,
  has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_namespace n
LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
  AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
  )
LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
LEFT JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
LEFT JOIN pg_catalog.pg_namespace parent_schema ON parent_schema.oid = parent.relnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' OR n.nspname = ANY ($1)
ORDER BY n.nspname, c.relname";

pub(super) const NAMED_SCHEMAS: &str = "
SELECT nspname::text, has_schema_privilege(oid, 'USAGE')
FROM pg_catalog.pg_namespace
WHERE nspname = ANY ($1)
ORDER BY nspname";

/// Tables, views and foreign tables that no extension owns. A partitioned table's size is the sum
/// of its leaves. Before version 14, a table that was never analyzed has 0 rows and no pages.
pub(super) const RELATIONS: &str = "
WITH RECURSIVE tree AS (
  SELECT inhparent AS root, inhrelid AS child FROM pg_catalog.pg_inherits
  UNION
  SELECT tree.root, i.inhrelid
  FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.child
), sizes AS (
  SELECT tree.root, sum(c.reltuples)::float8 AS tuples
  FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.child
  WHERE c.relkind IN ('r', 'f') AND c.reltuples >= 0
  GROUP BY tree.root
)
SELECT n.nspname::text, c.relname::text, c.relkind::text,
  parent_schema.nspname::text, parent.relname::text,
  CASE
    WHEN c.relkind = 'v' THEN NULL
    WHEN c.relkind = 'p' THEN sizes.tuples
    WHEN c.reltuples < 0 THEN NULL
    WHEN c.reltuples = 0 AND c.relpages = 0
      AND current_setting('server_version_num')::int < 140000 THEN NULL
    ELSE c.reltuples::float8
  END,
  d.description,
  has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
LEFT JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
LEFT JOIN pg_catalog.pg_namespace parent_schema ON parent_schema.oid = parent.relnamespace
LEFT JOIN sizes ON sizes.root = c.oid
LEFT JOIN pg_catalog.pg_description d
  ON d.classoid = 'pg_catalog.pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND c.relpersistence <> 't'
  AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
  )
ORDER BY n.nspname, c.relname";

/// Columns with type category; a domain has its base type's. Comments are joined and the order
/// follows an index: function calls and sorting by name would double the time.
pub(super) const COLUMNS: &str = "
SELECT n.nspname::text, c.relname::text, a.attname::text,
  pg_catalog.format_type(a.atttypid, a.atttypmod), t.typcategory::text,
  a.attnotnull OR (t.typtype = 'd' AND t.typnotnull),
  d.description, granted.whole OR has_column_privilege(c.oid, a.attnum, 'SELECT')
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN (
  SELECT oid, has_table_privilege(oid, 'SELECT') AS whole FROM pg_catalog.pg_class
  WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
) granted ON granted.oid = c.oid
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_description d
  ON d.classoid = 'pg_catalog.pg_class'::regclass AND d.objoid = a.attrelid
    AND d.objsubid = a.attnum
WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum";

/// Primary and foreign keys, one row per column, without the copies that a foreign key to a
/// partitioned table has for partitions.
pub(super) const KEYS: &str = "
SELECT n.nspname::text, c.relname::text, con.conname::text, con.contype::text, a.attname::text,
  parent_schema.nspname::text, parent.relname::text, parent_column.attname::text
FROM pg_catalog.pg_constraint con
JOIN pg_catalog.pg_class c ON c.oid = con.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(con.conkey, con.confkey) WITH ORDINALITY AS k (own, other, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = con.conrelid AND a.attnum = k.own
LEFT JOIN pg_catalog.pg_class parent ON parent.oid = con.confrelid AND con.contype = 'f'
LEFT JOIN pg_catalog.pg_namespace parent_schema ON parent_schema.oid = parent.relnamespace
LEFT JOIN pg_catalog.pg_attribute parent_column
  ON parent_column.attrelid = parent.oid AND parent_column.attnum = k.other
WHERE n.nspname = ANY ($1)
  AND (con.contype = 'p' OR (con.contype = 'f' AND con.conparentid = 0))
ORDER BY n.nspname, c.relname, con.conname, con.oid, k.place";
