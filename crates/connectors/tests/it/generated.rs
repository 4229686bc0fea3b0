//! Introspection returns the generated schemas that were created.
//!
//! [`draft`] generates a schema, [`model`] fits it to a server and predicts the result, and [`ddl`]
//! writes its statements.

mod ddl;
mod draft;
mod duckdb;
mod live_clickhouse;
mod live_mariadb;
mod live_postgres;
mod model;
mod sqlite;

use ktx_warehouse::SchemaSnapshot;
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use model::{CatalogModel, ConstraintNames, Server};

const SEEDS: [u8; 4] = [1, 2, 3, 4];

fn check<S: Server>(cases: u32, mut read: impl FnMut(&[String]) -> Result<SchemaSnapshot, String>) {
    for seed in SEEDS {
        let config = Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 200,
            ..Config::default()
        };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        let mut runner = TestRunner::new_with_rng(config, random);
        let read = std::cell::RefCell::new(&mut read);
        let outcome = runner.run(&vec(draft::draft(), 1..9), |drafts| {
            let model = CatalogModel::of::<S>(&drafts);
            let statements = ddl::statements::<S>(&model);
            let found = (read.borrow_mut())(&statements).map_err(TestCaseError::fail)?;
            let found = ordered(found, S::RULES.names);
            let expected = ordered(model.snapshot(), S::RULES.names);
            if found == expected {
                return Ok(());
            }
            let differences = differences(&found, &expected);
            let statements = statements.join(";\n");
            Err(TestCaseError::fail(format!("{differences}\n{statements}")))
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, _)) => panic!("seed {seed}: {}", reason.message()),
            Err(TestError::Abort(reason)) => panic!("seed {seed}: {}", reason.message()),
        }
    }
}

/// Foreign keys have no order, and some servers generate their names.
fn ordered(mut snapshot: SchemaSnapshot, names: ConstraintNames) -> SchemaSnapshot {
    for table in &mut snapshot.tables {
        for key in &mut table.foreign_keys {
            if names == ConstraintNames::Theirs {
                key.constraint_name = None;
            }
        }
        table.foreign_keys.sort_by(|left, right| {
            (&left.constraint_name, &left.from_columns)
                .cmp(&(&right.constraint_name, &right.from_columns))
        });
    }
    snapshot.schemas.sort();
    snapshot.listing.clear();
    snapshot
}

fn differences(found: &SchemaSnapshot, expected: &SchemaSnapshot) -> String {
    let lack = |these: &SchemaSnapshot, those: &SchemaSnapshot| {
        let tables: Vec<_> = these
            .tables
            .iter()
            .filter(|table| !those.tables.contains(table))
            .collect();
        format!("{:?} {:?}\n{tables:#?}", these.schemas, these.warnings)
    };
    format!(
        "read: {}\nmade: {}",
        lack(found, expected),
        lack(expected, found)
    )
}
