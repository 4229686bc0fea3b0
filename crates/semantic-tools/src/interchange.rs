//! Sources in the open interchange format of Apache Ossie (incubating), the former Open Semantic
//! Interchange, draft 0.2.
//!
//! The format lacks some features of source files and has others that they lack. Each construct
//! without a counterpart is reported as a [`Loss`]. Constructs that only ktx understands go into an
//! extension of the file with the vendor name `KTX`, so that ktx can read back what it wrote.

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

/// The written version: the only one that the draft's JSON Schema (`core-spec/ossie-schema.json`)
/// allows.
pub const OSI_VERSION: &str = "0.2.0.dev0";

const VENDOR: &str = "KTX";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is expressed in another, equivalent way.
    Rewritten,
    /// It goes into the extension: ktx reads it back, other programs do not see it.
    Extension,
    /// It is lost.
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

/// A construct without a counterpart in the other format.
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
    /// The constructs without a counterpart, ordered by place.
    pub losses: Vec<Loss>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSource {
    pub name: String,
    /// The path relative to the connection's folder.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Sources are ordered by name.
    pub sources: Vec<ImportedSource>,
    /// Losses are ordered by place.
    pub losses: Vec<Loss>,
}

#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    #[error("the file is not YAML: {reason}")]
    NotYaml { reason: String },
    /// The file is YAML without a semantic model.
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
