//! Value tests of the reference page.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_key_has_a_row_with_value_default_and_meaning() {
    let page = reference_markdown();
    for row in [
        "| `llm.provider.anthropic.api_key` | text, `env:NAME` or `file:PATH` |  | The key. |",
        "| `llm.provider.groq` | an object with the keys of `llm.provider.deepseek` |  | The Groq API. `GROQ_API_KEY` is used when `api_key` is absent. |",
        "| `scan.relationships.acceptThreshold` | a number from 0 to 1 | `0.85` | The score from which ktx accepts a join. |",
        "| `llm.provider.vertex.reasoning` | an object with the keys of `llm.provider.anthropic.reasoning` |  | How to request, read and return the provider's reasoning, where its preset does not fit. Any other key is an error. |",
        "| `llm.provider.gateway.reasoning.store` | `true` or `false` |  | Whether the provider stores each answer, so that the next question names it instead of repeating the conversation. Needs the protocol `responses`; by default `false`. |",
        "| `llm.provider.deepseek.reasoning.fieldName` or `field_name` | one of `reasoning_content`, `reasoning`, `reasoning_details` |  | The field of Chat Completions for thoughts that have no field of their own. |",
        "| `scan.enrichment.embeddings` | an object with the keys of `ingest.embeddings` |  | Embeddings for scans; by default those of `ingest.embeddings`. |",
        "| `llm.provider.vertex.location` | text, `env:NAME` or `file:PATH` | required | The region, such as `global` or `us-east5`. |",
        "| `username` or `user` | text |  | The user. |",
        "| `mappings.syncMode` | one of `ALL`, `ONLY`, `EXCEPT` | `ALL` | Whether `selections` limits what ktx reads (`ONLY`), excludes items (`EXCEPT`) or has no effect (`ALL`). |",
    ] {
        assert!(page.lines().any(|line| line == row), "{row}\n{page}");
    }
}

#[test]
fn every_table_row_has_four_cells_and_a_unique_key() {
    let page = reference_markdown();
    let mut seen = BTreeSet::new();
    let mut section = "";
    for line in page.lines() {
        if line.starts_with('#') {
            section = line;
        }
        if line.starts_with("| `") {
            assert_eq!(line.matches(" | ").count(), 3, "{line}");
            let key = line.split(" | ").next().unwrap_or_default();
            assert!(seen.insert((section, key)), "{section} {key}");
        }
    }
    assert!(seen.len() > 140, "{}", seen.len());
}
