//! Searches while the index has an owner.
#![expect(
    clippy::disallowed_methods,
    reason = "the test writes a project folder"
)]

use std::sync::Arc;
use std::time::SystemTime;

use ktx_config::{Connection, Driver};
use ktx_search::Query;
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, ErrorKind, WarehouseError};
use ktx_wiki::UserId;

use super::super::{
    FileContext, FileContextParts, IndexPlace, NoAudit, Warehouses, lock, meaning::Meaning,
};
use crate::layers::WithheldParts;
use crate::reader::Reader;

struct NoWarehouses;

impl Warehouses for NoWarehouses {
    fn dialect(&self, _: Driver) -> Option<Dialect> {
        None
    }

    fn supports(&self, _: Driver) -> bool {
        false
    }

    fn open(&self, _: &Connection) -> Result<Arc<dyn Connector>, WarehouseError> {
        Err(WarehouseError::new(ErrorKind::Sql, "none"))
    }
}

/// The test holds the index's lock.
#[test]
fn searches_do_not_wait_for_the_owner_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("wiki/global");
    std::fs::create_dir_all(&pages).unwrap();
    std::fs::write(folder.path().join("ktx.yaml"), "connections: {}\n").unwrap();
    std::fs::write(pages.join("returns.md"), "---\nsummary: Returns\n---\n").unwrap();
    for index in [
        IndexPlace::File(folder.path().join(".ktx/state/search.sqlite")),
        IndexPlace::Memory,
    ] {
        let context = FileContext::new(FileContextParts {
            root: folder.path().to_owned(),
            user: UserId::parse("local").unwrap(),
            reader: Reader::Agent,
            index,
            vectors: None,
            warehouses: Arc::new(NoWarehouses),
            withheld: WithheldParts::default(),
            policy: None,
            audit: Arc::new(NoAudit),
            now: SystemTime::now,
        });
        let inner = &context.inner;
        let search = || {
            let query = [Query::new("returns", 3)];
            let mut outcomes = inner.search(&query, &Meaning::default()).unwrap();
            outcomes.pop().unwrap().hits.len()
        };
        assert_eq!(search(), 1);
        let _owned = lock(&inner.index);
        assert_eq!(search(), 1);
        assert_eq!(search(), 1);
    }
}
