//! Finds lines of pages, sources and their parts.

use std::ops::Range;
use std::path::Path;

use ktx_diagnostics::Failure;
use ktx_project_store::{Layout, ProjectPath, list, read_optional};
use ktx_vocabulary::{ConnectionId, WikiKey};
use ktx_yaml::{Content, Node, scalar_text, tree};

use crate::report::{Outcome, Report as _};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRange {
    pub(super) file: ProjectPath,
    /// 1-based, end excluded.
    pub(super) lines: Range<usize>,
    pub(super) length: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
}

impl<'a> Subject<'a> {
    pub(super) fn part(self) -> Option<(&'a str, &'a str)> {
        self.name.split_once('.').filter(|_| !self.is_file())
    }

    /// Accepts page paths.
    pub(super) fn page(self) -> &'a str {
        let name = self.name.strip_suffix(".md").unwrap_or(self.name);
        let name = name.strip_prefix("wiki/").unwrap_or(name);
        name.strip_prefix("global/").unwrap_or(name)
    }

    fn is_file(self) -> bool {
        let ending = Path::new(self.name).extension();
        ending.is_some_and(|ending| ending == "md")
    }
}

pub(super) fn page(subject: Subject<'_>, layout: &Layout) -> Outcome<Option<FileRange>> {
    let Ok(key) = WikiKey::parse(subject.page()) else {
        return Ok(None);
    };
    let path = layout.wiki_page(&key);
    let Some(bytes) = read_optional(&path)? else {
        return Ok(None);
    };
    let length = String::from_utf8_lossy(&bytes).lines().count();
    Ok(Some(FileRange {
        file: inside(layout, &path)?,
        lines: 1..length + 1,
        length,
    }))
}

pub(super) fn source(
    subject: Subject<'_>,
    warehouse: &ConnectionId,
    layout: &Layout,
    names: &mut Vec<String>,
) -> Outcome<Vec<FileRange>> {
    let mut places = Vec::new();
    for path in list(&layout.sources(warehouse))? {
        let is_yaml = path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml");
        let Some(bytes) = read_optional(&path)?.filter(|_| is_yaml) else {
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let Some(root) = tree(&text) else {
            continue;
        };
        let file = inside(layout, &path)?;
        for (name, node) in sources(&text, &root) {
            let (wanted, part) = match subject.part() {
                Some((source, part)) => (source, Some(part)),
                None => (subject.name, None),
            };
            if name == wanted {
                let ranges = match part {
                    None => vec![node.range.clone()],
                    Some(part) => parts(&text, node, part, &name, names),
                };
                places.extend(ranges.into_iter().map(|range| FileRange {
                    file: file.clone(),
                    lines: lines(&text, &range),
                    length: text.lines().count(),
                }));
            }
            names.push(name);
        }
    }
    Ok(places)
}

/// A source or the tables of a shard.
fn sources<'n>(text: &str, root: &'n Node) -> Vec<(String, &'n Node)> {
    if let Some(name) = child(root, "name").and_then(|name| scalar_text(text, name)) {
        return vec![(name, root)];
    }
    let tables = child(root, "tables").map(|tables| &tables.content);
    let Some(Content::Mapping { entries, .. }) = tables else {
        return Vec::new();
    };
    entries
        .iter()
        .filter_map(|entry| Some((entry.name.clone()?, entry.value.as_ref()?)))
        .collect()
}

fn parts(
    text: &str,
    source: &Node,
    wanted: &str,
    owner: &str,
    names: &mut Vec<String>,
) -> Vec<Range<usize>> {
    let Content::Mapping { entries, .. } = &source.content else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let lists = entries.iter().filter_map(|entry| entry.value.as_ref());
    for list in lists {
        let Content::Sequence { items, .. } = &list.content else {
            continue;
        };
        for item in items {
            let fields = ["name", "alias", "to"].into_iter();
            let mut known = fields
                .filter_map(|field| scalar_text(text, child(item, field)?))
                .peekable();
            names.extend(known.peek().map(|name| format!("{owner}.{name}")));
            if known.any(|name| name == wanted) {
                found.push(item.range.clone());
            }
        }
    }
    found
}

fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Content::Mapping { entries, .. } = &node.content else {
        return None;
    };
    let mut entries = entries.iter();
    let entry = entries.find(|entry| entry.name.as_deref() == Some(name))?;
    entry.value.as_ref()
}

fn lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let count = |end: usize| text.get(..end).unwrap_or_default().matches('\n').count();
    let written = text.get(range.clone()).unwrap_or_default().trim_end();
    let first = count(range.start) + 1;
    first..first + written.matches('\n').count() + 1
}

fn inside(layout: &Layout, path: &Path) -> Outcome<ProjectPath> {
    ProjectPath::inside(layout.root(), path)
        .map_err(|error| Failure::from_error(ktx_diagnostics::Code::Internal, &error))
}
