//! Faults with their places, messages and hints.

use insta::assert_snapshot;

use super::*;
use crate::Capabilities;

fn faults_between(first: &str, end: &str) -> String {
    let folder = project();
    let mut all = String::new();
    for path in fixtures(folder.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("holodeck") || name.as_str() < first || name.as_str() >= end {
            continue;
        }
        let checked = AgentFile::check(&path, folder.path(), &known());
        let is_good = checked.value.is_some();
        all.push_str(&told(&checked.faults));
        let errors = ktx_diagnostics::Diagnostics(checked.faults).has_errors();
        assert_eq!(is_good, !errors, "{name}");
    }
    all
}

/// HOLO-01, HOLO-02, HOLO-03, HOLO-04, HOLO-05, HOLO-06, HOLO-07, HOLO-08, HOLO-22, HOLO-23.
#[test]
fn faults_of_agents_cases_and_claude_have_their_place_and_message() {
    assert_snapshot!(faults_between("a", "context"), @r"
    error: agents/agents-circle.yaml:3:10: agents: `agents-middle` asks `agents-circle` again; sub-agents may not form a circle
    error: agents/agents-itself.yaml:3:10: agents: `agents-itself` asks itself; sub-agents may not form a circle
    error: agents/agents-middle.yaml:3:10: agents: `agents-circle` asks `agents-middle` again; sub-agents may not form a circle
    error: agents/agents-unknown.yaml:3:10: agents.0: there is no agent `gud`
      hint: make it with `ktx agent init gud`
    error: agents/api-key-written.yaml:5:12: model.api_key: write `env:NAME`; a key in a committed file is public
    warning: agents/auth-ignored.yaml:3:27: auth_provider is ignored for `openai`
    error: agents/auth-unsupported.yaml:3:45: model.auth_provider: `bedrock` is not supported yet; there are: api_key, oauth_token, vertex
    error: agents/author-long.yaml:3:9: author: has 300 characters, at most 256
    error: agents/case-as-of.yaml:4:31: test_cases.0.as_of: use a date such as `2026-01-31`
    error: agents/case-connection.yaml:5:47: test_cases.0.ground_truth.connection: there is no connection `warehose`
      hint: did you mean `warehouse`?
    error: agents/case-count.yaml:5:59: test_cases.0.expected_tools.1.count: must be at least 1
    error: agents/case-files.yaml:5:12: test_cases.0.files: has 11 entries, at most 10
    error: agents/case-input-and-turns.yaml:4:5: test_cases.0: give `input` or `turns`, not both
    error: agents/case-name-twice.yaml:5:12: test_cases: `first` is there twice
    error: agents/case-refusal-false.yaml:4:48: test_cases.0.ground_truth.refusal: must be `true`, not `false`
    error: agents/case-repeats.yaml:4:33: test_cases.0.repeats: 101 is not between 1 and 100
    error: agents/case-truth-above-turns.yaml:4:48: test_cases.0.ground_truth: write it in the turn that it belongs to
    error: agents/case-truth-kind.yaml:4:38: test_cases.0.ground_truth: give one of `text`, `sql`, `semantic`, `rows`, `value`, `refusal`
      hint: did you mean `value`?
    error: agents/case-truth-two.yaml:4:38: test_cases.0.ground_truth: give `sql` or `value`, not both
    error: agents/case-without-input.yaml:4:5: test_cases.0: give `input` or `turns`
    error: agents/files/cases-wrong.yaml:1:31: 0.repeats: must be a whole number from 1 to 100, not text
    error: agents/files/cases-wrong.yaml:2:44: 1.ground_truth.rows.0: must be a list, not a number
    error: agents/files/cases-wrong.yaml:2:49: 1.file: there is no such key
      hint: did you mean `files`?
    error: agents/cases-twice.yaml:4:3: test_cases: give the cases here or in `test_cases_file`, not both
    error: agents/claude-bash.yaml:4:19: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    error: agents/claude-budget.yaml:6:20: claude.extended_thinking.budget_tokens: 500 is not between 1000 and 100000
    warning: agents/claude-collision.yaml:4:10: files/desk/CLAUDE.md exists; ktx does not read it
    error: agents/claude-files.yaml:4:23: claude.file_system: ktx agents reach no files of the machine
      hint: name a folder of the project in `workspace.root`
    warning: agents/claude-ignored.yaml:4:1: claude is ignored for `openai`
    error: agents/claude-mode.yaml:3:27: claude.permission_mode: use manual, acceptEdits or acceptAll
      hint: did you mean `acceptAll`?
    error: agents/claude-parallel.yaml:3:36: claude.subagents.max_parallel: 17 is not between 1 and 16
    error: agents/claude-subagents.yaml:4:24: claude.subagents: ktx agents start no agents of Claude Code
      hint: name the agents that may be asked in `agents`
    error: agents/claude-tools.yaml:4:36: claude.allowed_tools.1: there is no tool `wiki_read` in `tools`
    error: agents/claude-turns.yaml:3:21: claude.max_turns: must be at least 1
    error: agents/claude-web.yaml:3:22: claude.web_search: ktx agents search no web
      hint: serve a search as an MCP tool
    ");
}

/// HOLO-09, HOLO-10, HOLO-20, HOLO-21. `good.yaml` has no fault.
#[test]
fn faults_of_keys_have_their_place_and_message() {
    assert_snapshot!(faults_between("context", "model"), @r"
    error: agents/context-role.yaml:3:17: context.role: there is no role `curater`; there are: default, triage, candidateExtraction, curator, reconcile, repair
      hint: did you mean `curator`?
    error: agents/context-target.yaml:3:37: context.target: must be below compress_at
    error: agents/description-long.yaml:3:14: description: has 612 characters, at most 500
    error: agents/embedding-provider-wrong.yaml:3:32: embedding_provider.provider: only openai and azure_openai give embeddings
    error: agents/embeddings-missing.yaml:6:5: the agent searches documents and nobody gives embeddings: set `embedding_provider`, or `ingest.embeddings` in ktx.yaml
    error: agents/endpoint-missing.yaml:4:3: model.endpoint: azure_openai needs one
    error: agents/endpoint-wrong.yaml:3:37: model.endpoint: use an address that begins with `https://` or `http://`
    warning: agents/filtering.yaml:4:1: tool_filtering is ignored: ktx offers every tool of the agent
    warning: agents/foreign-blocks.yaml:3:1: observability is HoloDeck's: ktx reads the OTEL_* variables
    warning: agents/foreign-blocks.yaml:4:1: deployment is HoloDeck's: ktx runs where its project is
    warning: agents/foreign-blocks.yaml:5:30: execution.verbose is HoloDeck's: use `--debug`
    error: agents/function-python.yaml:7:11: tools.0.file: ktx runs no Python: name a ktx tool, or serve the function over MCP
    error: agents/function-without-tool.yaml:4:5: tools.0.tool: is missing
      hint: add `tool:` with the name of a ktx tool
    error: agents/instructions-both.yaml:3:3: instructions: give `inline` or `file`, not both
    error: agents/instructions-file-absent.yaml:2:22: instructions.file: `x.md` is not there
    error: agents/instructions-file-outside.yaml:2:22: instructions.file: `../../outside.md` is outside the project
    error: agents/instructions-missing.yaml:1:1: instructions: is missing
      hint: add `instructions:` with an object
    error: agents/instructions-neither.yaml:2:15: instructions: give `inline` or `file`
    error: agents/key-misspelled.yaml:5:3: model.temprature: there is no such key
      hint: did you mean `temperature`?
    error: agents/key-twice.yaml:4:1: `todo` is there twice
      hint: remove one of the two entries
    error: agents/key-unknown.yaml:3:1: memory: there is no such key
      hint: run `ktx admin schema --agent` for all keys
    error: agents/limits-kind.yaml:3:19: limits.max_usd: must be a number from 0, not text
    error: agents/limits-turns.yaml:4:14: limits.max_turns: must be at least 1
    error: agents/max-parallel-range.yaml:3:15: max_parallel: 17 is not between 1 and 16
    error: agents/max-tokens-zero.yaml:4:15: model.max_tokens: must be at least 1
    error: agents/mcp-secret-written.yaml:7:47: tools.0.env.JIRA_TOKEN: write `env:NAME`; a key in a committed file is public
    error: agents/mcp-url-for-stdio.yaml:4:53: tools.0.url: has no meaning for `stdio`
    error: agents/mcp-without-command.yaml:4:5: tools.0.command: `stdio` needs one
    error: agents/metric-code.yaml:5:16: evaluations.metrics.0.metric: ktx runs no foreign code as a grader
      hint: use `sql_result`, `tools` or `regex`
    error: agents/metric-foreign.yaml:5:16: evaluations.metrics.0.metric: ktx does not have this metric
      hint: use `type: rag` with `metric_type: faithfulness`
    error: agents/metric-max.yaml:5:7: evaluations.metrics.0.max: is missing
      hint: add `max:` with a number from 0
    error: agents/metric-missing.yaml:5:7: evaluations.metrics.0.metric: is missing
      hint: add `metric:` with one of `equality`, `contains`, `not_contains`, `regex`, `numeric`, `sql_result`, `tools`, `refusal`, `cost`, `tokens`, `seconds`, `steps`, `f1_score`, `bleu`, `rouge`, `meteor`
    error: agents/metric-parameter.yaml:5:26: evaluations.metrics.0.case_insensitiv: there is no such key
      hint: did you mean `case_insensitive`?
    error: agents/metric-rag.yaml:5:32: evaluations.metrics.0.metric_type: use faithfulness, answer_relevancy, contextual_relevancy, contextual_precision or contextual_recall
      hint: did you mean `faithfulness`?
    error: agents/metric-regex.yaml:5:32: evaluations.metrics.0.pattern: is not a regular expression: unclosed character class
    error: agents/metric-threshold.yaml:5:33: evaluations.metrics.0.threshold: 5 is not between 0 and 1
    error: agents/metric-unknown.yaml:5:15: evaluations.metrics.0.metric: there is no metric `rogue`; there are: equality, contains, not_contains, regex, numeric, sql_result, tools, refusal, cost, tokens, seconds, steps, f1_score, bleu, rouge, meteor
      hint: did you mean `rouge`?
    error: agents/metric-votes.yaml:5:65: evaluations.metrics.0.votes: 2 is not an odd number from 1 to 15
    ");
}

/// HOLO-10, HOLO-11.
#[test]
fn faults_of_tools_and_permissions_have_their_place_and_message() {
    assert_snapshot!(faults_between("model", "zz"), @r#"
    error: agents/model-name-empty.yaml:4:9: model.name: is empty
    error: agents/name-missing.yaml:1:1: name: is missing
      hint: add `name:` with a name
    error: agents/name-wrong.yaml:1:7: name: use letters, digits and `-`, beginning with a letter, at most 100
    error: agents/permissions-expires.yaml:3:24: permissions.expires: must be `never` or a time such as `15m`, not a number
    error: agents/permissions-group.yaml:3:23: permissions.allow.0: there is no group `@reads`; there are: @read, @write, @all, @mcp:SERVER
      hint: did you mean `@read`?
    error: agents/permissions-key.yaml:3:39: permissions.deny.0.arguments: there is no such key
      hint: use one of `tool`, `args`
    error: agents/permissions-mode.yaml:4:9: permissions.mode: use auto, approval or readonly
      hint: did you mean `auto`?
    error: agents/permissions-regex.yaml:6:28: permissions.allow.0.args.path.regex: is not a regular expression: unclosed group
    error: agents/prompt-neither.yaml:4:5: tools.0: give `template` or `file`
    error: agents/provider-unknown.yaml:3:19: model.provider: there is no provider `antropic`; there are: anthropic, openai, azure_openai, ollama, vertex, gateway, claude-code, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible
      hint: did you mean `anthropic`?
    error: agents/response-format-file.yaml:3:18: response_format: the root must be an object
    error: agents/response-format-list.yaml:3:18: response_format: the root must be an object
    error: agents/response-format-type.yaml:3:18: response_format: the schema is not valid: "amount" is not valid under any of the schemas listed in the 'anyOf' keyword
    error: agents/root-list.yaml:1:1: must be an object, not a list
    warning: agents/sampling.yaml:3:32: not on this backend: `model.temperature`
    warning: agents/sampling.yaml:3:50: not on this backend: `model.top_p`
    warning: agents/sampling.yaml:3:62: not on this backend: `model.max_tokens`
    warning: agents/sampling.yaml:4:10: not on this backend: `claude.extended_thinking`
    error: agents/schedule-both.yaml:4:5: schedule.0: give `cron` or `every_minutes`, not both
    error: agents/schedule-cron.yaml:4:27: schedule.0.cron: the hour `25` is not valid: use 0 to 23, `*`, `a-b`, `a,b` or `*/n`
    error: agents/schedule-fields.yaml:4:27: schedule.0.cron: has 3 fields; write 5 (minute, hour, day of the month, month, day of the week) or 2 (minute, hour)
    error: agents/schedule-message.yaml:4:5: schedule.0.message: is missing
      hint: add `message:` with text
    error: agents/schedule-zone.yaml:4:42: schedule.0.timezone: there is no time zone `Europe/Berln`
      hint: did you mean `Europe/Berlin`?
    error: agents/source-absent.yaml:4:45: tools.0.source: `files/nothing` is not there
    error: agents/temperature-range.yaml:4:16: model.temperature: 3 is not between 0 and 2
    error: agents/todo-kind.yaml:3:17: todo.enabled: must be `true` or `false`, not text
    error: agents/tool-name-wrong.yaml:3:9: tools.0: use letters, digits and `_`, at most 48
    error: agents/tool-type-missing.yaml:4:5: tools.0.type: is missing
      hint: add `type:` with one of `function`, `mcp`, `prompt`, `vectorstore`, `hierarchical_document`
    error: agents/tool-type-unknown.yaml:4:12: tools.0.type: there is no type of tool `functon`; there are: function, mcp, prompt, vectorstore, hierarchical_document
      hint: did you mean `function`?
    error: agents/tool-unknown.yaml:3:19: tools.1: there is no tool `wiki_serach`
      hint: did you mean `wiki_search`?
    error: agents/tools-many.yaml:4:3: tools: has 51 entries, at most 50
    error: agents/tools-twice.yaml:5:28: tools: `sl_query` is there twice
    error: agents/top-k-range.yaml:4:94: tools.0.top_k: 101 is not between 1 and 100
    error: agents/top-p-range.yaml:4:10: model.top_p: -0.5 is not between 0 and 1
    error: agents/workspace-root.yaml:3:19: workspace.root: must be a folder inside the project
    error: agents/yaml-syntax.yaml:3:1: cannot be read as YAML: did not find expected ',' or ']'
    "#);
}

/// HOLO-10.
#[test]
fn files_of_holodeck_open_or_say_why_not() {
    let folder = project();
    let mut all = String::new();
    for name in ["holodeck-support", "holodeck-claude", "holodeck-functions"] {
        let path = folder.path().join(format!("agents/{name}.yaml"));
        let checked = AgentFile::check(&path, folder.path(), &known());
        all.push_str(&told(&checked.faults));
        all.push_str(match checked.value {
            Some(_) => "opens\n\n",
            None => "does not open\n\n",
        });
    }
    assert_snapshot!(all, @"
    warning: agents/holodeck-support.yaml:18:5: tools.0.chunk_size is HoloDeck's: ktx divides documents itself
    warning: agents/holodeck-support.yaml:19:5: tools.0.chunk_overlap is HoloDeck's: ktx divides documents itself
    warning: agents/holodeck-support.yaml:20:5: tools.0.embedding_model is HoloDeck's: use `embedding_provider`
    warning: agents/holodeck-support.yaml:21:5: tools.0.database is HoloDeck's: ktx keeps its own index
    warning: agents/holodeck-support.yaml:31:5: tools.1.load_prompts is HoloDeck's: ktx takes tools only
    warning: agents/holodeck-support.yaml:49:30: execution.file_timeout is HoloDeck's: ktx reads files of the project only
    warning: agents/holodeck-support.yaml:49:48: execution.cache_enabled is HoloDeck's: ktx asks every case again
    warning: agents/holodeck-support.yaml:50:1: observability is HoloDeck's: ktx reads the OTEL_* variables
    opens

    warning: agents/holodeck-claude.yaml:16:5: tools.0.chunking_strategy is HoloDeck's: ktx divides documents itself
    warning: agents/holodeck-claude.yaml:17:5: tools.0.max_chunk_tokens is HoloDeck's: ktx divides documents itself
    warning: agents/holodeck-claude.yaml:18:5: tools.0.contextual_embeddings is HoloDeck's: use `embedding_provider`
    warning: agents/holodeck-claude.yaml:24:5: tools.0.rrf_k is HoloDeck's: ktx keeps its own index
    warning: agents/holodeck-claude.yaml:34:1: tool_filtering is ignored: ktx offers every tool of the agent
    warning: agents/holodeck-claude.yaml:26:3: files/desk/CLAUDE.md exists; ktx does not read it
    error: agents/holodeck-claude.yaml:31:19: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    error: agents/holodeck-claude.yaml:32:23: claude.file_system: ktx agents reach no files of the machine
      hint: name a folder of the project in `workspace.root`
    error: agents/holodeck-claude.yaml:33:24: claude.subagents: ktx agents start no agents of Claude Code
      hint: name the agents that may be asked in `agents`
    warning: agents/holodeck-claude.yaml:29:3: not on this backend: `claude.extended_thinking`
    does not open

    error: agents/holodeck-functions.yaml:23:16: tools.2.transport: use stdio, http or sse
    error: agents/holodeck-functions.yaml:24:10: tools.2.url: use an address that begins with `https://` or `http://`
    error: agents/holodeck-functions.yaml:27:16: evaluations.metrics.0.metric: ktx does not have this metric
      hint: use `type: rag` with `metric_type: faithfulness`
    warning: agents/holodeck-functions.yaml:28:38: evaluations.metrics.1.fail_on_error is HoloDeck's: an error is never a score
    error: agents/holodeck-functions.yaml:11:11: tools.0.file: ktx runs no Python: name a ktx tool, or serve the function over MCP
    does not open
    ");
}

#[test]
fn ignored_capabilities_are_warnings() {
    let folder = project();
    let path = folder.path().join("agents/holodeck-claude.yaml");
    let around = ProjectFacts {
        capabilities: Capabilities::Ignored,
        ..known()
    };
    let checked = AgentFile::check(&path, folder.path(), &around);
    let refused = checked
        .faults
        .iter()
        .filter(|fault| fault.code == ktx_diagnostics::Code::CapabilityRefused);
    let refused: Vec<_> = refused.cloned().collect();
    assert_snapshot!(told(&refused), @r"
    warning: agents/holodeck-claude.yaml:31:19: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    warning: agents/holodeck-claude.yaml:32:23: claude.file_system: ktx agents reach no files of the machine
      hint: name a folder of the project in `workspace.root`
    warning: agents/holodeck-claude.yaml:33:24: claude.subagents: ktx agents start no agents of Claude Code
      hint: name the agents that may be asked in `agents`
    ");
    assert!(checked.value.is_some());
}

/// Faults of the shape come first, then the rules in their order.
#[test]
fn all_faults_are_reported_at_once() {
    let text = "name: a b\nmodel: {provider: opnai, temperature: hot}\ninstructions: {}\n\
                tools: [wiki_serach, {type: vectorstore, name: d, source: files/docs}]\n\
                claude: {bash: {enabled: true}, working_directory: files/desk}\ntool_filtering: {}\nworkspace: {root: nowhere}\n";
    assert_snapshot!(faults_of(text), @r"
    error: agents/a.yaml:1:7: name: use letters, digits and `-`, beginning with a letter, at most 100
    error: agents/a.yaml:2:19: model.provider: there is no provider `opnai`; there are: anthropic, openai, azure_openai, ollama, vertex, gateway, claude-code, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible
      hint: did you mean `openai`?
    error: agents/a.yaml:2:39: model.temperature: must be a number from 0 to 2, not text
    error: agents/a.yaml:3:15: instructions: give `inline` or `file`
    error: agents/a.yaml:7:19: workspace.root: must be a folder inside the project
    error: agents/a.yaml:4:9: tools.0: there is no tool `wiki_serach`
      hint: did you mean `wiki_search`?
    error: agents/a.yaml:4:22: the agent searches documents and nobody gives embeddings: set `embedding_provider`, or `ingest.embeddings` in ktx.yaml
    warning: agents/a.yaml:6:1: tool_filtering is ignored: ktx offers every tool of the agent
    warning: agents/a.yaml:5:33: files/desk/CLAUDE.md exists; ktx does not read it
    error: agents/a.yaml:5:26: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    ");
}

#[test]
fn a_key_without_a_value_is_absent() {
    let text = "name: a\ndescription:\nmodel:\ntools:\ninstructions: {inline: Answer., file: }\nlimits: {max_usd: }\n";
    assert_snapshot!(faults_of(text), @"");
}

#[test]
fn a_file_that_cannot_be_read_is_a_fault() {
    let folder = project();
    let absent = folder.path().join("agents/nothing.yaml");
    let error = AgentFile::load(&absent, folder.path()).unwrap_err();
    assert_snapshot!(told(&error.0), @"error: agents/nothing.yaml: there is no such file");
    let path = folder.path().join("agents/latin.yaml");
    fs::write(&path, b"name: caf\xe9\n").unwrap();
    let error = AgentFile::load(&path, folder.path()).unwrap_err();
    assert_snapshot!(told(&error.0), @r"
    error: agents/latin.yaml:1:10: `agents/latin.yaml` is not UTF-8 text
      hint: save the file as UTF-8
    ");
}

#[test]
fn no_secret_is_repeated() {
    let secret = "ghp_0123456789abcdefABCDEF0123456789";
    let places = [
        format!("model: {{api_key: {secret}}}"),
        format!("model: {{name: {secret}}}"),
        format!("model: {{endpoint: 'https://user:{secret}@x.example'}}"),
        format!("tools: [{{type: mcp, name: m, command: c, env: {{A: {secret}}}}}]"),
        format!("tools: [{{type: mcp, name: m, command: c, args: [{secret}]}}]"),
        format!(
            "tools: [{{type: mcp, name: m, transport: http, url: 'https://x.example', headers: {{Authorization: Bearer {secret}}}}}]"
        ),
    ];
    let mut all = String::new();
    for place in places {
        let text = format!("name: a\ninstructions: {{inline: Answer.}}\n{place}\n");
        all.push_str(&faults_of(&text));
    }
    assert!(!all.contains("0123456789"), "{all}");
    assert_snapshot!(all, @r"
    error: agents/a.yaml:3:18: model.api_key: write `env:NAME`; a key in a committed file is public
    error: agents/a.yaml:3:15: model.name: write `env:NAME`; a key in a committed file is public
    error: agents/a.yaml:3:19: model.endpoint: write `env:NAME`; a key in a committed file is public
    error: agents/a.yaml:3:51: tools.0.env.A: write `env:NAME`; a key in a committed file is public
    error: agents/a.yaml:3:49: tools.0.args.0: write `env:NAME`; a key in a committed file is public
    error: agents/a.yaml:3:98: tools.0.headers.Authorization: write `env:NAME`; a key in a committed file is public
    ");
}

#[test]
fn a_link_out_of_the_project_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("prompt.md"), "Answer.").unwrap();
    let folder = project();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("agents/link")).unwrap();
    let path = folder.path().join("agents/a.yaml");
    fs::write(&path, "name: a\ninstructions: {file: link/prompt.md}\n").unwrap();
    let error = AgentFile::load(&path, folder.path()).unwrap_err();
    assert_snapshot!(told(&error.0), @"error: agents/a.yaml:2:22: instructions.file: `link/prompt.md` is outside the project");
}
