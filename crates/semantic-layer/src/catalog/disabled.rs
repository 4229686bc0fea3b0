//! Scanned joins that an overlay disables. Both tables have an entry of the join; one overlay
//! removes both.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::authored::{Join, Overlay};
use crate::model::composed::{Composed, Condition, sides};

pub(super) struct Disabled {
    source: String,
    path: String,
    on: String,
    condition: Condition,
    /// True if the source has the join.
    is_known: bool,
}

#[derive(Default)]
pub(super) struct ByOverlays {
    disabled: Vec<Disabled>,
    written: BTreeSet<(String, String, Condition)>,
}

impl ByOverlays {
    pub(super) fn note(&mut self, base: &Composed, overlay: &Overlay, path: &str) {
        self.disabled.extend(disabled(base, overlay, path));
        let name = &base.source.name;
        let written = overlay.joins.iter();
        self.written
            .extend(written.map(|join| (name.clone(), join.to.clone(), sides(&join.on))));
    }
    /// Removes the joins from the sources at their other ends. Returns messages with the overlay's
    /// file.
    pub(super) fn leave_out(&self, all: &mut BTreeMap<String, Composed>) -> Vec<(String, String)> {
        let mut told = Vec::new();
        for one in &self.disabled {
            let mut is_known = one.is_known;
            for (name, other) in all.iter_mut().filter(|(name, _)| **name != one.source) {
                let path = &other.path;
                other.source.joins.retain(|join| {
                    if join.to != one.source || sides(&join.on) != one.condition {
                        return true;
                    }
                    is_known = true;
                    let is_by_hand = join.source.is_none() || self.is_written(name, join);
                    if is_by_hand {
                        let message = format!(
                            "`disable_joins` names `{}`, and `{name}` declares that join in `{path}`: it stays",
                            one.on
                        );
                        told.push((one.path.clone(), message));
                    }
                    is_by_hand
                });
            }
            if !is_known {
                let message = format!(
                    "`disable_joins` names `{}`, which is not a scanned join of `{}`",
                    one.on, one.source
                );
                told.push((one.path.clone(), message));
            }
        }
        told
    }

    fn is_written(&self, source: &str, join: &Join) -> bool {
        let key = (source.to_owned(), join.to.clone(), sides(&join.on));
        self.written.contains(&key)
    }
}

fn disabled(base: &Composed, overlay: &Overlay, path: &str) -> Vec<Disabled> {
    let disabled = |on: &String| {
        let condition = sides(on);
        let mut joins = base.source.joins.iter();
        Disabled {
            source: base.source.name.clone(),
            path: path.to_owned(),
            on: on.clone(),
            is_known: joins.any(|join| sides(&join.on) == condition),
            condition,
        }
    };
    overlay.disable_joins.iter().map(disabled).collect()
}
