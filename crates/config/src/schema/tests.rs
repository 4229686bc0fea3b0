//! Value tests that the schema agrees with the check.

use jsonschema::Validator;
use ktx_diagnostics::Severity;
use serde_json::json;

use super::*;
use crate::{parse, yaml};

fn validator() -> Validator {
    jsonschema::draft7::new(&schema()).expect("a good schema")
}

#[track_caller]
fn check(text: &str, good: bool) {
    let value = yaml::load_text(text, "ktx.yaml").expect("good YAML").value;
    let parsed = parse(text, "ktx.yaml");
    let problems = parsed.diagnostics;
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    let refused = parsed
        .project
        .is_some_and(|project| !project.llm.problems.is_empty());
    assert_eq!(
        errors == 0 && !refused,
        good,
        "the check of {text:?}: {problems:?}"
    );
    assert_eq!(validator().is_valid(&value), good, "the schema of {text:?}");
}

#[test]
fn the_schema_accepts_what_the_program_accepts() {
    check("{}", true);
    check("connections:\nllm:\n", true);
    check("memory: {}\nscan: {new: 1}\n", true);
    check(
        "llm: {provider: {backend: claude-code}, models: {default: opus, other: x}}\n",
        true,
    );
    check(
        "ingest: {profile: json, rateLimit: {throttleThreshold: 0}}\n",
        true,
    );
    check("scan: {relationships: {validationBudget: all}}\n", true);
    check(
        "connections: {w: {driver: postgres, host: h, port: 5432, user: 5, mine: 1}}\n",
        true,
    );
    check(
        "connections: {w: {driver: mysql, ssl: {rejectUnauthorized: false}}}\n",
        true,
    );
    check(
        "connections: {m: {driver: metabase, api_url: u, mappings: {databaseMappings: {'1': ~}}}}\n",
        true,
    );
    check(
        "connections: {m: {driver: metricflow, metricflow: {repo_url: u}}}\n",
        true,
    );
    check(
        "connections: {s: {driver: snowflake, schema_name: A, schema_names: [A, B]}}\n",
        true,
    );
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    check("[]", false);
    check("llm: {provider: {backend: codex9}}\n", false);
    check("llm: {provider: {vertex: {project: p}}}\n", false);
    check("llm: {promptCaching: {systemTtl: 2h}}\n", false);
    check("ingest: {workUnits: {stepBudget: 0}}\n", false);
    check("ingest: {adapters: dbt}\n", false);
    check("scan: {relationships: {acceptThreshold: 1.1}}\n", false);
    check("connections: {a/b: {driver: sqlite}}\n", false);
    check("connections: {a: {path: x}}\n", false);
    check("connections: {a: {driver: oracle}}\n", false);
    check("connections: {a: {driver: postgres, port: 0}}\n", false);
    check(
        "connections: {a: {driver: metricflow, metricflow: {}}}\n",
        false,
    );
    check(
        "connections: {m: {driver: metabase, api_url: u, mappings: {databaseMappings: {x: w}}}}\n",
        false,
    );
    check(
        "connections: {n: {driver: notion, crawl_mode: all_accessible, max_pages_per_run: 10001}}\n",
        false,
    );
}

#[test]
fn the_schema_names_itself_and_describes_connection_fields() {
    let schema = schema();
    let head: Vec<&str> = schema
        .as_object()
        .expect("an object")
        .keys()
        .take(4)
        .map(String::as_str)
        .collect();
    assert_eq!(head, ["$schema", "$id", "title", "description"]);
    let first =
        schema.pointer("/properties/connections/additionalProperties/allOf/0/then/properties/port");
    assert_eq!(
        first,
        Some(&json!({
            "description": "The server's port.",
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string"}],
            "default": 5432,
        }))
    );
}

#[test]
fn every_default_is_good() {
    fn walk(fields: &[Field], count: &mut usize) {
        for field in fields {
            if let AbsentKey::Default(json) = field.absent {
                let value: Value = serde_json::from_str(json).expect(field.name);
                let rule = Value::Object(shape(&field.shape));
                assert!(
                    jsonschema::draft7::is_valid(&rule, &value),
                    "{}",
                    field.name
                );
                *count += 1;
            }
            if let Shape::Object(inner) | Shape::OpenObject(inner) = field.shape {
                walk(inner, count);
            }
        }
    }
    let mut count = 0;
    walk(ROOT, &mut count);
    for driver in Driver::ALL {
        let fields: Vec<Field> = driver_fields(driver).iter().copied().collect();
        walk(&fields, &mut count);
    }
    assert!(count > 60, "{count}");
}
