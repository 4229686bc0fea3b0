//! The join graph as JSON.

use serde_json::{Value, json};

use super::model::{Line, Model, Node};

pub(super) fn write(model: &Model<'_>) -> Value {
    let nodes: Vec<Value> = model
        .by_name()
        .into_iter()
        .filter_map(|at| model.nodes.get(at))
        .map(node)
        .collect();
    let edges: Vec<Value> = model.lines.iter().map(|line| edge(model, line)).collect();
    let chasms = model.chasms.iter().map(|chasm| {
        let facts: Vec<&str> = chasm.facts.iter().map(|fact| model.name(*fact)).collect();
        json!({
            "kind": "chasm",
            "at": model.name(chasm.at),
            "facts": facts,
            "joins": conditions(model, &chasm.lines),
        })
    });
    let fan_outs = model
        .fan_outs
        .iter()
        .filter_map(|at| model.lines.get(*at))
        .map(|line| {
            json!({
                "kind": "fan_out",
                "at": model.name(line.to),
                "facts": [model.name(line.to), model.name(line.from)],
                "joins": [line.condition(model)],
            })
        });
    json!({
        "nodes": nodes,
        "edges": edges,
        "warnings": chasms.chain(fan_outs).collect::<Vec<_>>(),
    })
}

fn node(node: &Node<'_>) -> Value {
    json!({
        "name": node.name,
        "source": node.source.name,
        "kind": match (node.is_role, node.is_fact()) {
            (true, _) => "role",
            (false, true) => "fact",
            (false, false) => "dimension",
        },
        "grain": node.source.grain,
        "columns": node.source.columns.len(),
        "measures": node.source.measures.len(),
        "problem": node.source.problem.as_ref().map(|(_, message)| message),
    })
}

fn edge(model: &Model<'_>, line: &Line) -> Value {
    json!({
        "from": model.name(line.from),
        "to": model.name(line.to),
        "from_rows": line.from_end.name(),
        "to_rows": line.to_end.name(),
        "on": line.condition(model),
    })
}

fn conditions(model: &Model<'_>, lines: &[usize]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|at| model.lines.get(*at))
        .map(|line| line.condition(model))
        .collect()
}
