//! A kept index of sources changes no answer, even if it is damaged, old or cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_context_tools::{
    Execution, FileContext, FileContextParts, IndexPlace, ProjectContext, QueryRequest, Reader,
    WithheldParts, query,
};
use ktx_semantic_layer::Query;
use ktx_tool_descriptors::CallContext;
use ktx_wiki::UserId;

use crate::project::TestProject;
use crate::warehouse::{Notes, TestWarehouses};

const COUNT: usize = 80;

fn project() -> TestProject {
    let project = TestProject::new();
    for file in ["broken.yaml", "orders.yaml", "_schema/public.yaml"] {
        project.remove(&format!("semantic-layer/warehouse/{file}"));
    }
    for at in 0..COUNT {
        let next = at + 1;
        let joins = if next < COUNT {
            format!(
                "joins: [{{to: t{next}, on: next_id = t{next}.id, relationship: many_to_one}}]\n"
            )
        } else {
            String::new()
        };
        let text = format!(
            "name: t{at}\ntable: t{at}\ngrain: [id]\ncolumns: [{{name: id, type: number}}, \
             {{name: next_id, type: number}}, {{name: label, type: string}}]\n{joins}"
        );
        project.write(&format!("semantic-layer/warehouse/t{at}.yaml"), &text);
    }
    project
}

async fn answer(project: &TestProject, index: IndexPlace, asked: &str) -> String {
    let context: Arc<dyn ProjectContext> = Arc::new(FileContext::new(FileContextParts {
        root: project.folder.path().to_owned(),
        user: UserId::parse("local").expect("a user id"),
        reader: Reader::Person,
        index,
        vectors: None,
        warehouses: Arc::new(TestWarehouses::default()),
        withheld: WithheldParts::default(),
        policy: None,
        audit: Arc::new(Notes::default()),
        now: std::time::SystemTime::now,
    }));
    let request = QueryRequest {
        connection: None,
        query: Query::from_json(asked).expect("a query"),
        execution: Execution::CompileOnly,
    };
    let call = CallContext::detached("call-1");
    match query(context.as_ref(), &request, &call).await {
        Ok(answer) => format!("{answer:?}"),
        Err(failure) => format!("{failure:?}"),
    }
}

const ASKED: [&str; 4] = [
    r#"{"measures": ["count(t3.*)"], "dimensions": ["t5.label"]}"#,
    r#"{"measures": ["count(t3.*)", "sum(t7.id)"], "filters": ["t9.label = 'x'"]}"#,
    r#"{"measures": ["count(t3.*)"], "dimensions": ["t1.label"]}"#,
    r#"{"measures": ["count(t3.*)"], "dimensions": ["t5.lable"]}"#,
];

fn kept(project: &TestProject) -> PathBuf {
    let state = project.folder.path().join(".ktx/state");
    state.join("listings/warehouse.index.json")
}

fn on_disk(project: &TestProject) -> IndexPlace {
    IndexPlace::File(project.folder.path().join(".ktx/state/search.sqlite"))
}

async fn assert_same(project: &TestProject, when: &str) {
    for asked in ASKED {
        let whole = answer(project, IndexPlace::Memory, asked).await;
        let partly = answer(project, on_disk(project), asked).await;
        assert_eq!(partly, whole, "{when}: {asked}");
    }
}

fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("an index");
    change(&mut bytes);
    fs::write(path, bytes).expect("the file can be written");
}

#[tokio::test]
async fn a_kept_index_changes_no_answer() {
    let project = project();
    assert_same(&project, "without an index").await;
    assert!(kept(&project).exists(), "the first answer keeps an index");
    assert_same(&project, "with one").await;
    damage(&kept(&project), |bytes| bytes.truncate(bytes.len() / 2));
    assert_same(&project, "cut short").await;
    // Another number is still JSON.
    damage(&kept(&project), |bytes| {
        let at = bytes.iter().rposition(|byte| *byte == b'0');
        bytes[at.expect("a zero")] = b'1';
    });
    assert_same(&project, "with another number").await;
    damage(&kept(&project), |bytes| bytes.fill(b'{'));
    assert_same(&project, "of other bytes").await;
    project.write(
        "semantic-layer/warehouse/t5.yaml",
        "name: t5\ntable: other_t5\ngrain: [id]\ncolumns: [{name: id, type: number}, {name: label, type: string}]\n",
    );
    assert_same(&project, "after a change").await;
}

/// A file blocks the folder of indexes.
#[tokio::test]
async fn a_project_that_cannot_be_written_answers_the_same() {
    let project = project();
    let listings = kept(&project).parent().expect("a folder").to_owned();
    let _unused = fs::remove_dir_all(&listings);
    fs::create_dir_all(listings.parent().expect("a folder")).expect("a folder");
    fs::write(&listings, "no folder").expect("the file can be written");
    assert_same(&project, "without a folder").await;
    assert_same(&project, "again").await;
}
