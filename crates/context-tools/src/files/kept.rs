//! What was found out about the files of a folder, kept while nothing below it changes.
//!
//! A server answers many calls between two edits. Looking at ten thousand files takes longer than a
//! search, so folders are watched instead, where the system allows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ktx_diagnostics::Failure;
use ktx_project_store::{FolderWatch, Watched};
use ktx_search::{Digest, UnitState};
use ktx_wiki::Scope;

use super::pages::PageFile;
use super::{Inner, lock};

/// All files are looked at again after this time: a watch does not see what is written through
/// memory maps.
const LONGEST: Duration = Duration::from_secs(5);

/// The units of all pages.
#[derive(Debug, Default)]
pub(super) struct PageUnits {
    pub(super) states: Vec<UnitState>,
    /// The files by the names of their units.
    pub(super) files: BTreeMap<String, PageFile>,
    /// The keys of the pages that belong to the user alone.
    pub(super) own: BTreeSet<String>,
    /// What could not be looked at.
    pub(super) failures: Vec<Failure>,
    /// The digest of the states.
    pub(super) digest: Digest,
}

/// A value that is valid until its watch reports a change.
#[derive(Debug)]
pub(super) struct WatchedValue<T> {
    value: Arc<T>,
    watch: FolderWatch,
    since: SystemTime,
}

/// The kept value of each folder.
pub(super) type WatchedFolders<T> = Mutex<BTreeMap<PathBuf, WatchedValue<T>>>;

impl<T> WatchedValue<T> {
    fn is_valid(&self, now: SystemTime) -> bool {
        let age = now.duration_since(self.since);
        age.is_ok_and(|age| age < LONGEST) && self.watch.look() == Watched::Unchanged
    }
}

impl Inner {
    /// The units of all pages, as they are now.
    pub(super) fn page_units(&self) -> Arc<PageUnits> {
        // Which pages a client with a policy sees depends on more than the wiki.
        if self.policy().is_some() {
            return Arc::new(self.units_of_pages());
        }
        let now = (self.parts.now)();
        let mut kept = lock(&self.kept_pages);
        if let Some(known) = kept.as_ref().filter(|known| known.is_valid(now)) {
            return Arc::clone(&known.value);
        }
        // The watch begins before the files are looked at, so that no change is missed.
        let watch = FolderWatch::new(&self.layout.wiki());
        let units = Arc::new(self.units_of_pages());
        *kept = watch.map(|watch| WatchedValue {
            value: Arc::clone(&units),
            watch,
            since: now,
        });
        units
    }

    /// What `look` finds out about a folder, as it is now. Callers at the same time look once.
    pub(super) fn watched<T>(
        &self,
        kept: &WatchedFolders<T>,
        folder: &Path,
        look: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let now = (self.parts.now)();
        let mut kept = lock(kept);
        if let Some(known) = kept.get(folder).filter(|known| known.is_valid(now)) {
            return Ok(Arc::clone(&known.value));
        }
        kept.remove(folder);
        let watch = FolderWatch::new(folder);
        let value = Arc::new(look()?);
        if let Some(watch) = watch {
            let known = WatchedValue {
                value: Arc::clone(&value),
                watch,
                since: now,
            };
            kept.insert(folder.to_owned(), known);
        }
        Ok(value)
    }

    fn units_of_pages(&self) -> PageUnits {
        let pages = self.all_page_files();
        let mut units = PageUnits {
            failures: pages.folders,
            ..PageUnits::default()
        };
        units.failures.extend(pages.left_out);
        for file in pages.files {
            if matches!(&file.path.scope, Scope::User(user) if *user == self.parts.user) {
                units.own.insert(file.path.key.to_string());
            }
            let name = file.path.to_string();
            units.states.push(UnitState {
                unit: name.clone(),
                stamp: file.stamp.clone(),
            });
            units.files.insert(name, file);
        }
        units.digest = Digest::of(&units.states);
        units
    }
}
