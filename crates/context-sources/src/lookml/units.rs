//! Groups the files of a LookML project into units: a model with the views that it includes.

use std::collections::{BTreeMap, BTreeSet};

use super::inheritance::{View, by_name, elsewhere, views};
use super::project::{FileKind, LookmlModel, LookmlProject};
use crate::grouping::{free, runs, shorten, slug};
use crate::snapshot::{Snapshot, Unit};

const NOTE: &str = "The files are LookML of Looker. `${TABLE}.x` is a column of the view's table, `${x}` another dimension of the view and \
`${view.x}` one of another view. A measure aggregates its `sql` by its `type`, only over rows that its `filters` let \
pass; `count` without `sql` counts rows. Conditions that an explore always adds (`sql_always_where`, \
`always_filter`) are rules that people rely on. A `+` before a name refines what another file defines. ktx has imported the measures, \
dimensions and joins that it could translate: `sl_read_source` of a table shows them. Write none of those again.";

const PEERS: usize = 200;

/// Returns the units: each model with its files, split if long; each dashboard; and the files that
/// no model includes. Units about another warehouse write pages only.
pub fn units(snapshot: &Snapshot, expected: Option<&str>) -> Vec<Unit> {
    let project = LookmlProject::of(snapshot, expected);
    let views = views(&project);
    let grouper = Grouper {
        snapshot,
        by_name: by_name(&views),
        views,
        elsewhere: elsewhere(&project),
        project: &project,
    };
    let mut keys = BTreeSet::new();
    let mut owners = grouper.owners();
    let mut units = Vec::new();
    for (index, model) in project.models.iter().enumerate() {
        let own = owners.remove(&Some(index)).unwrap_or_default();
        let files = std::iter::once(model.path).chain(own);
        let key = slug("lookml", model.name);
        for part in runs(snapshot, files.map(str::to_owned)) {
            units.push(grouper.unit(free(&mut keys, &key), part, Some(model)));
        }
    }
    let orphans = owners.remove(&None).unwrap_or_default();
    for part in runs(snapshot, orphans.into_iter().map(str::to_owned)) {
        units.push(grouper.unit(free(&mut keys, "lookml-orphans"), part, None));
    }
    let dashboards = project.files.values();
    for file in dashboards.filter(|file| file.kind == FileKind::Dashboard) {
        let name = file.path.rsplit('/').next().unwrap_or(file.path);
        let name = name.split('.').next().unwrap_or(name);
        let key = free(&mut keys, &slug("lookml-dashboard", name));
        units.push(grouper.dashboard(key, file.path, file.text));
    }
    units
}

struct Grouper<'p> {
    snapshot: &'p Snapshot,
    project: &'p LookmlProject<'p>,
    views: Vec<View<'p>>,
    by_name: BTreeMap<&'p str, Vec<usize>>,
    elsewhere: BTreeSet<&'p str>,
}

impl<'p> Grouper<'p> {
    /// Assigns each file to the first model by name that includes it, preferring models about this
    /// warehouse.
    fn owners(&self) -> BTreeMap<Option<usize>, Vec<&'p str>> {
        let mut owners: BTreeMap<Option<usize>, Vec<&str>> = BTreeMap::new();
        for file in self.project.files.values() {
            if file.kind != FileKind::Other {
                continue;
            }
            let models = self.project.models.iter().enumerate();
            let including = models.filter(|(_, model)| model.includes.contains(file.path));
            let owner = including.min_by_key(|(index, model)| (model.mismatch.is_some(), *index));
            let owner = owner.map(|(index, _)| index);
            owners.entry(owner).or_default().push(file.path);
        }
        owners
    }

    fn unit(&self, key: String, files: Vec<String>, model: Option<&LookmlModel<'p>>) -> Unit {
        let is_own = |path: &str| files.iter().any(|own| own == path);
        // Files that define the views come before files that the model merely includes.
        let mut dependencies = Vec::new();
        let included = model.into_iter().flat_map(|model| {
            let includes = model.includes.iter().copied();
            std::iter::once(model.path).chain(includes)
        });
        for path in self.related(&files).into_iter().chain(included) {
            let is_dashboard = self
                .project
                .files
                .get(path)
                .is_some_and(|file| file.kind == FileKind::Dashboard);
            if !is_own(path) && !is_dashboard && !dependencies.iter().any(|known| known == path) {
                dependencies.push(path.to_owned());
            }
        }
        let is_known =
            |path: &&&str| is_own(path) || dependencies.iter().any(|known| known == **path);
        let peers = self.project.files.keys().filter(|path| !is_known(path));
        let mut unit = Unit {
            key,
            label: None,
            note: Some(NOTE),
            writes_sources: !files
                .iter()
                .all(|path| self.elsewhere.contains(path.as_str())),
            peers: peers.take(PEERS).map(|path| (*path).to_owned()).collect(),
            dependencies,
            files,
        };
        shorten(&mut unit, self.snapshot);
        unit
    }

    fn related(&self, files: &[String]) -> Vec<&'p str> {
        let mut found = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let own = self.views.iter();
        let own = own.filter(|view| files.iter().any(|path| path == view.path));
        let mut open: Vec<&str> = own
            .flat_map(|view| view.ancestors().into_iter().chain([view.name]))
            .collect();
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            let named = self.by_name.get(name).into_iter().flatten();
            for view in named.map(|at| &self.views[*at]) {
                found.push(view.path);
                open.extend(view.ancestors());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn dashboard(&self, key: String, path: &str, text: &str) -> Unit {
        let named: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| {
                let line =
                    line.trim_start_matches(|letter: char| letter == '-' || letter.is_whitespace());
                let name = line.strip_prefix("model:")?;
                Some(name.trim().trim_matches(['"', '\'']))
            })
            .collect();
        let models = self.project.models.iter();
        let models: Vec<_> = models.filter(|model| named.contains(model.name)).collect();
        let is_elsewhere = if models.is_empty() {
            self.elsewhere.contains(path)
        } else {
            models.iter().any(|model| model.mismatch.is_some())
        };
        let mut unit = Unit {
            key,
            label: None,
            note: Some(NOTE),
            writes_sources: !is_elsewhere,
            files: vec![path.to_owned()],
            dependencies: models.iter().map(|model| model.path.to_owned()).collect(),
            peers: Vec::new(),
        };
        shorten(&mut unit, self.snapshot);
        unit
    }
}
