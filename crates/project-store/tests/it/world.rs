//! A temporary home with a project and its user.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use ktx_config::Environment;
use ktx_project_store::{
    Change, Failpoints, Force, Initialized, ProjectPath, PublishError, PublishRequest,
    PublishResult, Store, init,
};

pub(crate) struct TestRepository {
    folder: tempfile::TempDir,
}

impl TestRepository {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("home")).expect("a home");
        Self { folder }
    }

    pub(crate) fn with_project() -> (Self, Store) {
        let world = Self::new();
        world.write(
            "home/.gitconfig",
            "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n",
        );
        let store = world.init("shop").expect("a project").store;
        (world, store)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn environment(&self) -> Environment {
        environment(self.folder.path())
    }

    pub(crate) fn init(&self, name: &str) -> Result<Initialized, ktx_project_store::InitError> {
        init(
            &self.path(name),
            Force::No,
            noon(),
            &self.environment(),
            &Failpoints::none(),
        )
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    pub(crate) fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.path(folder))
            .args(arguments)
            .env_clear()
            .env("HOME", self.path("home"))
            .env(
                "PATH",
                environment(self.folder.path()).get("PATH").expect("a path"),
            )
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git runs");
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    }

    pub(crate) fn untidy(&self, folder: &str) -> String {
        let status = self.git(folder, &["status", "--porcelain"]);
        let fsck = self.git(folder, &["fsck", "--full", "--strict", "--no-dangling"]);
        format!(
            "{status}{}",
            fsck.replace("notice: No default references\n", "")
        )
    }
}

pub(crate) fn environment(folder: &Path) -> Environment {
    let path = Environment::from_process()
        .get("PATH")
        .expect("a path")
        .to_owned();
    let home = folder.join("home").display().to_string();
    Environment::from_pairs([
        ("PATH", path),
        ("HOME", home),
        ("GIT_DIR", "/nowhere".to_owned()),
    ])
}

pub(crate) fn noon() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

pub(crate) fn at(path: &str) -> ProjectPath {
    ProjectPath::parse(path).expect("a good path")
}

pub(crate) fn publish(store: &Store, changes: &[Change]) -> Result<PublishResult, PublishError> {
    let publisher = store.publisher()?;
    let base = publisher.begin()?;
    publisher.publish(
        &base,
        &PublishRequest {
            changes,
            message: "ktx: a run",
            at: noon(),
        },
    )
}
