//! One page: its path, its front matter, its body.

use std::collections::BTreeMap;

use ktx_diagnostics::Diagnostic;
use ktx_vocabulary::WikiKey;

use crate::front_matter::{self, FrontMatter, FrontMatterLayout, layout};
use crate::links::{CodeReference, Link, code_references, links};
use crate::markdown::{Heading, headings};
use crate::path::{PagePath, Scope, UserId};

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub path: PagePath,
    pub front_matter: FrontMatter,
    text: String,
    body: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPage {
    /// Its front matter is empty if it could not be parsed.
    pub page: Page,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSection<'p> {
    /// Outermost first, without the title of the page.
    pub headings: Vec<&'p str>,
    pub text: &'p str,
}

/// A page with broken front matter can still be listed and searched.
pub fn parse(path: PagePath, text: &str) -> ParsedPage {
    let (front_matter, diagnostics) = front_matter::read(text, &path.to_string());
    let start = match layout(text) {
        FrontMatterLayout::With { body, .. } | FrontMatterLayout::Without { body } => body,
        FrontMatterLayout::Unterminated => 0,
    };
    let body = start + blank_lines(text.get(start..).unwrap_or_default());
    let page = Page {
        path,
        front_matter,
        text: text.to_owned(),
        body,
    };
    ParsedPage { page, diagnostics }
}

impl Page {
    pub fn key(&self) -> &WikiKey {
        &self.path.key
    }

    pub fn scope(&self) -> &Scope {
        &self.path.scope
    }

    pub fn summary(&self) -> &str {
        self.front_matter.summary.as_deref().unwrap_or_default()
    }

    pub fn body(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset in the page text.
    pub fn item_offset(&self, field: &str, item: &str) -> Option<usize> {
        let FrontMatterLayout::With { yaml, .. } = layout(&self.text) else {
            return None;
        };
        let start = yaml.start;
        let offset = front_matter::item_offset(self.text.get(yaml)?, field, item)?;
        Some(start + offset)
    }

    pub fn title(&self) -> Option<&str> {
        self.body().lines().find_map(|line| {
            let title = line.trim_start_matches('#');
            (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
        })
    }

    /// Returns the nonempty parts of the body, in order. A first heading of level one is the title
    /// of the page, not a part.
    pub fn sections(&self) -> Vec<PageSection<'_>> {
        let body = self.body();
        let found = headings(body);
        let start = found.first().map_or(body.len(), |first| first.line.start);
        let mut sections = vec![PageSection {
            headings: Vec::new(),
            text: body.get(..start).unwrap_or_default(),
        }];
        let mut above: Vec<&Heading<'_>> = Vec::new();
        for (index, heading) in found.iter().enumerate() {
            above.retain(|one| one.level < heading.level);
            if index > 0 || heading.level > 1 {
                above.push(heading);
            }
            let end = found
                .get(index + 1)
                .map_or(body.len(), |next| next.line.start);
            sections.push(PageSection {
                headings: above.iter().map(|one| one.title).collect(),
                text: body.get(heading.line.end..end).unwrap_or_default(),
            });
        }
        sections.retain(|section| !section.text.trim().is_empty() || !section.headings.is_empty());
        for section in &mut sections {
            section.text = section.text.trim();
        }
        sections
    }

    /// Spans are relative to the body.
    pub fn links(&self) -> Vec<Link> {
        links(self.body())
    }

    /// Spans are relative to the body.
    pub fn code_references(&self) -> Vec<CodeReference> {
        code_references(self.body())
    }
}

/// Returns one page per key, ordered by key: the user's own pages shadow global ones.
pub fn visible_to(pages: impl IntoIterator<Item = Page>, user: &UserId) -> Vec<Page> {
    let mut seen: BTreeMap<WikiKey, Page> = BTreeMap::new();
    for page in pages {
        match page.scope() {
            Scope::User(owner) if owner == user => {
                seen.insert(page.key().clone(), page);
            }
            Scope::User(_) => {}
            Scope::Global => {
                seen.entry(page.key().clone()).or_insert(page);
            }
        }
    }
    seen.into_values().collect()
}

fn blank_lines(text: &str) -> usize {
    let blank = |line: &&str| line.trim().is_empty();
    text.split_inclusive('\n')
        .take_while(blank)
        .map(str::len)
        .sum()
}

#[cfg(test)]
mod tests;
