//! Finds sources by column or measure, for names without a source.

use std::collections::BTreeMap;

use crate::model::resolved::Source;

#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    columns: BTreeMap<String, Vec<usize>>,
    measures: BTreeMap<String, Vec<usize>>,
}

impl Members {
    pub(super) fn of(sources: &[Source]) -> Self {
        let mut members = Self::default();
        for (place, source) in sources.iter().enumerate() {
            for column in &source.columns {
                note(&mut members.columns, &column.name, place);
            }
            for measure in &source.measures {
                note(&mut members.measures, &measure.name, place);
            }
        }
        members
    }

    pub(crate) fn columns(&self, name: &str) -> &[usize] {
        places(&self.columns, name)
    }

    pub(crate) fn measures(&self, name: &str) -> &[usize] {
        places(&self.measures, name)
    }
}

fn note(all: &mut BTreeMap<String, Vec<usize>>, name: &str, place: usize) {
    let places = all.entry(name.to_ascii_lowercase()).or_default();
    if places.last() != Some(&place) {
        places.push(place);
    }
}

fn places<'a>(all: &'a BTreeMap<String, Vec<usize>>, name: &str) -> &'a [usize] {
    all.get(&name.to_ascii_lowercase())
        .map_or(&[], Vec::as_slice)
}
