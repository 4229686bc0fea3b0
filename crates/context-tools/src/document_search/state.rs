//! The files that a search has read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use ktx_search::{Document, Index, Kind, QueryVector, SearchError, Section};
use ktx_tool_descriptors::ToolError;

use super::DocumentFolder;
use super::division::{Part, divided};
use super::listing::{NotSearched, Place, listed};
use super::ranking::{Spot, hits, payload};

pub(super) type ReadFile = Box<dyn Fn(&Path) -> io::Result<Vec<u8>> + Send + Sync>;

pub(super) struct State {
    pub(super) index: Index,
    pub(super) parts: BTreeMap<String, Vec<Part>>,
    without_text: BTreeSet<String>,
    pub(super) not_searched: NotSearched,
}

impl State {
    pub(super) fn new() -> Result<Self, ToolError> {
        Ok(Self {
            index: Index::in_memory().map_err(|error| broken(&error))?,
            parts: BTreeMap::new(),
            without_text: BTreeSet::new(),
            not_searched: NotSearched::default(),
        })
    }

    pub(super) fn part(&self, (file, place): &Spot) -> Option<&Part> {
        self.parts.get(file)?.get(*place)
    }

    /// The next search retries unreadable files.
    pub(super) fn synchronize(
        &mut self,
        folder: &DocumentFolder,
        read: &ReadFile,
    ) -> Result<(), ToolError> {
        let ignored = (folder.ignored)().map_err(|reason| {
            ToolError::new(format!("which files git ignores is not known: {reason}"))
        })?;
        let place = Place {
            project: &folder.project,
            source: &folder.source,
            ignored: &ignored,
        };
        let mut not_searched = NotSearched::default();
        let units = listed(&place, &mut not_searched)?;
        let names: BTreeSet<&str> = units.iter().map(|unit| unit.unit.as_str()).collect();
        self.parts.retain(|file, _| names.contains(file.as_str()));
        self.without_text
            .retain(|file| names.contains(file.as_str()));
        let (parts, without_text) = (&mut self.parts, &mut self.without_text);
        let mut documents = |file: &str| {
            parts.remove(file);
            without_text.remove(file);
            let bytes = match read(&folder.project.join(file)) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
                Err(_) => {
                    not_searched.closed.push(file.to_owned());
                    return None;
                }
            };
            let Ok(text) = String::from_utf8(bytes) else {
                without_text.insert(file.to_owned());
                return Some(Vec::new());
            };
            let divided = divided(&text, folder.division);
            let documents = documents_of(file, &divided);
            parts.insert(file.to_owned(), divided);
            Some(documents)
        };
        let synchronized = self.index.sync(&units, &mut documents);
        synchronized.map_err(|error| broken(&error))?;
        not_searched.without_text = self.without_text.len();
        self.not_searched = not_searched;
        Ok(())
    }

    pub(super) fn hits(
        &self,
        folder: &DocumentFolder,
        query: &str,
        vector: Option<&QueryVector>,
    ) -> Result<Vec<(Spot, f64)>, ToolError> {
        hits(self, folder, query, vector).map_err(|error| broken(&error))
    }
}

pub(super) fn read_file() -> ReadFile {
    Box::new(|path| fs::read(path))
}

fn broken(error: &SearchError) -> ToolError {
    ToolError::new(format!("the documents cannot be searched: {error}"))
}

fn documents_of(file: &str, parts: &[Part]) -> Vec<Document> {
    let document = |(place, part): (usize, &Part)| {
        let section = Section {
            heading: part.headings.clone(),
            body: part.text.clone(),
        };
        Document::new(Kind::Wiki, format!("{file}#{place}"))
            .in_sections([section])
            .carrying(payload(file, place))
    };
    parts.iter().enumerate().map(document).collect()
}
