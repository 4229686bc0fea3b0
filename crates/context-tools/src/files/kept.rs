//! Facts about files, cached while their folder does not change.
//!
//! Checking ten thousand files takes longer than a search, so folders are watched. Without a watch,
//! callers share a slow check for a second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use ktx_diagnostics::Failure;
use ktx_project_store::{FolderWatch, WatchState};
use ktx_search::{Digest, UnitState};
use ktx_wiki::Scope;

use super::limited::HiddenFromClient;
use super::pages::{PageFile, PageFiles};
use super::{Inner, lock};

/// A watch misses writes through memory maps.
const LONGEST: Duration = Duration::from_secs(5);

const SHARED: Duration = Duration::from_secs(1);

/// Faster checks are not shared.
const SLOW: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct PageUnits {
    pub(super) states: Vec<UnitState>,
    pub(super) files: BTreeMap<String, PageFile>,
    pub(super) own: BTreeSet<String>,
    pub(super) failures: Vec<Failure>,
    pub(super) digest: Digest,
}

#[derive(Debug)]
pub(super) struct WatchedValue<T> {
    value: Arc<T>,
    validity: Validity,
}

#[derive(Debug)]
enum Validity {
    Watched {
        watch: FolderWatch,
        since: SystemTime,
    },
    Shared {
        until: Instant,
    },
}

/// `None` after the first check of a folder.
pub(super) type WatchedFolders<T> = Mutex<BTreeMap<PathBuf, Option<WatchedValue<T>>>>;

impl<T> WatchedValue<T> {
    fn is_valid(&self, now: SystemTime) -> bool {
        match &self.validity {
            Validity::Watched { watch, since } => {
                let age = now.duration_since(*since);
                age.is_ok_and(|age| age < LONGEST) && watch.look() == WatchState::Unchanged
            }
            Validity::Shared { until } => Instant::now() < *until,
        }
    }

    fn of(
        folder: &Path,
        now: SystemTime,
        look: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(Arc<T>, Option<Self>), Failure> {
        // The watch begins before the check, so that no change is missed.
        let watch = FolderWatch::new(folder);
        let begun = Instant::now();
        let value = Arc::new(look()?);
        let validity = match watch {
            Some(watch) => Some(Validity::Watched { watch, since: now }),
            None => (begun.elapsed() >= SLOW).then(|| Validity::Shared {
                until: begun + SHARED,
            }),
        };
        let kept = validity.map(|validity| Self {
            value: Arc::clone(&value),
            validity,
        });
        Ok((value, kept))
    }
}

#[derive(Debug)]
pub(super) struct ShownPages {
    all: Arc<PageFiles>,
    stamp: String,
    shown: Arc<PageFiles>,
}

#[derive(Debug)]
pub(super) struct KeptUnits {
    pages: Arc<PageFiles>,
    units: Arc<PageUnits>,
}

impl Inner {
    pub(super) fn page_units(&self) -> Arc<PageUnits> {
        let pages = self.shown_pages();
        let mut kept = lock(&self.kept_units);
        if let Some(known) = kept
            .as_ref()
            .filter(|known| Arc::ptr_eq(&known.pages, &pages))
        {
            return Arc::clone(&known.units);
        }
        let units = Arc::new(self.units_of(&pages));
        *kept = Some(KeptUnits {
            pages,
            units: Arc::clone(&units),
        });
        units
    }

    pub(super) fn shown_pages(&self) -> Arc<PageFiles> {
        let all = self.all_pages();
        if self.policy().is_none() {
            return all;
        }
        let names = self.hidden_names();
        let stamp = names.as_ref().map(HiddenFromClient::stamp);
        let mut kept = lock(&self.kept_shown);
        if let (Some(stamp), Some(known)) = (&stamp, kept.as_ref())
            && Arc::ptr_eq(&known.all, &all)
            && known.stamp == *stamp
        {
            return Arc::clone(&known.shown);
        }
        let mut shown = PageFiles::clone(&all);
        self.retain_shown(&mut shown.files, names.as_ref());
        // Failures name files, which can be hidden.
        shown.left_out.clear();
        let shown = Arc::new(shown);
        *kept = stamp.map(|stamp| ShownPages {
            all,
            stamp,
            shown: Arc::clone(&shown),
        });
        shown
    }

    fn all_pages(&self) -> Arc<PageFiles> {
        let look = || Ok(self.look_at_pages());
        self.watched(&self.kept_pages, &self.layout.wiki(), look)
            .unwrap_or_else(|failure| {
                Arc::new(PageFiles {
                    folders: vec![failure],
                    ..PageFiles::default()
                })
            })
    }

    /// Concurrent callers share one check. The first check sets no watch: a command checks once, and
    /// Linux takes about 10 ms to end a watch.
    pub(super) fn watched<T>(
        &self,
        kept: &WatchedFolders<T>,
        folder: &Path,
        look: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let now = (self.parts.now)();
        let mut kept = lock(kept);
        let Some(before) = kept.get_mut(folder) else {
            kept.insert(folder.to_owned(), None);
            return look().map(Arc::new);
        };
        if let Some(known) = before.as_ref().filter(|known| known.is_valid(now)) {
            return Ok(Arc::clone(&known.value));
        }
        // The watch of the last look ends before another one begins.
        *before = None;
        let (value, known) = WatchedValue::of(folder, now, look)?;
        *before = known;
        Ok(value)
    }

    fn units_of(&self, pages: &PageFiles) -> PageUnits {
        let mut units = PageUnits {
            failures: pages.folders.clone(),
            ..PageUnits::default()
        };
        units.failures.extend(pages.left_out.iter().cloned());
        for file in &pages.files {
            if matches!(&file.path.scope, Scope::User(user) if *user == self.parts.user) {
                units.own.insert(file.path.key.to_string());
            }
            let name = file.path.to_string();
            units.states.push(UnitState {
                unit: name.clone(),
                stamp: file.stamp.clone(),
            });
            units.files.insert(name, file.clone());
        }
        units.digest = Digest::of(&units.states);
        units
    }
}
