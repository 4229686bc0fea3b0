//! Scanned joins that an overlay disables, at both tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::authored::{Join, Overlay};
use crate::model::composed::{Composed, Condition, Element, sides};

pub(super) struct Disabled {
    source: String,
    path: String,
    on: String,
    condition: Condition,
    is_known: bool,
    element: Element,
}

pub(super) struct Told {
    pub(super) path: String,
    pub(super) message: String,
    pub(super) element: Option<Element>,
}

#[derive(Default)]
pub(super) struct ByOverlays {
    disabled: Vec<Disabled>,
    written: BTreeSet<(String, String, Condition)>,
}

impl ByOverlays {
    pub(super) fn note(&mut self, base: &Composed, overlay: &Overlay, joins: &[Join], path: &str) {
        self.disabled.extend(disabled(base, overlay, path));
        let name = &base.source.name;
        let written = joins.iter();
        self.written
            .extend(written.map(|join| (name.clone(), join.to.clone(), sides(&join.on))));
    }

    pub(super) fn note_excluded(&mut self, source: &str, join: &Join, path: &str) {
        self.disabled.push(Disabled {
            source: source.to_owned(),
            path: path.to_owned(),
            on: join.on.clone(),
            condition: sides(&join.on),
            is_known: true,
            element: Element {
                key: "joins",
                at: None,
            },
        });
    }

    /// Removes the joins at their other ends.
    pub(super) fn leave_out(&self, all: &mut BTreeMap<String, Composed>) -> Vec<Told> {
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
                            "`{}` names `{}`, and `{name}` declares that join in `{path}`: it stays",
                            one.element.key, one.on
                        );
                        told.push(Told {
                            path: one.path.clone(),
                            message,
                            element: None,
                        });
                    }
                    is_by_hand
                });
            }
            if !is_known {
                let message = format!(
                    "`disable_joins` names `{}`, which is not a scanned join of `{}`",
                    one.on, one.source
                );
                told.push(Told {
                    path: one.path.clone(),
                    message,
                    element: Some(one.element),
                });
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
    let disabled = |(at, on): (usize, &String)| {
        let condition = sides(on);
        let mut joins = base.source.joins.iter();
        Disabled {
            source: base.source.name.clone(),
            path: path.to_owned(),
            on: on.clone(),
            is_known: joins.any(|join| sides(&join.on) == condition),
            condition,
            element: Element::entry("disable_joins", at),
        }
    };
    let all = overlay.disable_joins.iter().enumerate();
    all.map(disabled).collect()
}
