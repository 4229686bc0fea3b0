//! The join graph as a Mermaid entity-relationship diagram.

use super::model::{End, Model};
use ktx_semantic_layer::Source;
use ktx_semantic_layer::graph::NodeId;

pub(super) fn write(model: &Model<'_>) -> String {
    let mut lines = vec!["erDiagram".to_owned()];
    for node in model.by_name() {
        let Some(drawn) = model.nodes.get(node) else {
            continue;
        };
        let name = entity(model, node);
        let shown = if is_word(drawn.name) {
            name
        } else {
            format!("{name}[\"{}\"]", quoted(drawn.name))
        };
        lines.push(format!("    {shown} {{"));
        lines.extend(
            attributes(model, node, drawn.source)
                .into_iter()
                .map(|line| format!("        {line}")),
        );
        lines.push("    }".to_owned());
    }
    for line in &model.lines {
        let left = match line.from_end {
            End::Many => "}o",
            End::AtMostOne => "|o",
        };
        let right = match line.to_end {
            End::Many => "o{",
            End::AtMostOne => "o|",
        };
        lines.push(format!(
            "    {} {left}--{right} {} : \"{}\"",
            entity(model, line.from),
            entity(model, line.to),
            quoted(&columns(&line.pairs)),
        ));
    }
    for chasm in &model.chasms {
        let facts: Vec<&str> = chasm.facts.iter().map(|fact| model.name(*fact)).collect();
        lines.push(format!(
            "    %% chasm point {}: {} meet here",
            plain(model.name(chasm.at)),
            plain(&facts.join(", ")),
        ));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Names that are not words, or are Mermaid keywords, get another identifier.
fn entity(model: &Model<'_>, node: NodeId) -> String {
    let name = model.name(node);
    if is_word(name) {
        name.to_owned()
    } else {
        format!("node_{}", node + 1)
    }
}

fn is_word(name: &str) -> bool {
    let taken = [
        "direction",
        "erdiagram",
        "title",
        "style",
        "class",
        "classdef",
        "one",
        "only",
        "many",
        "to",
        "zero",
        "or",
        "more",
        "optionally",
        "u",
    ];
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !name.starts_with("node_")
        && !taken.contains(&name.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    plain(text).replace('"', "'")
}

fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

fn columns(pairs: &[(String, String)]) -> String {
    let clause = |(from, to): &(String, String)| {
        if from == to {
            from.clone()
        } else {
            format!("{from} = {to}")
        }
    };
    pairs.iter().map(clause).collect::<Vec<_>>().join(", ")
}

fn attribute(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || letter == '_' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        word
    } else {
        format!("c_{word}")
    }
}

fn attributes(model: &Model<'_>, node: NodeId, source: &Source) -> Vec<String> {
    let looking = model.lines.iter().filter(|line| line.from == node);
    let foreign: Vec<&str> = looking
        .flat_map(|line| line.pairs.iter().map(|(from, _)| from.as_str()))
        .collect();
    let columns = source.columns.iter().filter_map(|column| {
        let is_key = source.grain.contains(&column.name);
        let is_foreign = foreign.contains(&column.name.as_str());
        let mark = match (is_key, is_foreign) {
            (true, true) => "PK, FK",
            (true, false) => "PK",
            (false, true) => "FK",
            (false, false) => return None,
        };
        Some(format!(
            "{} {} {mark}",
            column.kind.name(),
            attribute(&column.name)
        ))
    });
    let measures = source.measures.iter().map(|measure| {
        format!(
            "measure {} \"{}\"",
            attribute(&measure.name),
            quoted(&measure.expr)
        )
    });
    columns.chain(measures).collect()
}
