//! Prompts that lead an agent through common tasks.

use std::collections::BTreeMap;

use ktx_context_tools::{list_sources, read_source};
use ktx_mcp_bridge::{ContentError, Need, PromptArgument, PromptEntry, PromptPart};

use super::address::Place;
use super::{ProjectContent, in_words, unread};

/// In the order of the listing.
pub(super) const PROMPTS: [PromptEntry; 4] = [
    PromptEntry {
        name: "answer-question",
        title: "Answer a question with data",
        description: "Answers a question with a number, and says on which definitions and filters it rests.",
        arguments: &[PromptArgument {
            name: "question",
            description: "the question, as you would ask a colleague",
            need: Need::Required,
        }],
    },
    PromptEntry {
        name: "explain-measure",
        title: "Explain a measure",
        description: "Says in plain words what a measure counts, what it leaves out, and how it is computed.",
        arguments: &[PromptArgument {
            name: "measure",
            description: "the measure, such as `orders.revenue`",
            need: Need::Required,
        }],
    },
    PromptEntry {
        name: "check-number",
        title: "Check a number",
        description: "Computes a number that someone has stated, and explains a difference.",
        arguments: &[
            PromptArgument {
                name: "claim",
                description: "the statement, such as `revenue in May was 1.2 million`",
                need: Need::Required,
            },
            PromptArgument {
                name: "page",
                description: "the wiki page with the definition that counts",
                need: Need::Optional,
            },
        ],
    },
    PromptEntry {
        name: "review-source",
        title: "Review a semantic source",
        description: "Looks for what is missing or misleading in a source: descriptions, measures, joins, hidden columns.",
        arguments: &[PromptArgument {
            name: "source",
            description: "the name of the source",
            need: Need::Required,
        }],
    },
];

const ANSWER: &str = "\
Answer this question with the tools of ktx:

{question}

1. Call `discover_data` with the words of the question, and read the pages that it finds.
2. Ask with `sl_query`. Take `sql_execution` only for what `sl_query` cannot express.
3. If a term can mean several things here, ask me which one I mean before you compute.
4. Give the number with its unit and period, then the definitions and filters that it rests on, and until when the data
   reach. If the data cannot answer the question, say so.";

const EXPLAIN: &str = "\
Explain the measure `{measure}` to someone who has never seen this data. The source that defines it follows.

Read the wiki pages about it first (`discover_data` finds them). Then say what one unit of it is, which rows count and
which do not, how it relates to measures with similar names, and which mistake people make with it most easily. Quote the
formula last. Where the pages and the formula contradict each other, say so.";

const CHECK: &str = "\
Someone says:

{claim}

Compute the number with ktx: `discover_data` for the terms, `sl_query` for the number. If it differs, find out why: try
the definitions, periods and filters that would lead to the stated number, one at a time. Give both numbers, the difference,
and the most likely reason; say how sure you are.";

const REVIEW: &str = "\
Review the semantic source `{source}`, which follows, as a colleague who will have to answer questions with it.

Check: does every measure say in its description what it counts and leaves out? Are there columns that people would ask
for and that have no description? Do joins lead to all tables that questions need (`entity_details` has the keys)? Are
there columns with personal data that are not hidden? List what to change, the most important first, each with the YAML to
write. Change nothing yourself.";

impl ProjectContent {
    pub(super) async fn make_prompt(
        &self,
        name: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptPart>, ContentError> {
        let known = PROMPTS.iter().find(|prompt| prompt.name == name);
        let Some(prompt) = known else {
            let names: Vec<String> = PROMPTS
                .iter()
                .map(|one| format!("`{}`", one.name))
                .collect();
            let name = ktx_diagnostics::excerpt(name);
            let text = format!(
                "there is no prompt `{name}`; there are {}",
                names.join(", ")
            );
            return Err(ContentError::Invalid(text));
        };
        check(prompt, given)?;
        let value = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
        let text = |form: &str, name: &str| {
            PromptPart::Text(form.replace(&format!("{{{name}}}"), value(name)))
        };
        match prompt.name {
            "answer-question" => Ok(vec![text(ANSWER, "question")]),
            "explain-measure" => {
                let source = self.source_of(value("measure")).await?;
                let mut parts = vec![text(EXPLAIN, "measure")];
                parts.extend(self.attached(source).await?);
                Ok(parts)
            }
            "check-number" => {
                let mut parts = vec![text(CHECK, "claim")];
                if given.contains_key("page") {
                    let page = Place::Page(value("page").to_owned());
                    parts.extend(self.attached(page).await?);
                }
                Ok(parts)
            }
            _ => {
                let source = self.place_of(value("source")).await?;
                let mut parts = vec![text(REVIEW, "source")];
                parts.extend(self.attached(source).await?);
                Ok(parts)
            }
        }
    }

    /// The measure must exist.
    async fn source_of(&self, measure: &str) -> Result<Place, ContentError> {
        let measures = ktx_context_tools::list_measures(&*self.context).await;
        let measures = measures.map_err(|failure| unread(&failure))?;
        if measures.iter().any(|known| known == measure)
            && let Some((source, _)) = measure.rsplit_once('.')
        {
            return self.place_of(source).await;
        }
        let known = measures.iter().map(String::as_str);
        let near: Vec<&str> = ktx_diagnostics::nearest(measure, known);
        let measure = ktx_diagnostics::excerpt(measure);
        Err(ContentError::Invalid(match near.first() {
            Some(near) => format!("there is no measure `{measure}`; try `{near}`"),
            None => format!("there is no measure `{measure}`; `discover_data` finds measures"),
        }))
    }

    async fn place_of(&self, name: &str) -> Result<Place, ContentError> {
        let found = read_source(&*self.context, None, name).await;
        found.map_err(|failure| ContentError::Invalid(in_words(&failure)))?;
        let list = list_sources(&*self.context, None).await;
        let list = list.map_err(|failure| unread(&failure))?;
        let item = list.items.into_iter().find(|item| item.name == name);
        let missing = || ContentError::Invalid(format!("there is no source `{name}`"));
        item.map(|item| Place::Source {
            connection: item.connection_id,
            name: item.name,
        })
        .ok_or_else(missing)
    }

    async fn attached(&self, place: Place) -> Result<Vec<PromptPart>, ContentError> {
        let texts = self.read_resource(&place.uri()).await?;
        Ok(texts.into_iter().map(PromptPart::Resource).collect())
    }
}

fn check(prompt: &PromptEntry, given: &BTreeMap<String, String>) -> Result<(), ContentError> {
    for argument in prompt.arguments {
        let value = given.get(argument.name).map(|value| value.trim());
        let is_missing = value.is_none() && argument.need == Need::Required;
        if is_missing || value == Some("") {
            return Err(ContentError::Invalid(format!(
                "the prompt `{}` needs `{}`: {}",
                prompt.name, argument.name, argument.description
            )));
        }
    }
    let is_known = |name: &str| prompt.arguments.iter().any(|known| known.name == name);
    match given.keys().find(|name| !is_known(name)) {
        Some(name) => Err(ContentError::Invalid(format!(
            "the prompt `{}` takes no `{}`",
            prompt.name,
            ktx_diagnostics::excerpt(name)
        ))),
        None => Ok(()),
    }
}
