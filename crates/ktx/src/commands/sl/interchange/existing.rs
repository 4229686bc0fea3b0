//! Files before an import. The name in a file identifies its source; a path with another source is
//! occupied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure};
use ktx_semantic_layer::{Catalog, SourceFile, SourceSummary, validate};
use ktx_semantic_tools::{Imported, Loss, replace_source};
use ktx_vocabulary::ConnectionId;

use crate::cli::SlImportArgs;
use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

pub(super) struct ExistingSources {
    pub(super) id: ConnectionId,
    folder: PathBuf,
    files: Vec<SourceFile>,
    by_name: BTreeMap<String, Vec<String>>,
}

pub(super) struct ImportPlan {
    pub(super) fresh: Vec<Fresh>,
    pub(super) there: Vec<String>,
    pub(super) losses: Vec<Loss>,
}

pub(super) struct Fresh {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) text: String,
}

impl ExistingSources {
    pub(super) fn read(
        id: &ConnectionId,
        project: &OpenProject,
        catalog: &Catalog,
    ) -> Outcome<Self> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| Failure::from_error(Code::Output, error);
        let folder = project.store.layout().sources(id);
        let walked =
            ktx_project_store::walk(&project.dir, &folder).map_err(|error| failed(&error))?;
        let mut files = Vec::new();
        for file in walked.files {
            if !file.path.starts_with("_review/") {
                let bytes = ktx_project_store::read_optional(&file.place)
                    .map_err(|error| failed(&error))?;
                files.extend(bytes.map(|bytes| SourceFile::new(file.path, bytes)));
            }
        }
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for summary in catalog.list() {
            if says_its_name(&summary, catalog) {
                by_name.entry(summary.name).or_default().push(summary.path);
            }
        }
        Ok(Self {
            id: id.clone(),
            folder,
            files,
            by_name,
        })
    }

    pub(super) fn in_project(&self, path: &str) -> String {
        format!("semantic-layer/{}/{path}", self.id)
    }

    pub(super) fn plan(&self, imported: &Imported, args: &SlImportArgs) -> ImportPlan {
        let mut plan = ImportPlan {
            fresh: Vec::new(),
            there: Vec::new(),
            losses: imported.losses.clone(),
        };
        let mut claimed = BTreeSet::new();
        for source in &imported.sources {
            let its = self.by_name.get(&source.name).map(Vec::as_slice);
            let path = match its.unwrap_or_default() {
                [] => self.free(&source.path, &claimed),
                [only] if args.replace => only.clone(),
                _ => {
                    plan.there.push(source.name.clone());
                    continue;
                }
            };
            // Case-insensitive file systems have one file for both spellings.
            claimed.insert(path.to_lowercase());
            let text = match self.text(&path) {
                Some(old) => {
                    let replaced = replace_source(old, &source.text, &self.in_project(&path));
                    plan.losses.extend(replaced.losses);
                    replaced.text
                }
                None => source.text.clone(),
            };
            plan.fresh.push(Fresh {
                path,
                name: source.name.clone(),
                text,
            });
        }
        plan
    }

    fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == path)?;
        std::str::from_utf8(&file.bytes).ok()
    }

    fn free(&self, path: &str, claimed: &BTreeSet<String>) -> String {
        let is_free = |path: &str| {
            !claimed.contains(&path.to_lowercase())
                && std::fs::symlink_metadata(self.folder.join(path)).is_err()
        };
        let (stem, extension) = path.rsplit_once('.').unwrap_or((path, "yaml"));
        let numbered = (2_usize..).map(|number| format!("{stem}-{number}.{extension}"));
        let mut paths = std::iter::once(path.to_owned()).chain(numbered);
        paths
            .find(|path| is_free(path))
            .unwrap_or_else(|| path.to_owned())
    }

    pub(super) fn check(&self, plan: &ImportPlan, catalog: &Catalog) -> Vec<String> {
        let fresh = plan.fresh.iter();
        let written: BTreeMap<&str, &Fresh> =
            fresh.map(|fresh| (fresh.path.as_str(), fresh)).collect();
        let kept = self.files.iter();
        let mut files: Vec<SourceFile> = kept
            .filter(|file| !written.contains_key(file.path.as_str()))
            .cloned()
            .collect();
        let fresh = written.iter();
        files.extend(fresh.map(|(path, source)| SourceFile::new(*path, source.text.as_str())));
        let names: BTreeSet<&str> = written
            .values()
            .map(|source| source.name.as_str())
            .collect();
        let report = validate(&Catalog::load(files, catalog.dialect()), &[]);
        let concerns = |path: &str, source: Option<&str>| match source {
            Some(source) => names.contains(source),
            None => written.contains_key(path),
        };
        report
            .errors
            .iter()
            .filter_map(|found| {
                let path = found.path.as_deref().unwrap_or_default();
                let file = path.split(':').next().unwrap_or_default();
                concerns(file, found.source.as_deref())
                    .then(|| format!("{path}: {}: {}", found.kind.as_str(), found.message))
            })
            .collect()
    }
}

/// The listing of an unreadable file can contain only its file name.
fn says_its_name(summary: &SourceSummary, catalog: &Catalog) -> bool {
    if summary.path.contains('#') {
        return false;
    }
    let text = catalog.file_text(&summary.path).unwrap_or_default();
    let is_written = |line: &str| {
        let value = line.strip_prefix("name:").map(str::trim);
        value.is_some_and(|value| value.trim_matches(['"', '\'']) == summary.name)
    };
    summary.origin.is_some() || text.lines().any(is_written)
}
