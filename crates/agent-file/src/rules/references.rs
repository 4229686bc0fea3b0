//! Rules about referenced files, tools and agents.

use std::collections::BTreeSet;
use std::fs;

use ktx_config::yaml;
use ktx_diagnostics::{Code, Hint, nearest};
use serde_json::Value;

use super::Rules;
use crate::folder::{PathFault, agent_names, agent_path, stem};
use crate::form::TextForm;

impl Rules<'_> {
    pub(super) fn references(&mut self) {
        self.files();
        self.tools();
        self.allowed_tools();
        self.agents();
    }

    fn files(&mut self) {
        for named in self.paths {
            let Err(fault) = self.disk.find(&named.path, named.to) else {
                continue;
            };
            let path: Vec<&str> = named.at.iter().map(String::as_str).collect();
            let message = match path.as_slice() {
                ["workspace", "root"] => "must be a folder inside the project".to_owned(),
                _ => fault.describe(&named.path),
            };
            let code = match fault {
                PathFault::Outside => Code::OutsideProject,
                _ => Code::FileUnreadable,
            };
            self.error(&path, code, &message);
        }
    }

    fn tools(&mut self) {
        let Some(known) = &self.around.tools else {
            return;
        };
        let named = self.items(&["tools"]).filter_map(|(index, tool)| {
            let mut path = vec!["tools".to_owned(), index];
            if let Value::String(name) = tool {
                return Some((path, name.clone()));
            }
            let name = tool.get("tool")?.as_str()?.to_owned();
            path.push("tool".to_owned());
            Some((path, name))
        });
        // An invalid name has been reported.
        let is_unknown =
            |name: &String| !known.contains(name) && TextForm::ToolName.fault(name).is_none();
        let unknown: Vec<(Vec<String>, String)> =
            named.filter(|(_, name)| is_unknown(name)).collect();
        for (path, name) in unknown {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let near = nearest(&name, known.iter().map(String::as_str));
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of `{}`", known.join("`, `")),
            };
            let message = format!("there is no tool `{name}`");
            let fault = self.error(&path, Code::UnknownTool, &message);
            fault.hints.push(Hint::new(hint));
        }
    }

    fn allowed_tools(&mut self) {
        if self.at(&["tools"]).is_none() {
            return;
        }
        let offered: BTreeSet<String> = self
            .items(&["tools"])
            .filter_map(|(_, tool)| {
                let name = tool.as_str().or_else(|| tool.get("name")?.as_str());
                name.map(str::to_owned)
            })
            .collect();
        let unknown: Vec<(String, String)> = self
            .items(&["claude", "allowed_tools"])
            .filter_map(|(index, name)| Some((index, name.as_str()?.to_owned())))
            .filter(|(_, name)| !offered.contains(name))
            .collect();
        for (index, name) in unknown {
            let message = format!("there is no tool `{name}` in `tools`");
            let near = nearest(&name, offered.iter().map(String::as_str));
            let fault = self.error(
                &["claude", "allowed_tools", &index],
                Code::UnknownTool,
                &message,
            );
            if let Some(near) = near.first() {
                fault
                    .hints
                    .push(Hint::new(format!("did you mean `{near}`?")));
            }
        }
    }

    fn agents(&mut self) {
        let asked: Vec<(String, String)> = self
            .items(&["agents"])
            .filter_map(|(index, name)| Some((index, name.as_str()?.to_owned())))
            .collect();
        if asked.is_empty() {
            return;
        }
        let known = agent_names(&self.disk.project);
        let own = stem(self.file).unwrap_or_default();
        for (index, name) in &asked {
            let path = ["agents", index.as_str()];
            if !known.contains(name) {
                let near = nearest(name, known.iter().map(String::as_str));
                let hint = near.first().map(|near| format!("did you mean `{near}`?"));
                let message = format!("there is no agent `{name}`");
                let fault = self.error(&path, Code::AgentNotFound, &message);
                let hint = hint.unwrap_or_else(|| format!("make it with `ktx agent init {name}`"));
                fault.hints.push(Hint::new(hint));
            } else if let Some(last) = self.circle(&own, name) {
                let message = if last == own {
                    format!("`{last}` asks itself; sub-agents may not form a circle")
                } else {
                    format!("`{last}` asks `{own}` again; sub-agents may not form a circle")
                };
                self.circular(&path, &message);
            }
        }
    }

    /// Names the key of the list, regardless of the entry.
    fn circular(&mut self, path: &[&str], message: &str) {
        let text = format!("agents: {message}");
        let fault = self.error(path, Code::BadValue, "");
        fault.message = text;
    }

    /// Returns the agent on the way from `first` that asks `own` again.
    fn circle(&self, own: &str, first: &str) -> Option<String> {
        if first == own {
            return Some(own.to_owned());
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![first.to_owned()];
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let asked = self.agents_asked_by(&name);
            if asked.iter().any(|other| other == own) {
                return Some(name);
            }
            open.extend(asked);
        }
        None
    }

    /// Returns the agents that another file asks; empty if unreadable, which its own check reports.
    fn agents_asked_by(&self, name: &str) -> Vec<String> {
        let path = agent_path(&self.disk.project, name);
        let loaded = fs::read(&path)
            .ok()
            .and_then(|bytes| yaml::load(&bytes, name).ok());
        let names = loaded.and_then(|loaded| Some(loaded.value.get("agents")?.as_array()?.clone()));
        names
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect()
    }
}
