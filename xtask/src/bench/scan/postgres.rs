//! Compares the scan of a thousand PostgreSQL tables with bare catalog queries.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use anyhow::{Context as _, Result};

use super::{CATALOG_BOUND, IDENTITY, RUNS, git};
use crate::bench::measure::{median, milliseconds};
use crate::bench::start::{ktx, project};
use crate::bench::{Bench, Outcome};
use crate::process;
use crate::services::Postgres;

/// A statement holds its locks until its end.
const STEPS: u32 = 4;

/// A quarter of 1,000 tables with 12 columns, comments and a foreign key to the previous table.
const MAKE: &str = "DO $$
DECLARE parent text;
BEGIN
  FOR n IN FROM_TABLE .. FROM_TABLE + 249 LOOP
    parent := CASE WHEN n > 0 THEN format('REFERENCES %I', 't' || to_char(n - 1, 'FM0000')) ELSE '' END;
    EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, parent_id int %s, %s)',
      't' || to_char(n, 'FM0000'), parent,
      (SELECT string_agg(format('c%s text', i), ', ') FROM generate_series(0, 9) i));
    EXECUTE format('COMMENT ON TABLE %I IS %L', 't' || to_char(n, 'FM0000'), 'table ' || n);
    EXECUTE format('COMMENT ON COLUMN %I.c0 IS %L', 't' || to_char(n, 'FM0000'), 'first of ' || n);
  END LOOP;
END $$";

const QUERIES: [&str; 3] = [
    "SELECT n.nspname, c.relname, c.relkind, c.reltuples, obj_description(c.oid, 'pg_class')
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1, 2",
    "SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       col_description(c.oid, a.attnum)
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2, a.attnum",
    "SELECT n.nspname, c.relname, k.conname, k.contype, own.attname, parent.relname, other.attname
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS at (own, other, place)
       JOIN pg_attribute own ON own.attrelid = k.conrelid AND own.attnum = at.own
       LEFT JOIN pg_class parent ON parent.oid = k.confrelid
       LEFT JOIN pg_attribute other ON other.attrelid = k.confrelid AND other.attnum = at.other
     WHERE n.nspname = 'public' AND k.contype IN ('p', 'f') ORDER BY 1, 2, 3, at.place",
];

/// Neither side writes.
pub(super) fn structure(bench: &Bench<'_>) -> Result<Outcome> {
    let server = Postgres::start(bench.repository)?;
    for step in 0..STEPS {
        let make = MAKE.replace("FROM_TABLE", &(step * 250).to_string());
        process::output(server.client(bench.repository)?.args(["-c", &make]))?;
    }
    let vacuum = ["-c", "VACUUM ANALYZE"];
    process::output(server.client(bench.repository)?.args(vacuum))?;
    let folder = project(bench, "scan-postgres")?;
    let config = format!(
        "connections:\n  pg:\n    driver: postgres\n    url: {}\n",
        server.url()
    );
    std::fs::write(folder.join("ktx.yaml"), config).context("`ktx.yaml` cannot be written")?;
    process::output(&mut git(bench, &folder, &["init", "--quiet"]))?;
    let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut client = server.client(bench.repository)?;
        client.args(["--no-align", "--tuples-only", "--output", "/dev/null"]);
        for query in QUERIES {
            client.args(["-c", query]);
        }
        yardstick.push(milliseconds(&mut client)?);
        let mut scan = ktx(bench, &folder, &["scan", "pg", "--structural", "--dry-run"]);
        measured.push(milliseconds(scan.envs(IDENTITY))?);
    }
    Ok(Outcome {
        name: "structural scan of 1000 PostgreSQL tables that writes nothing against the bare \
               catalog queries"
            .to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound: CATALOG_BOUND,
    })
}
