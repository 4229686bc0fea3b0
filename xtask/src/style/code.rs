//! Figures over code: lengths, parameters, names, comments.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::{Figure, percent, percentile, product};
use crate::audit::source::{Purpose, Source};
use crate::repository::TextFile;

#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    files: Vec<usize>,
    functions: Vec<(usize, String)>,
    test_lines: usize,
    tuples: Vec<String>,
    flags: Vec<String>,
    types: BTreeMap<String, Vec<String>>,
    comment_words: usize,
    short_docs: usize,
    allows: usize,
    expects: usize,
    unreadable: Vec<String>,
}

impl Code {
    /// Lists and skips invalid Rust.
    pub(crate) fn read(files: &[TextFile]) -> Self {
        let mut code = Self::default();
        for source in product(files) {
            match source.purpose() {
                Purpose::Product => code.add(&source),
                Purpose::Test => code.test_lines += filled_lines(&source.text),
                Purpose::Chore => {}
            }
        }
        code.files.sort_unstable();
        code.functions.sort();
        code
    }

    fn add(&mut self, source: &Source) {
        let shipped = source.shipped_lines();
        self.files.push(shipped);
        self.test_lines += source.text.lines().count().saturating_sub(shipped);
        let Ok(tree) = syn::parse_file(&source.text) else {
            self.unreadable.push(source.path.clone());
            return;
        };
        self.add_comments(&source.text);
        for function in source.functions() {
            let place = format!("{}:{} {}", source.path, function.line, function.name);
            self.functions.push((function.lines, place));
        }
        let mut visitor = Visitor {
            path: &source.path,
            code: self,
        };
        visitor.visit_file(&tree);
    }

    fn add_comments(&mut self, text: &str) {
        for line in text.lines().map(str::trim_start) {
            let Some(comment) = line.strip_prefix("//") else {
                continue;
            };
            let is_doc = comment.starts_with(['/', '!']);
            let words = comment
                .trim_start_matches(['/', '!'])
                .split_whitespace()
                .count();
            self.comment_words += words;
            self.short_docs += usize::from(is_doc && (1..=4).contains(&words));
        }
    }

    pub(crate) fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let lengths: Vec<usize> = self.functions.iter().map(|(lines, _)| *lines).collect();
        let source: usize = self.files.iter().sum();
        let over = |sizes: &[usize], limit: usize| {
            percent(
                sizes.iter().filter(|size| **size > limit).count(),
                sizes.len(),
            )
        };
        let figure = |name, anchor, target, ours| Figure {
            name,
            anchor,
            target,
            ours,
        };
        vec![
            figure("source lines", "-", "-", source.to_string()),
            figure(
                "test lines per 100 source lines",
                "189 (cargo)",
                ">= 100",
                (self.test_lines * 100)
                    .checked_div(source)
                    .unwrap_or_default()
                    .to_string(),
            ),
            figure(
                "file length p50 / p90 / max",
                "116 / 450 / 1424",
                "<= 200 / 450 / 800",
                triple(&self.files, 90),
            ),
            figure(
                "files over 500 / 800 lines, %",
                "7.9 / 3.8 (nushell)",
                "<= 6 / 0",
                format!("{} / {}", over(&self.files, 500), over(&self.files, 800)),
            ),
            figure(
                "function length p50 / p99 / max",
                "4 / 70 / 220 (ripgrep)",
                "<= 10 / 90 / 150",
                triple(&lengths, 99),
            ),
            figure(
                "functions over 100 lines, %",
                "0.25 (ripgrep)",
                "<= 0.3",
                over(&lengths, 100),
            ),
            figure(
                "tuples as parameters",
                "-",
                "0",
                self.tuples.len().to_string(),
            ),
            figure(
                "`bool` as parameters",
                "-",
                "0",
                self.flags.len().to_string(),
            ),
            figure(
                "type names with three meanings or more",
                "-",
                "<= 25",
                self.homonyms().len().to_string(),
            ),
            figure(
                "words of comments",
                "-",
                "<= 60000",
                self.comment_words.to_string(),
            ),
            figure(
                "doc lines of four words or fewer",
                "-",
                "0",
                self.short_docs.to_string(),
            ),
            figure(
                "`#[allow]` / `#[expect]`",
                "3 / 86 (jj)",
                "0 / few",
                format!("{} / {}", self.allows, self.expects),
            ),
        ]
    }

    /// At least three definitions, most frequent first.
    fn homonyms(&self) -> Vec<(&String, &Vec<String>)> {
        let mut found: Vec<_> = self.types.iter().filter(|(_, at)| at.len() >= 3).collect();
        found.sort_by_key(|(_, at)| std::cmp::Reverse(at.len()));
        found
    }

    pub(crate) fn details(&self, examples: usize) -> Vec<String> {
        let mut lines = vec!["\nlongest functions".to_owned()];
        let longest = self.functions.iter().rev().take(examples);
        lines.extend(longest.map(|(count, place)| format!("  {count} {place}")));
        for (title, places) in [
            ("\ntuples as parameters", &self.tuples),
            ("\n`bool` as parameters", &self.flags),
        ] {
            lines.push(title.to_owned());
            lines.extend(places.iter().map(|place| format!("  {place}")));
        }
        lines.push("\ntype names with three meanings or more".to_owned());
        let homonyms = self.homonyms().into_iter();
        lines.extend(homonyms.map(|(name, at)| format!("  {name} {}: {}", at.len(), at.join(" "))));
        lines
    }
}

fn triple(sorted: &[usize], tail: usize) -> String {
    let max = sorted.last().copied().unwrap_or_default();
    let (middle, tail) = (percentile(sorted, 50), percentile(sorted, tail));
    format!("{middle} / {tail} / {max}")
}

fn filled_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

struct Visitor<'a> {
    path: &'a str,
    code: &'a mut Code,
}

impl Visitor<'_> {
    fn at(&self, name: &syn::Ident) -> String {
        format!("{}:{} {name}", self.path, name.span().start().line)
    }

    fn parameters(&mut self, signature: &syn::Signature) {
        for input in &signature.inputs {
            let syn::FnArg::Typed(input) = input else {
                continue;
            };
            if matches!(&*input.pat, syn::Pat::Tuple(_)) {
                self.code.tuples.push(self.at(&signature.ident));
            }
            if matches!(&*input.ty, syn::Type::Path(path) if path.path.is_ident("bool")) {
                self.code.flags.push(self.at(&signature.ident));
            }
        }
    }

    fn name(&mut self, name: &syn::Ident) {
        let place = format!("{}:{}", self.path, name.span().start().line);
        self.code
            .types
            .entry(name.to_string())
            .or_default()
            .push(place);
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|condition| condition == "test"))
    })
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.parameters(&item.sig);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.parameters(&item.sig);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.parameters(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.name(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.name(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.name(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.name(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        self.code.allows += usize::from(attribute.path().is_ident("allow"));
        self.code.expects += usize::from(attribute.path().is_ident("expect"));
    }
}
