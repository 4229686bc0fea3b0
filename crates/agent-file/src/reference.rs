//! The reference page of agent files, in Markdown, from the same table as the checks.

use crate::check::expected;
use crate::spec::{Absent, Body, CASE_FILE, Field, List, ROOT, Shape, Short, Tagged};

const HEAD: &str = "\
# Agent files

<!-- Generated from `crates/agent-file/src/spec`; see CONTRIBUTING. -->

Every key is optional unless it says otherwise; a key without a value counts as absent. Unknown keys are errors. Paths start at the folder of the file and lead to places inside the project. [Agent files](../guides/agent-files.md) shows how the keys are used.
";

const TABLE: &str = "\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n";

/// Documents all keys of agent files and case files with values, default and meaning.
pub fn reference_markdown() -> String {
    let mut page = Page::default();
    page.text(HEAD);
    page.text(TABLE);
    for field in ROOT {
        page.row(field.name, field);
    }
    page.text("\n## Case files\n\nA file that `test_cases_file` names is a list of cases, or has these keys.\n");
    page.text(TABLE);
    for field in CASE_FILE {
        page.row(field.name, field);
    }
    page.sections();
    page.parts.concat()
}

/// A table of its own: the keys of an entry.
struct Section {
    title: String,
    text: &'static str,
    fields: Vec<&'static Field>,
}

#[derive(Default)]
struct Page {
    parts: Vec<String>,
    open: Vec<Section>,
    /// The titles of the sections that are on the page or open.
    known: Vec<String>,
}

impl Page {
    fn text(&mut self, text: &str) {
        self.parts.push(text.to_owned());
    }

    fn sections(&mut self) {
        while !self.open.is_empty() {
            let section = self.open.remove(0);
            self.parts
                .push(format!("\n## {}\n\n{}\n", section.title, section.text));
            self.text(TABLE);
            for field in section.fields {
                self.row(field.name, field);
            }
        }
    }

    /// Adds the row of a key and those of the keys below it; entries of lists get a section.
    fn row(&mut self, path: &str, field: &'static Field) {
        if matches!(field.shape, Shape::Foreign(_)) {
            self.parts.push(format!(
                "| `{path}` | – | | Accepted with a warning, not used: {}. |\n",
                field.meaning
            ));
            return;
        }
        self.parts.push(format!(
            "| `{path}` | {} | {} | {} |\n",
            expected(&field.shape),
            default(field).replace('|', "\\|"),
            field.meaning.replace('|', "\\|")
        ));
        if let Shape::Object(fields) = field.shape {
            if self.is_model_again(path, fields) {
                return;
            }
            for field in fields {
                self.row(&format!("{path}.{}", field.name), field);
            }
        } else {
            self.entries(path, &field.shape);
        }
    }

    /// A model block is documented once.
    fn is_model_again(&mut self, path: &str, fields: &'static [Field]) -> bool {
        let is_model = fields.iter().any(|field| field.name == "auth_provider");
        let again = is_model && self.known.iter().any(|known| known == "model");
        if is_model && !again {
            self.known.push(path.to_owned());
        }
        again
    }

    fn entries(&mut self, path: &str, shape: &'static Shape) {
        match shape {
            Shape::List(List { item, .. }) => self.entries(path, item),
            Shape::OneOrMore(item) => self.entries(path, item),
            Shape::Short(Short { full, .. }) => self.entries(path, full),
            Shape::Object(fields) => {
                let text = "The keys of an entry.";
                self.section(format!("`{path}[]`"), text, fields.iter().collect());
            }
            Shape::Tagged(tagged) => self.variants(path, tagged),
            Shape::Keyed(variants) => {
                for variant in *variants {
                    if let Body::Fields(groups) = variant.body {
                        let title = format!("`{path}: {{{}}}`", variant.name);
                        let fields = groups.iter().copied().flatten().collect();
                        self.section(title, "The keys of the object.", fields);
                    }
                }
            }
            _ => {}
        }
    }

    fn variants(&mut self, path: &str, tagged: &'static Tagged) {
        for variant in tagged.variants {
            match &variant.body {
                Body::Fields(groups) => {
                    let title = format!("`{path}[]` with `{}: {}`", tagged.tag, variant.name);
                    let fields = groups.iter().copied().flatten().collect();
                    self.section(title, "The keys of an entry.", fields);
                }
                Body::Tagged(inner) => self.variants(path, inner),
                Body::Refused { .. } => {}
            }
        }
    }

    /// Opens a section unless the same keys have one under another path.
    fn section(&mut self, title: String, text: &'static str, fields: Vec<&'static Field>) {
        let last = title.rsplit('.').next().unwrap_or_default();
        let name = last.trim_start_matches('`').replace("test_cases", "cases");
        let name = name.replace("metrics", "evaluations");
        if !self.known.contains(&name) {
            self.known.push(name);
            self.open.push(Section {
                title,
                text,
                fields,
            });
        }
    }
}

fn default(field: &Field) -> String {
    match field.absent {
        Absent::Default(json) => format!("`{}`", json.trim_matches('"')),
        Absent::Refused => "required".to_owned(),
        Absent::Nothing | Absent::Descend => String::new(),
    }
}
