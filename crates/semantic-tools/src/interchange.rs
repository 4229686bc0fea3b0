//! Sources in the open interchange format of Apache Ossie (incubating), the former Open Semantic
//! Interchange, draft 0.2.
//!
//! Each construct without a counterpart is a [`Loss`]. Constructs that only ktx understands go into
//! an extension with the vendor name `KTX`, so that ktx can read back what it wrote.

mod datatype;
mod document;
mod expand;
mod export;
mod extension;
mod import;
mod overlay;
mod read;
mod replace;
mod wire;

use serde::Serialize;

pub use export::export_osi;
pub use import::import_osi;
pub use replace::{Replaced, replace_source};

/// The only version that the draft's JSON Schema (`core-spec/ossie-schema.json`) allows.
pub const OSI_VERSION: &str = "0.2.0.dev0";

const VENDOR: &str = "KTX";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Expressed in another, equivalent way.
    Rewritten,
    /// ktx reads it back, other programs do not see it.
    Extension,
    Dropped,
}

impl Fate {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rewritten => "rewritten",
            Self::Extension => "extension",
            Self::Dropped => "dropped",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Loss {
    /// `source.member` on export, the path in the file on import.
    pub place: String,
    pub construct: &'static str,
    pub fate: Fate,
    /// Lower case, no full stop.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub text: String,
    /// Ordered by place.
    pub losses: Vec<Loss>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSource {
    pub name: String,
    /// Relative to the connection's folder.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Ordered by name.
    pub sources: Vec<ImportedSource>,
    /// Ordered by place.
    pub losses: Vec<Loss>,
}

#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    #[error("the file is not YAML: {reason}")]
    NotYaml { reason: String },
    #[error("the file has no list `semantic_model`")]
    NoModel,
    #[error("`{name}` cannot be written")]
    Write {
        name: String,
        #[source]
        source: serde_yaml::Error,
    },
    #[error("the extension cannot be written")]
    Extension {
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Debug, Default)]
struct Losses(Vec<Loss>);

impl Losses {
    fn add(
        &mut self,
        place: impl Into<String>,
        construct: &'static str,
        fate: Fate,
        message: impl Into<String>,
    ) {
        self.0.push(Loss {
            place: place.into(),
            construct,
            fate,
            message: message.into(),
        });
    }

    fn ordered(mut self) -> Vec<Loss> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}

#[cfg(test)]
mod tests;
