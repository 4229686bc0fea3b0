//! Reopens a client's project when its settings change.
//!
//! While the settings are unusable, clients with a policy see nothing. If the settings name
//! clients, no client sees anything; otherwise the others keep the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure};
use ktx_scan::Found;
use ktx_search::{Query, SearchOutcome};
use ktx_semantic_layer::Catalog;
use ktx_vocabulary::ConnectionId;
use ktx_wiki::{Page, PagePath};

use crate::context::{AuditEntry, ProjectContext, Runner};
use crate::custom::CustomTool;
use crate::files::stamp_at;
use crate::reader::Reader;
use crate::scans::ScanSnapshot;
use crate::state::ProjectState;
use crate::tools::ToolProfile;
use crate::wire::SourceList;

/// The minimum time between attempts with unusable settings.
const PAUSE: Duration = Duration::from_secs(1);

const TOOLS: &str = "tools";

#[derive(Clone)]
pub struct Offered {
    pub context: Arc<dyn ProjectContext>,
    /// All of the profile if absent.
    pub only: Option<Vec<String>>,
    /// The server's profile if absent.
    pub profile: Option<ToolProfile>,
    pub is_limited: bool,
    pub own: Vec<Arc<CustomTool>>,
}

impl std::fmt::Debug for Offered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offered")
            .field("only", &self.only)
            .field("is_limited", &self.is_limited)
            .finish_non_exhaustive()
    }
}

type Open = Box<dyn Fn() -> Result<Offered, Failure> + Send + Sync>;

#[derive(Debug, Default)]
struct Settings {
    /// Equal stamps mean equal content.
    stamps: BTreeMap<String, Option<String>>,
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Settings {
    fn newer(&self, root: &Path, now: SystemTime) -> Option<Self> {
        let mut paths = BTreeMap::new();
        let config = root.join(ktx_config::FILE_NAME);
        paths.insert(ktx_config::FILE_NAME.to_owned(), config);
        let tools = std::fs::read_dir(root.join(TOOLS)).into_iter().flatten();
        for entry in tools.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            paths.insert(format!("{TOOLS}/{name}"), entry.path());
        }
        let stamp = |(name, path): (&String, &PathBuf)| (name.clone(), stamp_at(path, now));
        let stamps: BTreeMap<_, _> = paths.iter().map(stamp).collect();
        if stamps == self.stamps {
            return None;
        }
        let read = |(name, path): (String, PathBuf)| (name, std::fs::read(path).ok());
        Some(Self {
            stamps,
            files: paths.into_iter().map(read).collect(),
        })
    }

    fn name_clients(&self) -> bool {
        let text = self.files.get(ktx_config::FILE_NAME).cloned().flatten();
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        text.is_none_or(|text| text.contains("clients"))
    }
}

struct Loaded {
    settings: Settings,
    version: u64,
    offered: Option<Arc<Offered>>,
    last_only: Option<Vec<String>>,
    failed: Option<Instant>,
}

impl Loaded {
    fn may_be_mended(&self) -> bool {
        self.failed.is_some_and(|failed| failed.elapsed() >= PAUSE)
    }
}

#[derive(Clone)]
pub struct ReloadedContext {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    now: fn() -> SystemTime,
    /// Running statements are logged through the first project.
    first: Arc<dyn ProjectContext>,
    open: Open,
    loaded: Mutex<Loaded>,
}

impl std::fmt::Debug for ReloadedContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReloadedContext")
            .field("root", &self.inner.root)
            .finish_non_exhaustive()
    }
}

impl ReloadedContext {
    /// Opens the project.
    ///
    /// # Errors
    /// If the first opening fails.
    pub fn new(
        root: &Path,
        now: fn() -> SystemTime,
        open: impl Fn() -> Result<Offered, Failure> + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let settings = Settings::default().newer(root, now());
        let offered = open()?;
        Ok(Self {
            inner: Arc::new(Inner {
                root: root.to_owned(),
                now,
                first: Arc::clone(&offered.context),
                open: Box::new(open),
                loaded: Mutex::new(Loaded {
                    settings: settings.unwrap_or_default(),
                    version: 0,
                    last_only: offered.only.clone(),
                    offered: Some(Arc::new(offered)),
                    failed: None,
                }),
            }),
        })
    }

    /// Returns what the client can see and use; `None` while the settings are unusable. The number
    /// grows with each change.
    pub fn offered(&self) -> (u64, Option<Arc<Offered>>) {
        let loaded = self.inner.current();
        (loaded.version, loaded.offered.clone())
    }

    /// From the last usable settings; all tools if absent.
    pub fn last_only(&self) -> Option<Vec<String>> {
        self.inner.current().last_only.clone()
    }

    fn now(&self) -> Result<Arc<dyn ProjectContext>, Failure> {
        match self.offered() {
            (_, Some(offered)) => Ok(Arc::clone(&offered.context)),
            // The reason can name what is hidden.
            (_, None) => Err(Failure::new(
                Code::SettingsUnusable,
                "the settings of the project have changed and cannot be used: nothing is shown",
            )
            .hint("ask the owner of the project to run `ktx status`, then try again")),
        }
    }
}

impl Inner {
    fn current(&self) -> MutexGuard<'_, Loaded> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no caller restores what another replaced.
        let newer = loaded.settings.newer(&self.root, (self.now)());
        let mut is_changed = false;
        if let Some(newer) = newer {
            is_changed = newer.files != loaded.settings.files;
            loaded.settings = newer;
        }
        if is_changed || loaded.may_be_mended() {
            let is_open = !loaded.settings.name_clients()
                && loaded.offered.as_ref().is_some_and(|last| !last.is_limited);
            loaded.version += 1;
            loaded.failed = None;
            loaded.offered = match (self.open)() {
                Ok(offered) => {
                    loaded.last_only.clone_from(&offered.only);
                    Some(Arc::new(offered))
                }
                Err(failure) => {
                    loaded.failed = Some(Instant::now());
                    if is_changed {
                        tracing::error!(
                            message = %failure.message,
                            "the settings of a client have changed and cannot be used"
                        );
                    }
                    loaded.offered.take().filter(|_| is_open)
                }
            };
        }
        loaded
    }
}

#[async_trait]
impl ProjectContext for ReloadedContext {
    fn reader(&self) -> Reader {
        self.inner.first.reader()
    }

    async fn connections(&self) -> Result<Vec<Connection>, Failure> {
        self.now()?.connections().await
    }

    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        self.now()?.source_folders().await
    }

    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure> {
        self.now()?.runner(connection).await
    }

    async fn catalog(&self, connection: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        self.now()?.catalog(connection).await
    }

    async fn listing(&self, connection: &ConnectionId) -> Result<SourceList, Failure> {
        self.now()?.listing(connection).await
    }

    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure> {
        self.now()?.page_paths().await
    }

    async fn unread_pages(&self) -> Result<Vec<String>, Failure> {
        self.now()?.unread_pages().await
    }

    async fn pages(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure> {
        self.now()?.pages(paths).await
    }

    async fn snapshot(
        &self,
        connection: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        self.now()?.snapshot(connection).await
    }

    async fn links(&self, connection: &ConnectionId) -> Option<Found> {
        self.now().ok()?.links(connection).await
    }

    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure> {
        self.now()?.search(queries).await
    }

    async fn state(&self) -> Result<ProjectState, Failure> {
        match self.now() {
            Ok(context) => context.state().await,
            Err(_) => Ok(ProjectState::default()),
        }
    }

    fn audit(&self, entry: AuditEntry) {
        self.inner.first.audit(entry);
    }
}
