//! Decisions about links: `semantic-layer/<connection>/_review/relationships.yaml`.
//!
//! ```yaml
//! accepted:
//!   - from: {table: public.orders, columns: [customer]}
//!     to: {table: public.customers, columns: [id]}
//!     relationship: many_to_one
//!     by: ada
//!     at: 2026-01-31T09:00:00Z
//! rejected: []
//! ```
//!
//! A rejected link never returns in either direction; an accepted one stays as long as its columns
//! exist.

use ktx_vocabulary::ConnectionId;
use ktx_yaml::{Obstacle, edit};
use serde::{Deserialize, Serialize};
use serde_yaml::Mapping;

use crate::links::link::{Cardinality, Endpoint};

/// Returns the path relative to the project.
pub fn decisions_path(connection: &ConnectionId) -> String {
    format!("semantic-layer/{connection}/_review/relationships.yaml")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidedSide {
    /// The qualified name, its parts joined by dots.
    pub table: String,
    /// In the order of the other side.
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub from: DecidedSide,
    pub to: DecidedSide,
    /// `many_to_one` (the default) or `one_to_one`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    Reject,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Decisions {
    pub accepted: Vec<Decision>,
    pub rejected: Vec<Decision>,
}

impl Decisions {
    /// An empty text holds no decisions. The error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let decisions: Self = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        for decision in decisions.accepted.iter().chain(&decisions.rejected) {
            let (from, to) = (decision.from.columns.len(), decision.to.columns.len());
            if from == 0 || from != to {
                return Err(format!(
                    "`{}` and `{}` must name the same number of columns, at least one",
                    decision.from.table, decision.to.table
                ));
            }
        }
        Ok(decisions)
    }

    pub fn to_yaml(&self) -> Result<String, String> {
        serde_yaml::to_string(self).map_err(|error| error.to_string())
    }

    /// Edits the current file, keeping comments and layout of unchanged entries. The error says
    /// what prevents it, and where.
    pub fn edited(&self, text: &str) -> Result<String, String> {
        if text.trim().is_empty() {
            return self.to_yaml();
        }
        let value = |text: &str| {
            let found: Option<Mapping> = serde_yaml::from_str(text)?;
            Ok(found.unwrap_or_default())
        };
        let fault = |error: serde_yaml::Error| error.to_string();
        let (old, new) = (
            value(text).map_err(fault)?,
            value(&self.to_yaml()?).map_err(fault)?,
        );
        edit(text, &old, &new).map_err(|Obstacle { line, what }| {
            format!("line {line} holds {what}, which cannot be changed in place")
        })
    }

    /// Replaces an earlier decision.
    pub fn decide(&mut self, verdict: Verdict, decision: Decision) {
        let other = |known: &Decision| known.from != decision.from || known.to != decision.to;
        self.accepted.retain(other);
        self.rejected.retain(other);
        match verdict {
            Verdict::Accept => self.accepted.push(decision),
            Verdict::Reject => self.rejected.push(decision),
        }
    }

    pub fn rejection(&self, from: &Endpoint, to: &Endpoint) -> Option<&Decision> {
        self.rejected.iter().find(|decision| {
            decision.from.is(from) && decision.to.is(to)
                || decision.from.is(to) && decision.to.is(from)
        })
    }
}

impl Decision {
    pub fn cardinality(&self) -> Cardinality {
        match self.relationship.as_deref() {
            Some("one_to_one") => Cardinality::OneToOne,
            _ => Cardinality::ManyToOne,
        }
    }

    pub fn described(&self, verb: &str) -> String {
        let mut text = format!("{verb} by {}", self.by.as_deref().unwrap_or("a reviewer"));
        if let Some(at) = &self.at {
            text.push_str(" at ");
            text.push_str(at);
        }
        text
    }
}

impl DecidedSide {
    fn is(&self, endpoint: &Endpoint) -> bool {
        self.table == endpoint.table.to_string() && self.columns == endpoint.columns
    }
}
