//! `ktx llm ask`: one text from the model of a role.

use serde_json::{Value, json};

use crate::claude::{CONFIG, REGIONS, play, processes};
use crate::support::{commit, json as answer, run, unscanned, write};

/// KTX-50.
#[test]
fn a_role_answers_with_a_text() {
    let mut sandbox = unscanned(REGIONS);
    let models = "  models: { default: sonnet, triage: haiku }\n";
    write(&sandbox, "ktx.yaml", &format!("{CONFIG}{models}"));
    commit(&sandbox, "models");
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "Four." }], "model": "claude-sonnet-4-6" }),
    );
    check!(&sandbox, "llm ask -m 'What is two and two?'", @r"
exit 0
Four.
--- stderr
Project: [SANDBOX]/work
1 model messages, 137 tokens in, 20 out, list price $0.0008
");
    let told = answer(
        &sandbox,
        "llm ask 'What is two and two?' --role triage --json",
    );
    assert_eq!(
        told,
        json!({ "text": "Four.", "role": "triage", "model": "claude-sonnet-4-6", "runId": "[UUID]" })
    );
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap();
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let asked: Vec<String> = records
        .map(|record| {
            assert_eq!(record["prompt"], "What is two and two?");
            let arguments = record["arguments"].to_string();
            assert!(arguments.contains("--max-turns=1") && !arguments.contains("--allowedTools"));
            let models = ["sonnet", "haiku"].into_iter();
            let mut models = models.filter(|model| arguments.contains(&format!("--model={model}")));
            models.next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(asked, ["sonnet", "haiku"]);
    let stages = answer(&sandbox, "usage --by stage --json");
    assert!(stages.to_string().contains("\"ask\""), "{stages}");
}

#[test]
fn an_empty_question_and_a_role_without_use_are_refused() {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    play(&mut sandbox, json!({ "steps": [{ "text": "Four." }] }));
    check!(&sandbox, "llm ask", @"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <QUESTION|--message <TEXT>>

    Usage: ktx llm ask <QUESTION|--message <TEXT>>

    For more information, try '--help'.
    ");
    check!(&sandbox, "llm ask one -m two", @"
    exit 2
    --- stderr
    error: the argument '[QUESTION]' cannot be used with '--message <TEXT>'

    Usage: ktx llm ask <QUESTION|--message <TEXT>>

    For more information, try '--help'.
    ");
    check!(&sandbox, "llm ask -m ' '", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: the message is empty
");
    assert_eq!(run(&sandbox, "llm ask -m hi --role repair").code, Some(2));
    check!(&sandbox, "llm ask -m hi --max-tokens 1", @r"
exit 7
--- stderr
Project: [SANDBOX]/work
error: the next model call would exceed the budget: 0 of 1 tokens are used

hint: run the same command again with a larger budget
");
    assert_eq!(processes(&sandbox), 0);
}
