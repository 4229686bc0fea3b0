//! Dependencies between definitions: without a part, its dependents must not use another definition
//! of the same name.

use std::collections::BTreeSet;

use ktx_context_sources::{
    DefinitionKind, Fragment, MeasureDefinition, MeasureFormula, Model, Sql, WhyLeft,
};

use super::convert::Converter;
use super::write::{ImportEntry, Item};
use super::{ImportReport, Imports, leave};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DefinitionId {
    model: String,
    kind: DefinitionKind,
    /// In lower case.
    name: String,
}

impl Default for DefinitionId {
    fn default() -> Self {
        Self::new("", DefinitionKind::Join, "")
    }
}

impl DefinitionId {
    pub(super) fn new(model: &str, kind: DefinitionKind, name: &str) -> Self {
        Self {
            model: model.to_owned(),
            kind,
            name: name.to_lowercase(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Added,
    Left,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    added: BTreeSet<DefinitionId>,
    left: BTreeSet<DefinitionId>,
}

impl Names {
    pub(super) fn note(&mut self, id: DefinitionId, fate: Fate) {
        match fate {
            Fate::Added => self.added.insert(id),
            Fate::Left => self.left.insert(id),
        };
    }

    pub(super) fn leave_dependents(
        mut self,
        imports: &mut Imports,
        converter: &Converter<'_>,
        report: &mut ImportReport,
    ) {
        loop {
            let mut wrong: Vec<ImportEntry> = Vec::new();
            let names = named(imports);
            for import in imports.values_mut() {
                let entries = std::mem::take(&mut import.entries);
                let (left, sound): (Vec<_>, Vec<_>) = entries
                    .into_iter()
                    .partition(|entry| self.wrong_need(entry, converter, &names).is_some());
                import.entries = sound;
                wrong.extend(left);
            }
            if wrong.is_empty() {
                return;
            }
            for entry in wrong {
                let need = self.wrong_need(&entry, converter, &names);
                let need = need.map(|need| need.name.clone()).unwrap_or_default();
                let reason = format!("it is built on `{need}`, whose name another definition has");
                leave(&entry, WhyLeft::Taken, reason, report);
                self.left.insert(entry.id);
            }
        }
    }

    fn wrong_need<'e>(
        &self,
        entry: &'e ImportEntry,
        converter: &Converter<'_>,
        names: &BTreeSet<DefinitionId>,
    ) -> Option<&'e DefinitionId> {
        let mut needs = entry.needs.iter();
        needs.find(|need| {
            let is_known = self.added.contains(need) && !self.left.contains(need);
            let is_column = need.kind == DefinitionKind::Column;
            // Columns of the table are not definitions.
            if is_known || (is_column && !self.left.contains(need)) {
                return false;
            }
            let Some(table) = converter.tables.get(need.model.as_str()) else {
                return false;
            };
            names.contains(&DefinitionId {
                model: (*table).to_owned(),
                ..(*need).clone()
            }) || is_in_layer(converter, table, need)
        })
    }
}

fn named(imports: &Imports) -> BTreeSet<DefinitionId> {
    let mut names = BTreeSet::new();
    for import in imports.values() {
        for entry in &import.entries {
            if !matches!(entry.item, Item::Known) {
                names.insert(DefinitionId::new(import.table(), entry.kind, &entry.name));
            }
        }
    }
    names
}

fn is_in_layer(converter: &Converter<'_>, table: &str, id: &DefinitionId) -> bool {
    let Some(source) = converter.catalog.source(table) else {
        return false;
    };
    let is_it = |name: &str| name.to_lowercase() == id.name;
    match id.kind {
        DefinitionKind::Measure => source.measures.iter().any(|one| is_it(&one.name)),
        DefinitionKind::Column => source.columns.iter().any(|one| is_it(&one.name)),
        _ => false,
    }
}

pub(super) fn parts(measure: &MeasureDefinition) -> Vec<&Sql> {
    let mut parts: Vec<&Sql> = match &measure.formula {
        MeasureFormula::Expression(sql) => vec![sql],
        MeasureFormula::Snapshot { expression, .. } => vec![expression],
        MeasureFormula::Ratio {
            numerator,
            denominator,
        } => vec![numerator, denominator],
        MeasureFormula::Cumulative { measure, .. } | MeasureFormula::Earlier { measure, .. } => {
            vec![measure]
        }
    };
    parts.extend(&measure.filters);
    parts
}

pub(super) fn needs<'s>(
    model: &Model,
    parts: impl IntoIterator<Item = &'s Sql>,
) -> BTreeSet<DefinitionId> {
    let own = &model.name;
    let fragments = parts.into_iter().flat_map(|sql| &sql.0);
    let named = fragments.filter_map(|fragment| match fragment {
        Fragment::Text(_) => None,
        Fragment::Column { model, name } => Some((model, DefinitionKind::Column, name)),
        Fragment::Measure { model, name } => Some((model, DefinitionKind::Measure, name)),
    });
    named
        .map(|(model, kind, name)| DefinitionId::new(model.as_ref().unwrap_or(own), kind, name))
        .collect()
}
