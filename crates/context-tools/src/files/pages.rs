//! `wiki/`: one cache entry per page file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ktx_diagnostics::{Code, Failure};
use ktx_wiki::{Page, PagePath, Scope, parse};

use crate::layers::LayerPart;

use super::stamp::{is_absent, unreadable};
use super::{Cached, Inner, lock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageFile {
    pub(super) path: PagePath,
    pub(super) stamp: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct PageFiles {
    /// Ordered by key, global before private.
    pub(super) files: Vec<PageFile>,
    pub(super) folders: Vec<Failure>,
    pub(super) left_out: Vec<Failure>,
}

impl Inner {
    /// Ordered by key, global before private.
    fn page_files(&self) -> Result<Vec<PageFile>, Failure> {
        let found = self.shown_pages();
        if let Some(failure) = found.folders.last() {
            return Err(failure.clone());
        }
        let own = found.files.iter().filter(|file| match &file.path.scope {
            Scope::Global => true,
            Scope::User(user) => *user == self.parts.user,
        });
        Ok(own.cloned().collect())
    }

    /// Lists the pages of all users, because the index serves everyone.
    pub(super) fn look_at_pages(&self) -> PageFiles {
        let mut found = PageFiles::default();
        if self.parts.withheld.contains(LayerPart::Wiki) {
            return found;
        }
        let mut folders = vec![(self.layout.wiki_global(), "wiki/global/".to_owned())];
        let users = self.layout.wiki_users();
        match self.folders(&users) {
            Ok(names) => {
                let left_out = names.left_out.iter().map(|one| self.left_out(one));
                found.left_out.extend(left_out);
                for user in names.names {
                    folders.push((users.join(&user), format!("wiki/user/{user}/")));
                }
            }
            Err(failure) => found.folders.push(failure),
        }
        for (folder, prefix) in folders {
            let files = match self.files(&folder) {
                Ok(files) => files,
                Err(failure) => {
                    found.folders.push(failure);
                    continue;
                }
            };
            let left_out = files.left_out.iter().map(|one| self.left_out(one));
            found.left_out.extend(left_out);
            for entry in files.entries {
                // Other files, such as pictures, are not pages.
                if let Ok(path) = PagePath::parse(&format!("{prefix}{}", entry.path)) {
                    found.files.push(PageFile {
                        path,
                        stamp: entry.stamp,
                    });
                } else if is_in_sub_folder(&entry.path) {
                    let message = format!(
                        "`{prefix}{}` is not read: pages must be in `{prefix}` itself, not in a folder below it",
                        entry.path
                    );
                    found.left_out.push(Failure::new(Code::LeftOut, message));
                }
            }
        }
        found
            .files
            .sort_by(|left, right| left.path.cmp(&right.path));
        found
    }

    /// Returns `None` if the file was just removed.
    pub(super) fn page(&self, file: &PageFile) -> Result<Option<Arc<Page>>, Failure> {
        let known = lock(&self.pages)
            .get(&file.path)
            .filter(|known| known.stamp == file.stamp)
            .map(|known| Arc::clone(&known.value));
        if known.is_some() {
            return Ok(known);
        }
        let path = self.parts.root.join(file.path.to_string());
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let page = Arc::new(parse(file.path.clone(), &String::from_utf8_lossy(&bytes)).page);
        let cached = Cached {
            stamp: file.stamp.clone(),
            value: Arc::clone(&page),
        };
        lock(&self.pages).insert(file.path.clone(), cached);
        Ok(Some(page))
    }

    pub(super) fn unread_pages(&self) -> Vec<String> {
        let found = self.shown_pages();
        let messages = found.left_out.iter().map(|failure| failure.message.clone());
        messages.collect()
    }

    pub(super) fn visible_pages(&self) -> Result<Vec<PageFile>, Failure> {
        Ok(visible(self.page_files()?))
    }

    pub(super) fn page_paths(&self) -> Result<Vec<PagePath>, Failure> {
        let files = self.visible_pages()?.into_iter();
        Ok(files.map(|file| file.path).collect())
    }

    pub(super) fn pages_at(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure> {
        if self.parts.withheld.contains(LayerPart::Wiki) {
            return Ok(Vec::new());
        }
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            if let Some(stamp) = self.stamp(&self.parts.root.join(path.to_string()))? {
                files.push(PageFile {
                    path: path.clone(),
                    stamp,
                });
            }
        }
        if self.policy().is_some() {
            self.retain_shown(&mut files, self.hidden_names().as_ref());
        }
        let pages = files.iter().map(|file| self.page(file));
        pages.filter_map(Result::transpose).collect()
    }
}

fn is_in_sub_folder(path: &str) -> bool {
    let path = Path::new(path);
    let is_text = path.extension().is_some_and(|extension| extension == "md");
    is_text && path.components().count() > 1
}

fn visible(files: Vec<PageFile>) -> Vec<PageFile> {
    let mut seen: Vec<PageFile> = Vec::with_capacity(files.len());
    for file in files {
        match seen.last_mut() {
            Some(last) if last.path.key == file.path.key => {
                if matches!(file.path.scope, Scope::User(_)) {
                    *last = file;
                }
            }
            _ => seen.push(file),
        }
    }
    seen
}
