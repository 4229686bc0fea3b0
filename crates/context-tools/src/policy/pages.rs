//! Which wiki pages a client sees: none that name a hidden table or column.

use std::collections::BTreeSet;

use ktx_semantic_layer::Catalog;
use ktx_wiki::Page;
use sha2::{Digest as _, Sha256};

use super::{ClientPolicy, TableRules};
use crate::scans::ScanSnapshot;

/// Hidden names of one connection, in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HiddenNames {
    tables: BTreeSet<String>,
    columns: BTreeSet<(String, String)>,
}

impl HiddenNames {
    pub(crate) fn stamp(&self) -> String {
        let digest = Sha256::digest(format!("{self:?}").as_bytes());
        format!("{digest:?}")
    }

    pub(crate) fn of(
        rules: &TableRules,
        scan: Option<&ScanSnapshot>,
        whole: &Catalog,
        shown: &Catalog,
    ) -> Self {
        let mut names = Self::default();
        let tables = scan.map(|scan| scan.tables.as_slice()).unwrap_or_default();
        let lowered = str::to_lowercase;
        for table in tables {
            let own = lowered(&table.table.name);
            if rules.hides_table(&table.table) {
                names.tables.insert(own);
                continue;
            }
            for column in &table.columns {
                if rules.hides_column(&table.table, &column.name)
                    || rules.mask(&table.table, &column.name).is_some()
                {
                    names.columns.insert((own.clone(), lowered(&column.name)));
                }
            }
        }
        for source in whole.sources() {
            let own = lowered(&source.name);
            let Some(seen) = shown.source(&source.name) else {
                names.tables.insert(own);
                continue;
            };
            for column in &source.columns {
                if !seen.columns.iter().any(|other| other.name == column.name) {
                    names.columns.insert((own.clone(), lowered(&column.name)));
                }
            }
        }
        names
    }

    fn are_in(&self, text: &str) -> bool {
        if self.tables.is_empty() && self.columns.is_empty() {
            return false;
        }
        let text = text.to_lowercase();
        let mut parts = text.split('`').enumerate();
        parts.any(|(number, part)| {
            let kind = if number % 2 == 0 {
                PartOfText::Prose
            } else {
                PartOfText::Code
            };
            self.are_among(part, kind)
        })
    }

    fn are_among(&self, text: &str, kind: PartOfText) -> bool {
        let is_part = |letter: char| letter.is_alphanumeric() || "_$.".contains(letter);
        text.split(|letter| !is_part(letter)).any(|word| {
            let parts: Vec<&str> = word.split('.').filter(|part| !part.is_empty()).collect();
            let names_table = parts.iter().any(|part| self.tables.contains(*part));
            let names_column = parts.windows(2).any(|pair| match pair {
                [table, column] => self
                    .columns
                    .contains(&((*table).to_owned(), (*column).to_owned())),
                _ => false,
            });
            // A bare column must not be an ordinary word.
            let alone = |part: &&str| self.columns.iter().any(|(_, column)| column == part);
            let is_name = kind == PartOfText::Code || word.contains('_');
            names_table || names_column || (is_name && parts.iter().any(alone))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOfText {
    Prose,
    Code,
}

impl ClientPolicy {
    pub(crate) fn hides_page(&self, page: &Page, hidden: &[&HiddenNames]) -> bool {
        let key = page.key().to_string();
        self.hides_key(&key)
            || hidden
                .iter()
                .any(|names| names.are_in(page.text()) || names.are_in(&key))
    }

    pub(crate) fn hides_key(&self, key: &str) -> bool {
        self.pages
            .iter()
            .any(|pattern| pattern.fits(std::iter::once(key)))
    }
}
