//! The text form of `ktx status`.

use ktx_diagnostics::counted;
use serde_json::Value;

pub(crate) fn render(status: &Value, verbose: bool) -> String {
    let mut page = String::new();
    let mut line = |label: &str, value: &str| {
        page.extend([format!("{label:<13}{value}\n")]);
    };
    line("Project", &text(&status["projectDir"]));
    line(
        "Verdict",
        &format!(
            "{} ({})",
            text(&status["verdict"]),
            text(&status["verdictReason"])
        ),
    );
    line(
        "Config",
        &format!(
            "{} {}",
            mark(&status["config"]),
            text(&status["config"]["detail"])
        ),
    );
    for issue in items(&status["config"]["issues"]) {
        line(
            "",
            &format!("{}: {}", text(&issue["path"]), text(&issue["message"])),
        );
    }
    model(&status["llm"], &mut line);
    parts(status, &mut line);
    if let Value::Object(capabilities) = &status["capabilities"] {
        let said: Vec<String> = capabilities
            .iter()
            .map(|(name, capability)| format!("{name} {}", text(&capability["able"])))
            .collect();
        line("Can", &said.join(" · "));
    }
    for source in items(&status["localStats"]["semanticLayer"]) {
        let sources = &source["sourceCount"];
        let shards = &source["shardCount"];
        line(
            "Local data",
            &format!(
                "{}: {}, {}",
                text(&source["connectionId"]),
                counted(sources, "source file"),
                counted(shards, "manifest shard")
            ),
        );
    }
    for (index, proposal) in items(&status["proposals"]).iter().enumerate() {
        let label = if index == 0 { "Kept back" } else { "" };
        let paths: Vec<String> = items(&proposal["paths"]).iter().map(text).collect();
        let (source, unit) = (text(&proposal["connectionId"]), text(&proposal["unitKey"]));
        line(label, &format!("! {source} {unit}: {}", paths.join(", ")));
        line(
            "",
            &format!(
                "hint: look at `{}`, then `git apply` it or remove it",
                text(&proposal["file"])
            ),
        );
    }
    let unseen: Vec<String> = items(&status["notLookedAt"])
        .iter()
        .map(|unseen| format!("{} (`{}`)", text(&unseen["what"]), text(&unseen["command"])))
        .collect();
    if !unseen.is_empty() {
        line("Not seen", &unseen.join(" · "));
    }
    for warning in items(&status["warnings"]) {
        line("Warning", &text(&warning["message"]));
        line("", &format!("hint: {}", text(&warning["fix"])));
    }
    if verbose {
        line("Embeddings", &text(&status["embeddings"]["detail"]));
        line("Work units", &status["workUnits"].to_string());
        line("Joins", &status["relationshipsDetail"].to_string());
        line("Pipeline", &status["pipeline"].to_string());
    }
    for action in items(&status["nextActions"]) {
        line("Next", &text(action));
    }
    page
}

fn model(llm: &Value, line: &mut dyn FnMut(&str, &str)) {
    line(
        "Model",
        &format!(
            "{} {} · {}",
            mark(llm),
            text(&llm["backend"]),
            text(&llm["detail"])
        ),
    );
    if let Value::Object(facts) = &llm["facts"] {
        for (label, value) in facts {
            line("", &format!("{label}: {}", text(value)));
        }
    }
    for warning in items(&llm["warnings"]) {
        line("", &format!("warning: {}", text(warning)));
    }
    if let Some(limit) = llm["rateLimit"]["detail"].as_str() {
        line("", &format!("limit: {limit}"));
    }
    if let Some(budget) = llm["budget"]["detail"].as_str() {
        line("", &format!("budget of the day: {budget}"));
    }
    if let Some(fix) = llm["fix"].as_str() {
        line("", &format!("hint: {fix}"));
    }
}

/// Renders connections, git and the files of the semantic layer.
fn parts(status: &Value, line: &mut dyn FnMut(&str, &str)) {
    for (index, connection) in items(&status["connections"]).iter().enumerate() {
        let label = if index == 0 { "Connections" } else { "" };
        let (name, driver) = (text(&connection["name"]), text(&connection["driver"]));
        line(
            label,
            &format!(
                "{} {name} ({driver}) · {}",
                mark(connection),
                text(&connection["detail"])
            ),
        );
        for told in scope(&connection["scope"]) {
            line("", &told);
        }
        if let Some(fix) = connection["fix"].as_str() {
            line("", &format!("hint: {fix}"));
        }
    }
    for (index, past) in items(&status["queryHistory"]).iter().enumerate() {
        let label = if index == 0 { "History" } else { "" };
        let (name, detail) = (text(&past["connection"]), text(&past["detail"]));
        line(label, &format!("{} {name} · {detail}", mark(past)));
        if let Some(fix) = past["fix"].as_str() {
            line("", &format!("hint: {fix}"));
        }
    }
    for (label, look) in [("Git", "git"), ("Local state", "localState")] {
        if status[look]["status"] == "fail" {
            line(label, &format!("✗ {}", text(&status[look]["detail"])));
        }
    }
    for (index, issue) in items(&status["sources"]["issues"]).iter().enumerate() {
        let label = if index == 0 { "Sources" } else { "" };
        line(
            label,
            &format!("✗ {}: {}", text(&issue["path"]), text(&issue["message"])),
        );
    }
}

/// Describes what the last scan read, and what it omitted.
fn scope(scope: &Value) -> Vec<String> {
    let counted = |schema: &Value| {
        let tables = schema["tables"].as_u64().unwrap_or_default();
        let s = if tables == 1 { "" } else { "s" };
        format!("{} ({tables} table{s})", text(&schema["name"]))
    };
    let schemas: Vec<String> = items(&scope["schemas"]).iter().map(counted).collect();
    let left: Vec<String> = items(&scope["leftOut"])
        .iter()
        .map(|schema| {
            let why = match schema["reason"].as_str() {
                Some("not_granted") => "not granted to the login",
                _ => "not named by the connection",
            };
            format!("{} ({why})", text(&schema["name"]))
        })
        .collect();
    let lines = [("schemas", schemas), ("left out", left)];
    let told = lines.into_iter().filter(|(_, names)| !names.is_empty());
    told.map(|(label, names)| format!("{label}: {}", names.join(", ")))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn mark(value: &Value) -> &'static str {
    match value["status"].as_str() {
        Some("ok") => "✓",
        Some("fail") => "✗",
        Some("warn") => "!",
        _ => "·",
    }
}
