//! The rules HOLO-20 to HOLO-23 and C-02, and limits of backends.

use ktx_diagnostics::{Code, Diagnostic};
use ktx_vocabulary::Backend;
use serde_json::Value;

use super::{Capabilities, Embedding, Rules};
use crate::model::Model;
use crate::spec::PathKind;

/// Claude Code reads this file from its folder.
const MEMORY: &str = "CLAUDE.md";

/// A HoloDeck capability that ktx agents do not have.
struct RefusedCapability {
    key: &'static str,
    /// Keys of the block that enable it; empty if the key itself does.
    switches: &'static [&'static str],
    why: &'static str,
    instead: &'static str,
}

const REFUSED: [RefusedCapability; 4] = [
    RefusedCapability {
        key: "bash",
        switches: &["enabled"],
        why: "ktx agents run no commands",
        instead: "serve the command as an MCP tool, or use `sql_execution`",
    },
    RefusedCapability {
        key: "file_system",
        switches: &["read", "write", "edit"],
        why: "ktx agents reach no files of the machine",
        instead: "name a folder of the project in `workspace.root`",
    },
    RefusedCapability {
        key: "web_search",
        switches: &[],
        why: "ktx agents search no web",
        instead: "serve a search as an MCP tool",
    },
    RefusedCapability {
        key: "subagents",
        switches: &["enabled"],
        why: "ktx agents start no agents of Claude Code",
        instead: "name the agents that may be asked in `agents`",
    },
];

impl Rules<'_> {
    /// HOLO-20.
    pub(super) fn embeddings(&mut self) {
        let given = self.at(&["embedding_provider"]).is_some();
        if given || self.around.embedding != Embedding::Absent {
            return;
        }
        let searching = self.items(&["tools"]).find_map(|(index, tool)| {
            let kind = tool.get("type")?.as_str()?;
            let is_search = matches!(kind, "vectorstore" | "hierarchical_document");
            let mode = tool.get("search_mode").and_then(Value::as_str);
            let by_words = matches!(mode, Some("keyword" | "exact"));
            (is_search && !by_words).then_some(index)
        });
        if let Some(index) = searching {
            let message = "the agent searches documents and nobody gives embeddings: set \
                           `embedding_provider`, or `ingest.embeddings` in ktx.yaml";
            let fault = Diagnostic::error(Code::EmbeddingsMissing, message);
            let place = self.places.value(&["tools", &index]);
            self.push(fault.at(place));
        }
    }

    /// HOLO-21.
    pub(super) fn filtering(&mut self) {
        if self.at(&["tool_filtering"]).is_some() {
            let message = "tool_filtering is ignored: ktx offers every tool of the agent";
            self.warn(&["tool_filtering"], message);
        }
    }

    /// HOLO-22.
    pub(super) fn foreign_claude(&mut self) {
        let Some(provider) = self.other_provider() else {
            return;
        };
        if self.at(&["claude"]).is_some() {
            let message = format!("claude is ignored for `{}`", provider.as_str());
            self.warn(&["claude"], &message);
        }
    }

    /// HOLO-23.
    pub(super) fn collision(&mut self) {
        let path = ["claude", "working_directory"];
        let Some(written) = self.text(&path) else {
            return;
        };
        let folder = self.disk.find(written, PathKind::Folder);
        if folder.is_ok_and(|folder| folder.join(MEMORY).exists()) {
            let shown = written.trim_end_matches('/');
            let message = format!("{shown}/{MEMORY} exists; ktx does not read it");
            self.warn(&path, &message);
        }
    }

    /// C-02.
    pub(super) fn capabilities(&mut self) {
        if self.other_provider().is_some() {
            return;
        }
        for refused in &REFUSED {
            let is_on = |path: &[&str]| self.at(path) == Some(&Value::Bool(true));
            let on = match refused.switches {
                [] => is_on(&["claude", refused.key]).then_some(vec!["claude", refused.key]),
                switches => switches
                    .iter()
                    .map(|switch| vec!["claude", refused.key, switch])
                    .find(|path| is_on(path)),
            };
            let Some(path) = on else { continue };
            let message = format!("claude.{}: {}", refused.key, refused.why);
            let fault = match self.around.capabilities {
                Capabilities::Refused => Diagnostic::error(Code::CapabilityRefused, message),
                Capabilities::Ignored => Diagnostic::warning(Code::CapabilityRefused, message),
            };
            let place = self.places.value(&path);
            self.push(fault.at(place).hint(refused.instead));
        }
    }

    pub(super) fn abilities(&mut self) {
        let text = |key: &str| self.text(&["model", key]).map(str::to_owned);
        let model = Model {
            provider: text("provider"),
            auth_provider: text("auth_provider"),
            ..Model::default()
        };
        let backend = model.backend(self.around.backend.unwrap_or(Backend::None));
        if backend == Backend::None || backend.takes_sampling() {
            return;
        }
        for path in [
            ["model", "temperature"],
            ["model", "top_p"],
            ["model", "max_tokens"],
            ["claude", "extended_thinking"],
        ] {
            if self.at(&path).is_some() {
                let message = format!("not on this backend: `{}`", path.join("."));
                self.warn(&path, &message);
            }
        }
    }
}
