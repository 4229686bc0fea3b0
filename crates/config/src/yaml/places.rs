//! Where each key and value of a YAML text is.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ktx_diagnostics::{LineIndex, Location};
use yaml_edit::{Document, Mapping, Sequence, YamlFile, YamlNode};

/// The places of one file, by path: keys, and list positions counted from 0. They are computed on
/// the first query, so a valid file costs nothing.
#[derive(Debug, Clone)]
pub struct Places {
    file: String,
    text: String,
    found: OnceLock<Found>,
}

#[derive(Debug, Clone, Default)]
struct Found {
    places: BTreeMap<Vec<String>, Place>,
    duplicates: Vec<(Vec<String>, usize)>,
}

/// Byte offsets of a key and its value.
#[derive(Debug, Clone, Copy)]
struct Place {
    key: usize,
    value: usize,
}

impl Places {
    /// Returns where the value at `path` is. A value that is not written itself (the content of an
    /// alias, a missing key) has the place of its nearest written ancestor.
    pub fn value(&self, path: &[&str]) -> Location {
        self.find(path, |place| place.value)
    }

    /// Returns where the key of the value at `path` is, by the same rule.
    pub fn key(&self, path: &[&str]) -> Location {
        self.find(path, |place| place.key)
    }

    fn find(&self, path: &[&str], side: fn(&Place) -> usize) -> Location {
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
        let position = LineIndex::new(&self.text).position(offset);
        Location {
            file: self.file.clone(),
            position: Some(position),
        }
    }

    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let mut walk = Walk::default();
            let (tree, _) = YamlFile::from_str_relaxed(&self.text);
            if let Some(document) = tree.documents().next() {
                walk.document(&document);
            }
            walk.found
        })
    }

    pub(super) fn of(text: &str, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            found: OnceLock::new(),
        }
    }

    /// Returns where the second document begins, which is not read; the beginning of the file if
    /// there is none.
    pub(super) fn second_document(&self) -> Location {
        let (tree, _) = YamlFile::from_str_relaxed(&self.text);
        let second = tree
            .documents()
            .nth(1)
            .map(|document| document.byte_range().start as usize);
        self.location(second.unwrap_or_default())
    }

    /// Returns every duplicate key with the place of its later occurrence.
    pub(super) fn duplicates(&self) -> Vec<(String, Location)> {
        let found = self.found().duplicates.iter();
        found
            .map(|(path, offset)| (path.join("."), self.location(*offset)))
            .collect()
    }
}

#[derive(Default)]
struct Walk {
    path: Vec<String>,
    found: Found,
}

impl Walk {
    fn document(&mut self, document: &Document) {
        if let Some(mapping) = document.as_mapping() {
            self.mapping(&mapping);
        } else if let Some(sequence) = document.as_sequence() {
            self.sequence(&sequence);
        }
    }

    fn mapping(&mut self, mapping: &Mapping) {
        for entry in mapping.entries() {
            let Some(key) = entry.key_node() else {
                continue;
            };
            let Some(name) = key.as_scalar().map(yaml_edit::Scalar::as_string) else {
                continue;
            };
            let at = start(&key);
            let value = entry.value_node();
            let place = Place {
                key: at,
                value: value.as_ref().map_or(at, start),
            };
            self.path.push(name);
            if self.found.places.insert(self.path.clone(), place).is_some() {
                self.found.duplicates.push((self.path.clone(), at));
            } else if let Some(value) = value {
                self.node(&value);
            }
            self.path.pop();
        }
    }

    fn sequence(&mut self, sequence: &Sequence) {
        for (index, item) in sequence.values().enumerate() {
            let at = start(&item);
            self.path.push(index.to_string());
            self.found
                .places
                .insert(self.path.clone(), Place { key: at, value: at });
            self.node(&item);
            self.path.pop();
        }
    }

    fn node(&mut self, node: &YamlNode) {
        match node {
            YamlNode::Mapping(mapping) => self.mapping(mapping),
            YamlNode::Sequence(sequence) => self.sequence(sequence),
            YamlNode::TaggedNode(tagged) => {
                if let Some(mapping) = tagged.as_mapping() {
                    self.mapping(&mapping);
                } else if let Some(sequence) = tagged.as_sequence() {
                    self.sequence(&sequence);
                }
            }
            YamlNode::Scalar(_) | YamlNode::Alias(_) => {}
        }
    }
}

fn start(node: &YamlNode) -> usize {
    node.byte_range().start as usize
}
