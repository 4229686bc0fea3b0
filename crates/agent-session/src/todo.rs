//! An agent's task list (KODE-63).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::session::Session;

pub const TODO_TOOLS: [&str; 2] = ["todo_read", "todo_write"];

const MANUAL: &str = include_str!("prompts/todo.manual.md");

const MOST_TASKS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub id: String,
    pub title: String,
    pub status: TaskStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Deserialize)]
struct Written {
    todos: Vec<Task>,
}

fn fault(tasks: &[Task]) -> Option<String> {
    if tasks.len() > MOST_TASKS {
        let count = tasks.len();
        return Some(format!(
            "the list has {count} tasks, at most {MOST_TASKS} are kept"
        ));
    }
    let mut ids = BTreeSet::new();
    for task in tasks {
        if task.id.trim().is_empty() {
            return Some(format!("the task `{}` has no id", task.title));
        }
        if task.title.trim().is_empty() {
            return Some(format!("the task `{}` has no title", task.id));
        }
        if !ids.insert(&task.id) {
            return Some(format!("two tasks have the id `{}`", task.id));
        }
    }
    let mut current = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::InProgress);
    match (current.next(), current.next()) {
        (Some(one), Some(other)) => Some(format!(
            "`{}` and `{}` are both in progress; at most one task can be",
            one.id, other.id
        )),
        _ => None,
    }
}

pub(crate) fn listed(tasks: &[Task]) -> String {
    let mut list = String::new();
    for task in tasks {
        let mark = match task.status {
            TaskStatus::Pending => " ",
            TaskStatus::InProgress => "~",
            TaskStatus::Completed => "x",
        };
        writeln!(list, "- [{mark}] {}: {}", task.id, task.title).unwrap_or_default();
    }
    list
}

pub(crate) fn reminder(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "Your list of tasks is empty. If the work has several steps, write them down with `todo_write`."
            .to_owned();
    }
    let list = listed(tasks);
    format!(
        "Your tasks ([x] is completed, [~] in progress):\n{list}Keep the list current with `todo_write`."
    )
}

/// Returns the tools for the list. They change nothing else.
pub(crate) fn tools(session: &Arc<Session>) -> Vec<ToolDescriptor> {
    let handler = |kind| {
        Arc::new(TodoTool {
            session: Arc::clone(session),
            kind,
        })
    };
    let [read, write] = TODO_TOOLS;
    let reads = ToolDescriptor {
        name: read.to_owned(),
        title: "Read Tasks".to_owned(),
        description: "Returns your list of tasks.".to_owned(),
        input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler(Kind::Read),
    };
    let writes = ToolDescriptor {
        name: write.to_owned(),
        title: "Write Tasks".to_owned(),
        description: "Replaces your list of tasks. At most one task is in progress.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "todos": {
                "type": "array",
                "description": "The whole list, in order.",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string" },
                        "title": { "type": "string" },
                        "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                    },
                    "required": ["id", "title", "status"],
                    "additionalProperties": false,
                },
            } },
            "required": ["todos"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: WriteEffect::Idempotent,
        handler: handler(Kind::Write),
    };
    vec![reads, writes]
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

struct TodoTool {
    session: Arc<Session>,
    kind: Kind,
}

#[async_trait]
impl ToolHandler for TodoTool {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        if matches!(self.kind, Kind::Read) {
            let tasks = self.session.look(|history| history.tasks().to_vec());
            return Ok(ToolOutput::text(if tasks.is_empty() {
                "the list is empty".to_owned()
            } else {
                listed(&tasks)
            }));
        }
        let written: Written = serde_json::from_value(arguments)
            .map_err(|error| ToolError::new(format!("the list cannot be read: {error}")))?;
        if let Some(fault) = fault(&written.todos) {
            return Err(ToolError::new(fault));
        }
        let kept = self.session.write_tasks(written.todos);
        kept.map_err(|error| ToolError::new(format!("the list cannot be kept: {error}")))?;
        Ok(ToolOutput::text("the list is kept"))
    }

    fn manual(&self) -> Option<&str> {
        matches!(self.kind, Kind::Write).then_some(MANUAL)
    }
}
