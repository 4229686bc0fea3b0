//! Maps the lines of a YAML block to top-level keys.

use std::ops::Range;

use ktx_yaml::{Content, Style, scalar_text, tree};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldEntry {
    pub(crate) name: String,
    /// Whole lines from the key to the last line of the value.
    pub(crate) range: Range<usize>,
    pub(crate) value: usize,
}

/// Comments and blank lines between two entries belong to neither.
pub(crate) fn entries(yaml: &str) -> Vec<FieldEntry> {
    let root = tree(yaml).map(|root| root.content);
    let Some(Content::Mapping {
        style: Style::Block,
        entries,
    }) = root
    else {
        return Vec::new();
    };
    let entry = |entry: ktx_yaml::Entry| {
        let (_, rest) = yaml.split_at_checked(entry.key.end)?;
        let colon = entry.key.end + rest.find(':')? + 1;
        let end = entry.value.map_or(colon, |value| value.range.end);
        let before = yaml.get(..entry.key.start)?.rfind('\n');
        let after = yaml.get(end..)?.find('\n');
        Some(FieldEntry {
            name: entry.name?,
            range: before.map_or(0, |at| at + 1)..after.map_or(yaml.len(), |at| end + at + 1),
            value: colon,
        })
    };
    entries.into_iter().filter_map(entry).collect()
}

pub(crate) fn item_offset(yaml: &str, field: &str, item: &str) -> Option<usize> {
    let Content::Mapping { entries, .. } = tree(yaml)?.content else {
        return None;
    };
    let mut fields = entries.into_iter();
    let entry = fields.find(|entry| entry.name.as_deref() == Some(field))?;
    let value = entry.value?;
    let items = match &value.content {
        Content::Sequence { items, .. } => items.as_slice(),
        Content::Scalar | Content::Mapping { .. } => std::slice::from_ref(&value),
    };
    let mut items = items.iter();
    let node = items.find(|node| scalar_text(yaml, node).as_deref() == Some(item))?;
    Some(node.range.start)
}
