//! The journal in the local state.

use ktx_ingest::{Origin, known_files};
use ktx_project_store::StageRow;
use serde_json::json;

use crate::world::{World, a_page_each, id, now, source};

#[tokio::test]
async fn rows_of_another_form_are_absent() {
    let world = World::new();
    let state = world.store.state().expect("the state");
    for (stage, output) in [
        ("unit", json!("done")),
        ("unit", json!({ "wiki": { "pages": 1 } })),
        ("unit-written", json!([1])),
        ("unit-gone", json!(null)),
        ("facts", json!({ "tables": "many" })),
    ] {
        let row = StageRow {
            table_key: "one".to_owned(),
            stage: stage.to_owned(),
            structure_hash: String::new(),
            input_hash: "0".to_owned(),
            output,
            updated: now(),
        };
        state.put_stage(&id("shop-dbt"), &row).expect("a row");
    }
    let ran = world.run(source(&["one"]), a_page_each).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    let mut loops = ran.report.loops();
    let committed = loops
        .next()
        .map(|done| done.result.as_ref().expect("a result"));
    assert_eq!(committed.map(|done| done.origin), Some(Origin::ThisRun));
    let files = known_files(&state, &id("shop-dbt")).expect("the files");
    assert!(files.contains("one.yml"));
}
