//! Generates the Markdown reference of agent files from the table.

use crate::check::expected;
use crate::form::listed;
use crate::spec::{
    AbsentEffect, CASE_FILE, Field, ListShape, ROOT, ShortForm, TaggedShape, ValueShape,
    VariantBody,
};

const HEAD: &str = "\
# Agent files

<!-- Generated from `crates/agent-file/src/spec`; see CONTRIBUTING. -->

Every key is optional unless it says otherwise; a key without a value counts as absent. Unknown keys are errors. Paths start at the folder of the file and lead to places inside the project. [Agent files](../guides/agent-files.md) shows how the keys are used.
";

const TABLE: &str = "\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n";

pub fn reference_markdown() -> String {
    let mut page = ReferencePage::default();
    page.text(HEAD);
    page.table(&ROOT.iter().map(common).collect::<Vec<_>>());
    page.text("\n## Case files\n\nA file that `test_cases_file` names is a list of cases, or has these keys.\n");
    page.table(&CASE_FILE.iter().map(common).collect::<Vec<_>>());
    page.sections();
    page.parts.concat()
}

struct ReferenceSection {
    title: String,
    /// Empty for an entry without variants.
    variants: String,
    fields: Vec<VariantField>,
}

#[derive(Clone, Copy)]
struct VariantField {
    /// Set if only this variant has the key.
    variant: &'static str,
    field: &'static Field,
}

/// A variant without nested tags.
struct VariantLeaf {
    title: String,
    fields: Vec<&'static Field>,
}

#[derive(Default)]
struct ReferencePage {
    parts: Vec<String>,
    open: Vec<ReferenceSection>,
    known: Vec<String>,
}

impl ReferencePage {
    fn text(&mut self, text: &str) {
        self.parts.push(text.to_owned());
    }

    fn sections(&mut self) {
        while !self.open.is_empty() {
            let section = self.open.remove(0);
            self.parts.push(format!("\n## {}\n", section.title));
            if !section.variants.is_empty() {
                let text = format!("\nOne of {}, each with these keys.\n", section.variants);
                self.parts.push(text);
            }
            self.table(&section.fields);
        }
    }

    fn table(&mut self, fields: &[VariantField]) {
        self.text(TABLE);
        for labelled in fields {
            let name = labelled.field.name;
            let path = match labelled.variant {
                "" => name.to_owned(),
                variant => format!("{{{variant}}}.{name}"),
            };
            self.row(&path, labelled.field);
        }
        let foreign = fields
            .iter()
            .filter(|labelled| matches!(labelled.field.shape, ValueShape::Foreign(_)));
        let foreign: Vec<String> = foreign
            .map(|labelled| format!("`{}` ({})", labelled.field.name, labelled.field.meaning))
            .collect();
        if !foreign.is_empty() {
            self.parts.push(format!(
                "\nAccepted from HoloDeck with a warning, not used: {}.\n",
                foreign.join(", ")
            ));
        }
    }

    /// Adds a key and its nested keys; list entries get their own section.
    fn row(&mut self, path: &str, field: &'static Field) {
        if matches!(field.shape, ValueShape::Foreign(_)) {
            return;
        }
        self.parts.push(format!(
            "| `{path}` | {} | {} | {} |\n",
            expected(&field.shape),
            default(field).replace('|', "\\|"),
            field.meaning.replace('|', "\\|")
        ));
        if let ValueShape::Object(fields) = field.shape {
            if self.is_repeated_model(path, fields) {
                return;
            }
            for field in fields {
                self.row(&format!("{path}.{}", field.name), field);
            }
        } else {
            self.entries(path, &field.shape);
        }
    }

    /// The model block is documented only once.
    fn is_repeated_model(&mut self, path: &str, fields: &'static [Field]) -> bool {
        let is_model = fields.iter().any(|field| field.name == "auth_provider");
        let again = is_model && self.known.iter().any(|known| known == "model");
        if is_model && !again {
            self.known.push(path.to_owned());
        }
        again
    }

    fn entries(&mut self, path: &str, shape: &'static ValueShape) {
        match shape {
            ValueShape::List(ListShape { item, .. }) => self.entries(path, item),
            ValueShape::OneOrMore(item) => self.entries(path, item),
            ValueShape::Short(ShortForm { full, .. }) => self.entries(path, full),
            ValueShape::Object(fields) => {
                let fields = fields.iter().map(common).collect();
                self.section(path, format!("An entry of `{path}`"), fields);
            }
            ValueShape::Tagged(tagged) => self.variants(path, tagged),
            ValueShape::Keyed(variants) => {
                let fields = variants.iter().flat_map(|variant| match variant.body {
                    VariantBody::Fields(groups) => labelled(variant.name, groups),
                    _ => Vec::new(),
                });
                let title = format!("An object of `{path}`");
                self.section(path, title, fields.collect());
            }
            _ => {}
        }
    }

    /// Adds a section for the common keys, and one for each variant with others.
    fn variants(&mut self, path: &str, tagged: &'static TaggedShape) {
        let leaves = leaves(tagged);
        let is_common = |field: &&'static Field| {
            let same = leaves.iter().filter(|leaf| {
                leaf.fields.iter().any(|other| {
                    (other.name, other.meaning, other.absent)
                        == (field.name, field.meaning, field.absent)
                })
            });
            same.count() * 2 > leaves.len()
        };
        let Some(first) = leaves.first() else { return };
        let shared = first.fields.iter().copied().filter(is_common).map(common);
        let shared: Vec<VariantField> = shared.collect();
        if !self.section(path, format!("An entry of `{path}`"), shared) {
            return;
        }
        let titles: Vec<&str> = leaves.iter().map(|leaf| leaf.title.as_str()).collect();
        if let Some(section) = self.open.last_mut() {
            section.variants = listed(&titles);
        }
        for leaf in &leaves {
            let own = leaf.fields.iter().copied();
            let own: Vec<VariantField> =
                own.filter(|field| !is_common(field)).map(common).collect();
            if !own.is_empty() {
                self.open.push(ReferenceSection {
                    title: format!("An entry of `{path}` with `{}`", leaf.title),
                    variants: String::new(),
                    fields: own,
                });
            }
        }
    }

    /// Starts a section unless another path has the same keys; returns whether it did.
    fn section(&mut self, path: &str, title: String, fields: Vec<VariantField>) -> bool {
        let last = path.rsplit('.').next().unwrap_or_default();
        let name = match last {
            "cases" => "test_cases",
            "metrics" => "evaluations",
            "allow" | "ask" => "deny",
            other => other,
        };
        let is_new = !self.known.iter().any(|known| known == name);
        if is_new {
            self.known.push(name.to_owned());
            self.open.push(ReferenceSection {
                title,
                variants: String::new(),
                fields,
            });
        }
        is_new
    }
}

const fn common(field: &'static Field) -> VariantField {
    VariantField { variant: "", field }
}

fn labelled(variant: &'static str, groups: &'static [&'static [Field]]) -> Vec<VariantField> {
    let fields = groups.iter().copied().flatten();
    fields
        .map(|field| VariantField {
            variant: if field.name == variant { "" } else { variant },
            field,
        })
        .collect()
}

fn leaves(tagged: &'static TaggedShape) -> Vec<VariantLeaf> {
    tagged
        .variants
        .iter()
        .flat_map(|variant| match &variant.body {
            VariantBody::Fields(groups) => vec![VariantLeaf {
                title: format!("{}: {}", tagged.tag, variant.name),
                fields: groups.iter().copied().flatten().collect(),
            }],
            VariantBody::Tagged(inner) => leaves(inner),
            VariantBody::Refused { .. } => Vec::new(),
        })
        .collect()
}

fn default(field: &Field) -> String {
    match field.absent {
        AbsentEffect::Default(json) => format!("`{}`", json.trim_matches('"')),
        AbsentEffect::Refused => "required".to_owned(),
        AbsentEffect::Nothing | AbsentEffect::Descend => String::new(),
    }
}
