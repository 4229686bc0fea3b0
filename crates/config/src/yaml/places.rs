//! Places of keys and values in a YAML text.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ktx_diagnostics::{LineStarts, Location};
use ktx_yaml::{Content, Node, second_document, tree};

/// Places by path. List positions count from 0. Computed on the first query, so valid files cost
/// nothing.
#[derive(Debug, Clone)]
pub struct YamlPositions {
    file: String,
    text: String,
    found: OnceLock<PlaceIndex>,
    lines: OnceLock<LineStarts>,
}

#[derive(Debug, Clone, Default)]
struct PlaceIndex {
    places: BTreeMap<Vec<String>, KeyOffsets>,
    duplicates: Vec<(Vec<String>, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct KeyOffsets {
    key: usize,
    value: usize,
}

impl YamlPositions {
    /// Returns the place of a value. A value that is not written, such as the content of an alias,
    /// has the place of its nearest written ancestor.
    pub fn value(&self, path: &[&str]) -> Location {
        self.find(path, |place| place.value)
    }

    /// Returns the place of a key, by the same rule.
    pub fn key(&self, path: &[&str]) -> Location {
        self.find(path, |place| place.key)
    }

    fn find(&self, path: &[&str], side: fn(&KeyOffsets) -> usize) -> Location {
        let mut path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        while !path.is_empty() {
            if let Some(place) = self.found().places.get(&path) {
                return self.location(side(place));
            }
            path.pop();
        }
        self.location(0)
    }

    fn location(&self, offset: usize) -> Location {
        let lines = self.lines.get_or_init(|| LineStarts::of(&self.text));
        let position = lines.position(&self.text, offset);
        Location {
            file: self.file.clone(),
            position: Some(position),
        }
    }

    fn found(&self) -> &PlaceIndex {
        self.found.get_or_init(|| {
            let mut walk = PlaceCollector::default();
            if let Some(root) = tree(&self.text) {
                walk.node(&root);
            }
            walk.found
        })
    }

    pub(super) fn of(text: &str, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            found: OnceLock::new(),
            lines: OnceLock::new(),
        }
    }

    /// Returns the start of the second document, or of the file without one.
    pub(super) fn second_document(&self) -> Location {
        self.location(second_document(&self.text).unwrap_or_default())
    }

    #[cfg(test)]
    pub(super) fn has(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.found().places.contains_key(&path)
    }

    /// Returns duplicate keys at their later occurrences.
    pub(super) fn duplicates(&self) -> Vec<(String, Location)> {
        let found = self.found().duplicates.iter();
        found
            .map(|(path, offset)| (path.join("."), self.location(*offset)))
            .collect()
    }
}

#[derive(Default)]
struct PlaceCollector {
    path: Vec<String>,
    found: PlaceIndex,
}

impl PlaceCollector {
    fn node(&mut self, node: &Node) {
        match &node.content {
            Content::Scalar => {}
            Content::Mapping { entries, .. } => {
                for entry in entries {
                    let Some(name) = &entry.name else {
                        continue;
                    };
                    let key = entry.key.start;
                    let value = entry.value.as_ref();
                    let place = KeyOffsets {
                        key,
                        value: value.map_or(key, |value| value.range.start),
                    };
                    self.path.push(name.clone());
                    if self.found.places.insert(self.path.clone(), place).is_some() {
                        self.found.duplicates.push((self.path.clone(), key));
                    } else if let Some(value) = value {
                        self.node(value);
                    }
                    self.path.pop();
                }
            }
            Content::Sequence { items, .. } => {
                for (index, item) in items.iter().enumerate() {
                    let at = item.range.start;
                    self.path.push(index.to_string());
                    self.found
                        .places
                        .insert(self.path.clone(), KeyOffsets { key: at, value: at });
                    self.node(item);
                    self.path.pop();
                }
            }
        }
    }
}
