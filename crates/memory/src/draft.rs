//! A draft: the committed project files plus the changes of a capture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_project_store::{Change, ProjectPath};
use ktx_vocabulary::WikiKey;
use ktx_wiki::{Page, PagePath, Scope};

#[derive(Debug)]
pub(crate) struct Draft {
    scope: Scope,
    base: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    /// `None` if the file was removed.
    changed: BTreeMap<ProjectPath, Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not UTF-8 text")]
pub(crate) struct NotText {
    path: ProjectPath,
}

impl Draft {
    pub(crate) fn new(base: impl Into<Arc<BTreeMap<ProjectPath, Vec<u8>>>>) -> Self {
        Self::of_pages(base, Scope::Global)
    }

    pub(crate) fn of_pages(
        base: impl Into<Arc<BTreeMap<ProjectPath, Vec<u8>>>>,
        scope: Scope,
    ) -> Self {
        Self {
            scope,
            base: base.into(),
            changed: BTreeMap::new(),
        }
    }

    pub(crate) const fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn page_path(&self, key: &str) -> String {
        format!("{}/{key}.md", self.page_folder())
    }

    fn page_folder(&self) -> String {
        match &self.scope {
            Scope::Global => "wiki/global".to_owned(),
            Scope::User(user) => format!("wiki/user/{user}"),
        }
    }

    pub(crate) fn text(&self, path: &ProjectPath) -> Result<Option<&str>, NotText> {
        if let Some(changed) = self.changed.get(path) {
            return Ok(changed.as_deref());
        }
        let Some(bytes) = self.base.get(path) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(bytes).map_err(|_| NotText { path: path.clone() })?;
        Ok(Some(text))
    }

    pub(crate) fn committed(&self) -> &BTreeMap<ProjectPath, Vec<u8>> {
        &self.base
    }

    pub(crate) fn reset(&mut self) {
        self.changed.clear();
    }

    pub(crate) fn put(&mut self, path: ProjectPath, text: String) {
        self.changed.insert(path, Some(text));
    }

    pub(crate) fn remove(&mut self, path: ProjectPath) {
        self.changed.insert(path, None);
    }

    pub(crate) fn is_committed(&self, key: &str) -> bool {
        let path = self.page_path(key);
        self.base.keys().any(|known| known.as_str() == path)
    }

    /// Ordered by path.
    pub(crate) fn below(&self, folder: &str) -> Vec<(&ProjectPath, &[u8])> {
        let prefix = format!("{folder}/");
        let paths: BTreeSet<&ProjectPath> = self.base.keys().chain(self.changed.keys()).collect();
        let below = paths
            .into_iter()
            .filter(|path| path.as_str().starts_with(&prefix));
        below
            .filter_map(|path| {
                let bytes = match self.changed.get(path) {
                    Some(changed) => changed.as_deref()?.as_bytes(),
                    None => self.base.get(path)?,
                };
                Some((path, bytes))
            })
            .collect()
    }

    pub(crate) fn pages(&self) -> Vec<Page> {
        let folder = self.page_folder();
        let files = self.below(&folder).into_iter();
        files
            .filter_map(|(path, bytes)| {
                let place = PagePath::parse(path.as_str()).ok()?;
                let text = std::str::from_utf8(bytes).ok()?;
                Some(ktx_wiki::parse(place, text).page)
            })
            .collect()
    }

    pub(crate) fn keys(&self) -> BTreeSet<WikiKey> {
        let folder = self.page_folder();
        let files = self.below(&folder).into_iter();
        files
            .filter_map(|(path, _)| Some(PagePath::parse(path.as_str()).ok()?.key))
            .collect()
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        let differing = self.changed.iter().filter(|(path, text)| {
            let now = text.as_deref().map(str::as_bytes);
            now != self.base.get(path).map(Vec::as_slice)
        });
        differing
            .map(|(path, text)| match text {
                Some(text) => Change::write(path.clone(), text.as_bytes()),
                None => Change::delete(path.clone()),
            })
            .collect()
    }
}
