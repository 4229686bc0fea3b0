//! What a client sees while the settings change.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ktx_context_tools::{Offered, ProjectContext as _, ReloadedContext};
use ktx_diagnostics::{Code, Failure};

use crate::project::TestProject;

type Said = Arc<Mutex<Option<Vec<String>>>>;

struct Client {
    project: TestProject,
    said: Said,
    opened: Arc<AtomicUsize>,
    context: ReloadedContext,
}

fn client(is_limited: bool) -> Client {
    let project = TestProject::new();
    let said: Said = Arc::new(Mutex::new(Some(vec!["wiki_search".to_owned()])));
    let opened = Arc::new(AtomicUsize::new(0));
    let (seen, says, counted) = (
        project.seen_by("local"),
        Arc::clone(&said),
        Arc::clone(&opened),
    );
    let open = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let only = says.lock().expect("a lock").clone();
        let only = only.ok_or_else(|| Failure::new(Code::InvalidConfig, "broken"))?;
        Ok(Offered {
            context: Arc::clone(&seen),
            only: Some(only),
            profile: None,
            is_limited,
            own: Vec::new(),
        })
    };
    let root = project.folder.path().to_owned();
    let context = ReloadedContext::new(&root, std::time::SystemTime::now, open);
    Client {
        context: context.expect("the settings can be used"),
        project,
        said,
        opened,
    }
}

impl Client {
    fn say(&self, only: Option<&[&str]>, config: &str) {
        let only = only.map(|only| only.iter().map(|name| (*name).to_owned()).collect());
        *self.said.lock().expect("a lock") = only;
        self.project.write("ktx.yaml", config);
    }

    fn only(&self) -> Option<Vec<String>> {
        let (_, offered) = self.context.offered();
        offered.and_then(|offered| offered.only.clone())
    }
}

#[test]
fn broken_settings_leave_a_client_no_more_tools_than_the_last_ones() {
    let client = client(true);
    assert_eq!(client.only(), Some(vec!["wiki_search".to_owned()]));
    client.say(None, "clients: [\n");
    assert!(client.context.offered().1.is_none());
    assert_eq!(
        client.context.last_only(),
        Some(vec!["wiki_search".to_owned()])
    );
    client.say(Some(&["sl_query"]), "clients: {}\n");
    assert_eq!(client.only(), Some(vec!["sl_query".to_owned()]));
    client.say(None, "clients: [[\n");
    assert!(client.context.offered().1.is_none());
    assert_eq!(
        client.context.last_only(),
        Some(vec!["sl_query".to_owned()])
    );
}

#[tokio::test]
async fn a_client_with_a_policy_sees_nothing_while_settings_are_broken() {
    let client = client(true);
    assert!(client.context.connections().await.is_ok());
    client.say(None, "broken: [\n");
    let failure = client.context.connections().await.expect_err("a refusal");
    assert_eq!(failure.code, Code::SettingsUnusable);
    let state = client.context.state().await.expect("a state");
    assert_eq!(state.files.len(), 0);
}

#[tokio::test]
async fn settings_are_opened_again_only_when_their_content_changes() {
    let client = client(true);
    let opened = || client.opened.load(Ordering::Relaxed);
    for _ in 0..20 {
        client.context.connections().await.expect("connections");
    }
    assert_eq!(opened(), 1);
    let config = std::fs::read_to_string(client.project.folder.path().join("ktx.yaml"));
    let config = config.expect("the settings");
    client.project.write("ktx.yaml", &config);
    client.context.connections().await.expect("connections");
    assert_eq!(opened(), 1);
    client.project.write("tools/one.yaml", "name: one\n");
    client.context.connections().await.expect("connections");
    assert_eq!(opened(), 2);
    client.project.remove("tools/one.yaml");
    client.context.connections().await.expect("connections");
    assert_eq!(opened(), 3);
}
