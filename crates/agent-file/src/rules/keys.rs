//! Rules about dependent keys.

use ktx_diagnostics::{Code, Hint};
use ktx_vocabulary::AgentProvider;
use serde_json::Value;

use super::Rules;

impl Rules<'_> {
    pub(super) fn keys(&mut self) {
        self.one_of(&["instructions"], "inline", "file");
        self.model_keys();
        self.tool_keys();
        self.context_keys();
        self.schedule_keys();
        if self.at(&["test_cases"]).is_some() && self.at(&["test_cases_file"]).is_some() {
            let message = "give the cases here or in `test_cases_file`, not both";
            self.error(&["test_cases"], Code::BadValue, message);
        }
    }

    fn one_of(&mut self, path: &[&str], first: &str, second: &str) {
        let Some(object) = self.at(path).and_then(Value::as_object) else {
            return;
        };
        let is_written = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
        match (is_written(first), is_written(second)) {
            (true, true) => {
                let message = format!("give `{first}` or `{second}`, not both");
                self.error(path, Code::BadValue, &message);
            }
            (false, false) => {
                let message = format!("give `{first}` or `{second}`");
                self.error(path, Code::MissingKey, &message);
            }
            _ => {}
        }
    }

    fn model_keys(&mut self) {
        let provider = self.provider();
        let has = |key: &str| self.at(&["model", key]).is_some();
        if let Some(provider) = provider.filter(|provider| provider.needs_address())
            && !has("endpoint")
        {
            let message = format!("{} needs one", provider.as_str());
            self.error(&["model", "endpoint"], Code::MissingKey, &message);
        }
        let deaf = provider.filter(|provider| !provider.has_auth_providers());
        if let Some(provider) = deaf.filter(|_| self.at(&["model", "auth_provider"]).is_some()) {
            let message = format!("auth_provider is ignored for `{}`", provider.as_str());
            self.warn(&["model", "auth_provider"], &message);
        }
        if self.at(&["model", "api_version"]).is_some() {
            let message = "api_version is not sent: give the address in `endpoint` that needs none, which ends with \
                           `/openai/v1`";
            self.warn(&["model", "api_version"], message);
        }
        if self
            .at(&["embedding_provider"])
            .is_some_and(Value::is_object)
        {
            let provider = self.text(&["embedding_provider", "provider"]);
            let provider = provider.and_then(AgentProvider::parse);
            let Some(provider) = provider.filter(|one| one.gives_embeddings()) else {
                self.error(
                    &["embedding_provider", "provider"],
                    Code::BadValue,
                    "only openai and azure_openai give embeddings",
                );
                return;
            };
            let endpoint = ["embedding_provider", "endpoint"];
            if provider.needs_address() && self.at(&endpoint).is_none() {
                let message = format!("{} needs one", provider.as_str());
                self.error(&endpoint, Code::MissingKey, &message);
            }
        }
    }

    fn tool_keys(&mut self) {
        let tools: Vec<(String, Option<String>)> = self
            .items(&["tools"])
            .map(|(index, tool)| {
                let kind = tool.get("type").and_then(Value::as_str);
                (index, kind.map(str::to_owned))
            })
            .collect();
        for (index, kind) in &tools {
            let path = ["tools", index.as_str()];
            match kind.as_deref() {
                Some("function") => self.function_keys(&path),
                Some("prompt") => self.one_of(&path, "template", "file"),
                Some("mcp") => self.server_keys(&path),
                _ => {}
            }
        }
    }

    fn function_keys(&mut self, path: &[&str]) {
        let of = |key| [path, &[key]].concat();
        let python = ["file", "function"]
            .into_iter()
            .find(|key| self.at(&of(key)).is_some());
        if let Some(key) = python {
            let message = "ktx runs no Python: name a ktx tool, or serve the function over MCP";
            self.error(&of(key), Code::CapabilityRefused, message);
        } else if self.at(&of("tool")).is_none() {
            let fault = self.error(&of("tool"), Code::MissingKey, "is missing");
            fault
                .hints
                .push(Hint::new("add `tool:` with the name of a ktx tool"));
        }
    }

    fn server_keys(&mut self, path: &[&str]) {
        let of = |key| [path, &[key]].concat();
        let transport = self.text(&of("transport")).unwrap_or("stdio").to_owned();
        let (needed, other) = match transport.as_str() {
            "stdio" => ("command", "url"),
            _ => ("url", "command"),
        };
        if self.at(&of(needed)).is_none() {
            let message = format!("`{transport}` needs one");
            self.error(&of(needed), Code::MissingKey, &message);
        }
        if self.at(&of(other)).is_some() {
            let message = format!("has no meaning for `{transport}`");
            self.error(&of(other), Code::BadValue, &message);
        }
    }

    fn context_keys(&mut self) {
        let number = |key, default| {
            self.at(&["context", key])
                .map_or(Some(default), Value::as_f64)
        };
        let shares = number("compress_at", 0.8).zip(number("target", 0.5));
        if shares.is_some_and(|(compress_at, target)| target >= compress_at) {
            let path = ["context", "target"];
            self.error(&path, Code::BadValue, "must be below compress_at");
        }
    }

    fn schedule_keys(&mut self) {
        let entries: Vec<String> = self.items(&["schedule"]).map(|(index, _)| index).collect();
        for index in &entries {
            self.one_of(&["schedule", index], "cron", "every_minutes");
        }
    }
}
