//! Offers waiting joins to refused queries.

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, Failure};
use ktx_scan::{Link, waiting};
use ktx_semantic_layer::Query;

use crate::context::{ProjectContext, warehouses_of};
use crate::reader::Reader;

const NEEDS_A_JOIN: [Code; 5] = [
    Code::NoJoinPath,
    Code::Fanout,
    Code::FilterFanout,
    Code::FilterUnreachable,
    Code::UnknownColumn,
];

const MOST_JOINS: usize = 3;

pub async fn with_waiting_joins(
    context: &dyn ProjectContext,
    connection: Option<&str>,
    query: &Query,
    failure: Failure,
) -> Failure {
    if !NEEDS_A_JOIN.contains(&failure.code) {
        return failure;
    }
    let text = query.to_value().to_string().to_lowercase();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: BTreeSet<&str> = text.split(|letter| !is_part(letter)).collect();
    let mut links: Vec<Link> = Vec::new();
    for connection in warehouses_of(context, connection).await.unwrap_or_default() {
        if let Some(found) = context.links(&connection.id).await {
            links.extend(waiting(found, |table| {
                words.contains(table.name.to_lowercase().as_str())
            }));
        }
    }
    links.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    let reader = context.reader();
    links
        .iter()
        .take(MOST_JOINS)
        .map(|link| offer(link, reader))
        .fold(failure, Failure::hint)
}

fn offer(link: &Link, reader: Reader) -> String {
    let accept = format!(
        "accept the join with `ktx scan review accept {}`, then run `ktx scan`",
        link.key()
    );
    match reader {
        Reader::Person => format!("`{}` may refer to `{}`: {accept}", link.from, link.to),
        Reader::Agent => format!(
            "ask the user whether `{}` refers to `{}`; if so, they {accept}",
            link.from, link.to
        ),
    }
}
