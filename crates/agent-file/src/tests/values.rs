//! The values of good files.

use insta::assert_snapshot;
use ktx_vocabulary::Backend;
use serde::Serialize;
use serde_json::Value;

use super::*;
use crate::CaseFile;

fn load(folder: &Path, text: &str) -> AgentFile {
    let path = folder.join("agents/a.yaml");
    fs::write(&path, text).unwrap();
    match AgentFile::load(&path, folder) {
        Ok(agent) => agent,
        Err(faults) => panic!("{}", told(&faults.0)),
    }
}

/// Formats one entry per line, without empty keys.
fn lines(value: &impl Serialize) -> String {
    let line = |prefix: String, value: &Value| format!("{prefix}{}\n", brief(value));
    match serde_json::to_value(value).unwrap() {
        Value::Object(entries) => entries
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| line(format!("{key}: "), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| line("- ".to_owned(), item))
            .collect(),
        other => other.to_string(),
    }
}

fn brief(value: &Value) -> Value {
    match value {
        Value::Object(entries) => entries
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), brief(value)))
            .collect(),
        Value::Array(items) => items.iter().map(brief).collect(),
        other => other.clone(),
    }
}

fn agent(text: &str) -> AgentFile {
    load(project().path(), text)
}

const BASE: &str = "name: analyst\ninstructions: {inline: Answer.}\n";

#[test]
fn the_smallest_file_has_all_defaults() {
    let shown = lines(&agent(BASE));
    assert_snapshot!(shown, @r#"
    name: "analyst"
    model: {}
    instructions: {"text":"Answer."}
    tools: [{"name":"sl_query","timeout_s":60,"type":"ktx"},{"name":"sl_read_source","timeout_s":60,"type":"ktx"},{"name":"wiki_search","timeout_s":60,"type":"ktx"},{"name":"wiki_read","timeout_s":60,"type":"ktx"},{"name":"discover_data","timeout_s":60,"type":"ktx"},{"name":"entity_details","timeout_s":60,"type":"ktx"}]
    permissions: {"mode":"approval","deny":[],"allow":[{"tool":"@read","args":{}}],"ask":[],"on_expiry":"deny"}
    limits: {"max_turns":20,"messages":50,"message_chars":10000}
    context: {"compress_at":0.8,"target":0.5,"role":"default"}
    todo: {"enabled":false,"remind_every_steps":10}
    agents: []
    max_parallel: 4
    schedule: []
    execution: {"llm_timeout":120,"parallel_test_cases":1}
    path: "agents/a.yaml"
    digest: "ac9eacf97c92b0a2c87a3ad566b2f836cdfc58bc8274fb88efcb7ee57b70fe41"
    "#);
}

/// HOLO-11.
#[test]
fn every_kind_of_tool_is_read() {
    let agent = agent(
        "name: analyst
instructions: {file: files/prompt.md}
model: {provider: anthropic, auth_provider: oauth_token, name: opus}
response_format: {type: object}
tools:
  - sl_query
  - {type: function, name: revenue, tool: sl_query, arguments: {connectionId: warehouse}, permission: ask}
  - {type: mcp, name: jira, command: jira-mcp, env: {JIRA_TOKEN: '${JIRA_TOKEN}', ROWS: 5}, exclude: ['delete*'], timeout_s: 5}
  - {type: mcp, name: web, transport: http, url: 'env:WEB', headers: {Authorization: 'Bearer ${WEB_TOKEN}'}}
  - {type: prompt, name: summary, file: files/prompt.md, model: {name: haiku}}
  - {type: vectorstore, name: docs, source: files/docs, min_score: 0.5}
  - {type: hierarchical_document, name: rules, source: files/docs/handbook.md, semantic_weight: 1}
",
    );
    assert_snapshot!(lines(&agent.tools), @r#"
    - {"name":"sl_query","timeout_s":60,"type":"ktx"}
    - {"name":"revenue","permission":"ask","timeout_s":60,"type":"function","tool":"sl_query","arguments":{"connectionId":"warehouse"}}
    - {"name":"jira","timeout_s":5,"type":"mcp","transport":"stdio","command":"jira-mcp","args":[],"env":{"JIRA_TOKEN":"env:JIRA_TOKEN","ROWS":"5"},"headers":{},"include":["*"],"exclude":["delete*"],"request_timeout":60,"trust_annotations":false,"optional":false}
    - {"name":"web","timeout_s":60,"type":"mcp","transport":"http","args":[],"env":{},"url":"env:WEB","headers":{"Authorization":"Bearer ${WEB_TOKEN}"},"include":["*"],"exclude":[],"request_timeout":60,"trust_annotations":false,"optional":false}
    - {"name":"summary","timeout_s":60,"type":"prompt","template":"You answer questions about revenue.\n","parameters":{},"model":{"name":"haiku"}}
    - {"name":"docs","timeout_s":60,"type":"vectorstore","source":"agents/files/docs","top_k":5,"search_mode":"semantic","min_score":0.5}
    - {"name":"rules","timeout_s":60,"type":"hierarchical_document","source":"agents/files/docs/handbook.md","top_k":10,"search_mode":"hybrid","semantic_weight":1.0}
    "#);
    assert_eq!(agent.ktx_tools(), ["sl_query"]);
    assert_snapshot!(serde_json::to_string(&agent.instructions).unwrap(), @r#"{"text":"You answer questions about revenue.\n","file":"agents/files/prompt.md"}"#);
}

#[test]
fn permissions_and_schedules_are_read() {
    let agent = agent(
        "name: analyst
instructions: {inline: Answer.}
permissions:
  mode: readonly
  deny: ['mcp__jira__delete*']
  allow: ['@read', {tool: file_write, args: {path: {regex: 'reports/.*'}, mode: {fuzzy: New}, size: 5}}]
  ask: [memory_ingest]
  expires: 8h
  on_expiry: fail
limits: {max_turns: 5.0, max_usd: 1, messages: 10}
workspace: {root: files, write: true}
schedule:
  - {name: morning, cron: '0 6 * * 1-5', timezone: Europe/Berlin, message: What changed?, within: 2d, limits: {max_usd: 0.50}}
  - {name: often, every_minutes: 30, message: Is it fresh?, catch_up: never, on_ask: deny}
",
    );
    let shown = serde_json::json!({
        "permissions": agent.permissions,
        "limits": agent.limits,
        "workspace": agent.workspace,
        "schedule": agent.schedule,
    });
    assert_snapshot!(lines(&shown), @r#"
    permissions: {"mode":"readonly","deny":[{"tool":"mcp__jira__delete*","args":{}}],"allow":[{"tool":"@read","args":{}},{"tool":"file_write","args":{"mode":{"fuzzy":"New"},"path":{"regex":"reports/.*"},"size":{"literal":5}}}],"ask":[{"tool":"memory_ingest","args":{}}],"expires":28800,"on_expiry":"fail"}
    limits: {"max_turns":5,"max_usd":1.0,"messages":10,"message_chars":10000}
    workspace: {"root":"agents/files","write":true}
    schedule: [{"name":"morning","cron":"0 6 * * 1-5","timezone":"Europe/Berlin","message":"What changed?","catch_up":"once","within":172800,"on_ask":"park","limits":{"max_usd":0.5}},{"name":"often","every_minutes":30,"timezone":"UTC","message":"Is it fresh?","catch_up":"never","within":86400,"on_ask":"deny"}]
    "#);
}

/// HOLO-22.
#[test]
fn the_claude_block_of_another_provider_sets_nothing() {
    let agent = agent(&format!(
        "{BASE}model: {{provider: openai}}\nclaude: {{max_turns: 5, permission_mode: acceptAll, bash: {{enabled: true}}}}\n"
    ));
    let mode = serde_json::to_string(&agent.permissions.mode).unwrap();
    assert_eq!(
        (agent.claude, agent.limits.max_turns, mode.as_str()),
        (None, 20, "\"approval\"")
    );
}

/// HOLO-02, HOLO-07.
#[test]
fn the_claude_block_sets_the_keys_of_ktx() {
    let agent = agent(
        "name: analyst
instructions: {inline: Answer.}
tools: [sl_query, wiki_read, wiki_search]
limits: {max_turns: 9}
claude: {working_directory: files/desk, permission_mode: acceptAll, max_turns: 5, allowed_tools: [wiki_read, sl_query]}
",
    );
    let mode = serde_json::to_string(&agent.permissions.mode).unwrap();
    let workspace = serde_json::to_string(&agent.workspace).unwrap();
    let shown = format!(
        "{mode} {} {workspace} {:?}",
        agent.limits.max_turns,
        agent.ktx_tools()
    );
    assert_snapshot!(shown, @r#""auto" 5 {"root":"agents/files/desk","write":false} ["sl_query", "wiki_read"]"#);
    let text = format!(
        "{BASE}permissions: {{mode: readonly}}\nlimits: {{max_turns: 3}}\nclaude: {{permission_mode: acceptEdits, max_turns: 5}}\n"
    );
    let agent = self::agent(&text);
    let mode = serde_json::to_string(&agent.permissions.mode).unwrap();
    assert_snapshot!(format!("{mode} {}", agent.limits.max_turns), @r#""readonly" 3"#);
}

/// HOLO-01, C-04.
#[test]
fn provider_and_auth_provider_choose_the_backend() {
    let rows = [
        "{}",
        "{auth_provider: oauth_token}",
        "{provider: anthropic}",
        "{provider: anthropic, auth_provider: api_key}",
        "{provider: anthropic, auth_provider: oauth_token}",
        "{provider: anthropic, auth_provider: vertex}",
        "{provider: openai}",
        "{provider: azure_openai, endpoint: 'https://x.example'}",
        "{provider: ollama}",
        "{provider: claude-code}",
        "{provider: openai-compatible, endpoint: 'env:URL'}",
    ];
    let table = rows.map(|model| {
        let agent = agent(&format!("{BASE}model: {model}\n"));
        let backend = agent.model.backend(Backend::ClaudeCode);
        let address = agent.model.address().unwrap_or("-");
        format!("{model}: {backend} {address}\n")
    });
    assert_snapshot!(table.concat(), @r"
    {}: claude-code -
    {auth_provider: oauth_token}: claude-code -
    {provider: anthropic}: anthropic -
    {provider: anthropic, auth_provider: api_key}: anthropic -
    {provider: anthropic, auth_provider: oauth_token}: claude-code -
    {provider: anthropic, auth_provider: vertex}: vertex -
    {provider: openai}: openai -
    {provider: azure_openai, endpoint: 'https://x.example'}: openai-compatible https://x.example
    {provider: ollama}: openai-compatible http://127.0.0.1:11434/v1
    {provider: claude-code}: claude-code -
    {provider: openai-compatible, endpoint: 'env:URL'}: openai-compatible env:URL
    ");
}

#[test]
fn cases_have_the_defaults_of_their_file() {
    let folder = project();
    let path = folder.path().join("agents/files/cases.yaml");
    let checked = CaseFile::check(&path, folder.path(), &known());
    assert_eq!(told(&checked.faults), "");
    let cases = checked.value.unwrap();
    assert_snapshot!(lines(&cases.cases), @r#"
    - {"name":"revenue","tags":["money"],"turns":[{"input":"How much revenue in March?","ground_truth":[{"kind":"value","value":18.25},{"kind":"text","text":"about 18"}],"expected_tools":[{"name":"wiki_search","args":{},"count":1},{"name":"sl_query","args":{"connectionId":{"fuzzy":"Warehouse"},"measures":{"literal":["orders.revenue"]}},"count":2}],"evaluations":[{"enabled":true,"metric":"numeric","pick":"answer_line","absolute_tolerance":0.01,"relative_tolerance":0.0,"accept_percent":false,"accept_thousands_separators":false,"decimal":"."}],"files":[]}],"expected_tools_mode":"subset","forbidden_tools":[],"as_of":"2026-03-31","limits":{"max_turns":8},"repeats":3,"expected_sources":[]}
    - {"name":"case-2","tags":["money"],"turns":[{"input":"How many orders?","ground_truth":[{"kind":"sql","sql":"SELECT count(*) FROM orders"}],"expected_tools":[],"files":[]},{"input":"And customers?","ground_truth":[{"kind":"semantic","semantic":{"measures":["customers.count"]}}],"expected_tools":[],"files":[{"path":"agents/files/prompt.md"}]}],"expected_tools_mode":"subset","forbidden_tools":[],"as_of":"2026-01-31","limits":{"max_turns":8},"repeats":1,"expected_sources":[]}
    - {"name":"unknown","tags":["money"],"skip":"no model yet","turns":[{"input":"What is the churn?","ground_truth":[{"kind":"refusal"}],"expected_tools":[],"files":[]}],"expected_tools_mode":"subset","forbidden_tools":["sql_*"],"as_of":"2026-03-31","limits":{"max_turns":8},"repeats":3,"expected_sources":[]}
    "#);
    let named = load(
        folder.path(),
        &format!("{BASE}test_cases_file: files/cases.yaml\n"),
    );
    assert_eq!(named.cases, Some(cases));
}

#[test]
fn every_metric_has_its_defaults() {
    let agent = agent(
        "name: analyst
instructions: {inline: Answer.}
evaluations:
  model: {name: judge}
  metrics:
    - {metric: equality, type: standard}
    - {metric: contains, values: revenue}
    - {metric: not_contains}
    - {metric: regex, pattern: '[0-9]+'}
    - {metric: numeric}
    - {metric: sql_result}
    - {metric: tools}
    - {metric: refusal, model: {name: other}}
    - {metric: cost, max: 0.1}
    - {metric: tokens, max: 1000}
    - {metric: seconds, max: 30}
    - {metric: steps, max: 5}
    - {metric: f1_score, threshold: 0.5, enabled: false, name: words, response_path: a.b}
    - {metric: bleu}
    - {metric: rouge}
    - {metric: meteor}
    - {type: geval, name: Tone, criteria: Is it polite?}
    - {type: rag, metric_type: faithfulness}
",
    );
    let metrics = agent.evaluations.unwrap().metrics;
    assert_snapshot!(lines(&metrics), @r#"
    - {"enabled":true,"metric":"equality","case_insensitive":false,"strip_whitespace":false,"strip_punctuation":false}
    - {"enabled":true,"metric":"contains","values":["revenue"],"case_insensitive":false}
    - {"enabled":true,"metric":"not_contains","case_insensitive":false}
    - {"enabled":true,"metric":"regex","pattern":"[0-9]+"}
    - {"enabled":true,"metric":"numeric","pick":"answer_line","absolute_tolerance":1e-6,"relative_tolerance":0.0,"accept_percent":false,"accept_thousands_separators":false,"decimal":"."}
    - {"enabled":true,"metric":"sql_result","extra_columns":"allow","allow_empty":false}
    - {"enabled":true,"metric":"tools"}
    - {"enabled":true,"model":{"name":"other"},"metric":"refusal"}
    - {"enabled":true,"metric":"cost","max":0.1}
    - {"enabled":true,"metric":"tokens","max":1000.0}
    - {"enabled":true,"metric":"seconds","max":30.0}
    - {"enabled":true,"metric":"steps","max":5.0}
    - {"name":"words","threshold":0.5,"enabled":false,"response_path":"a.b","metric":"f1_score"}
    - {"enabled":true,"metric":"bleu"}
    - {"enabled":true,"metric":"rouge","variant":"rougeL"}
    - {"enabled":true,"metric":"meteor"}
    - {"name":"Tone","enabled":true,"metric":"geval","criteria":"Is it polite?","evaluation_params":["actual_output"],"strict_mode":false,"votes":1}
    - {"enabled":true,"metric":"rag","metric_type":"faithfulness"}
    "#);
}

#[test]
fn a_value_survives_its_snapshot() {
    let folder = project();
    let path = folder.path().join("agents/holodeck-support.yaml");
    let agent = AgentFile::load(&path, folder.path()).unwrap();
    let text = serde_json::to_string(&agent).unwrap();
    assert_eq!(serde_json::from_str::<AgentFile>(&text).unwrap(), agent);
}

#[test]
fn the_digest_is_of_the_content() {
    let folder = project();
    let digest = |text: &str| load(folder.path(), text).digest;
    let base = digest(BASE);
    let same = [
        "# A comment.\ninstructions:\n  inline: Answer.\nname: analyst\n".to_owned(),
        format!("{BASE}description: The analyst.\nauthor: Ada\n"),
        format!("{BASE}limits: {{max_turns: 20}}\ntodo:\n"),
        format!("{BASE}test_cases: [{{input: How much?}}]\n"),
    ];
    for text in same {
        assert_eq!(digest(&text), base, "{text}");
    }
    let others = [
        "name: analyst\ninstructions: {inline: Answer well.}\n".to_owned(),
        format!("{BASE}limits: {{max_turns: 21}}\n"),
        format!("{BASE}tools: [sl_query]\n"),
        format!("{BASE}model: {{name: opus}}\n"),
    ];
    for text in others {
        assert_ne!(digest(&text), base, "{text}");
    }
    let file = "name: analyst\ninstructions: {file: files/prompt.md}\n";
    let before = digest(file);
    fs::write(folder.path().join("agents/files/prompt.md"), "Answer.").unwrap();
    assert_ne!(digest(file), before);
    assert_snapshot!(base, @"ac9eacf97c92b0a2c87a3ad566b2f836cdfc58bc8274fb88efcb7ee57b70fe41");
}
