//! Failures for users and scripts.

use std::error::Error;
use std::path::Path;

use ktx_diagnostics::{Code, Exit, Failure, Hint};
use ktx_project_store::failure_of;
use serde_json::{Value, json};

use crate::foreign::one_line;

pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

pub(crate) trait Report: Sized {
    /// Keeps causes and adds a next step for machine faults.
    fn from_error(code: Code, error: &(dyn Error + 'static)) -> Self;

    /// Makes project and git paths relative.
    #[must_use]
    fn seen_from(self, project: &Path) -> Self;

    /// Each part is one line.
    fn to_text(&self) -> String;

    /// `{error:{code,message,hint}}` with further causes and hints.
    fn to_json(&self) -> Value;
}

pub(crate) fn seen_from(project: &Path, text: &str) -> String {
    let project = project.display();
    [".ktx/", ".git/", "raw-sources/", "semantic-layer/", "wiki/"]
        .iter()
        .fold(text.to_owned(), |text, folder| {
            text.replace(&format!("{project}/{folder}"), folder)
        })
}

impl Report for Failure {
    fn from_error(code: Code, error: &(dyn Error + 'static)) -> Self {
        failure_of(code, error)
    }

    fn seen_from(mut self, project: &Path) -> Self {
        for text in std::iter::once(&mut self.message).chain(&mut self.causes) {
            *text = seen_from(project, text);
        }
        for hint in &mut self.hints {
            *hint = Hint::new(seen_from(project, hint.as_str()));
        }
        self
    }

    fn to_text(&self) -> String {
        let mut text = format!("error: {}\n", one_line(&self.message));
        for cause in &self.causes {
            text.push_str("  caused by: ");
            text.push_str(&one_line(cause));
            text.push('\n');
        }
        for (index, hint) in self.hints.iter().enumerate() {
            text.push_str(if index == 0 { "\nhint: " } else { "hint: " });
            text.push_str(&one_line(hint.as_str()));
            text.push('\n');
        }
        text
    }

    fn to_json(&self) -> Value {
        let hints: Vec<&str> = self.hints.iter().map(Hint::as_str).collect();
        let mut error = json!({
            "code": self.code.as_str(),
            "message": self.message,
            "hint": hints.first(),
        });
        if let Value::Object(map) = &mut error {
            if let Some(run_id) = &self.detail.run_id {
                map.insert("run_id".to_owned(), json!(run_id));
            }
            if !self.causes.is_empty() {
                map.insert("causes".to_owned(), json!(self.causes));
            }
            let requests = self.detail.requests.iter();
            let requests: Vec<Value> = requests
                .filter_map(|request| serde_json::from_str(request).ok()) // they are JSON texts
                .collect();
            if !requests.is_empty() {
                map.insert("suggestions".to_owned(), Value::Array(requests));
            }
            if hints.len() > 1 {
                map.insert("hints".to_owned(), json!(hints));
            }
        }
        json!({ "error": error })
    }
}
