//! The findings of the rules.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingLevel {
    Failure,
    Warning,
}

/// Printed as `path[:line]: rule: what; cure`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) level: FindingLevel,
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    pub(crate) rule: &'static str,
    pub(crate) what: String,
    pub(crate) cure: String,
}

impl Finding {
    pub(crate) fn file(path: &str, rule: &'static str, what: String, cure: &str) -> Self {
        Self {
            level: FindingLevel::Failure,
            path: path.to_owned(),
            line: None,
            rule,
            what,
            cure: cure.to_owned(),
        }
    }

    pub(crate) fn at(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    pub(crate) fn warning(self) -> Self {
        Self {
            level: FindingLevel::Warning,
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        let mark = if self.level == FindingLevel::Warning {
            "warning: "
        } else {
            ""
        };
        write!(out, ": {mark}{}: {}; {}", self.rule, self.what, self.cure)
    }
}
