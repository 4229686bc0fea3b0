//! Sources in the open interchange format of Apache Ossie (incubating), the former Open Semantic
//! Interchange, draft 0.2.
//!
//! The format says less than source files do and some things that they do not say. What has no
//! counterpart is reported, one [`Loss`] each. What ktx alone understands is kept in an extension of
//! the file under the vendor name `KTX`, so that ktx reads back what it wrote.

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

/// The version that is written: the only one that the draft's JSON Schema (`core-spec/ossie-schema.json`)
/// allows.
pub const OSI_VERSION: &str = "0.2.0.dev0";

/// The vendor name of ktx's extension.
const VENDOR: &str = "KTX";

/// What became of something that has no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is said in another way that means the same.
    Rewritten,
    /// It stands in the extension: ktx reads it back, other programs do not see it.
    Extension,
    /// It is not there any more.
    Dropped,
}

impl Fate {
    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rewritten => "rewritten",
            Self::Extension => "extension",
            Self::Dropped => "dropped",
        }
    }
}

/// Something that has no counterpart on the other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Loss {
    /// Where it stands: `source.member` on the way out, the path in the file on the way in.
    pub place: String,
    /// What it is, such as `segment`.
    pub construct: &'static str,
    /// What became of it.
    pub fate: Fate,
    /// In words: lower case, no full stop.
    pub message: String,
}

/// A catalog in the open format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file, YAML.
    pub text: String,
    /// What it does not say, ordered by place.
    pub losses: Vec<Loss>,
}

/// One source of an imported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSource {
    /// Its name.
    pub name: String,
    /// Its file, relative to the connection's folder.
    pub path: String,
    /// What the file holds, YAML.
    pub text: String,
}

/// The sources of an imported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// By name.
    pub sources: Vec<ImportedSource>,
    /// What was not taken over, ordered by place.
    pub losses: Vec<Loss>,
}

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    /// It is not YAML.
    #[error("the file is not YAML: {reason}")]
    NotYaml {
        /// The reader's words, with the place.
        reason: String,
    },
    /// It is YAML and holds no semantic model.
    #[error("the file has no list `semantic_model`")]
    NoModel,
    /// A source cannot be put in words.
    #[error("`{name}` cannot be written")]
    Write {
        /// The source or document.
        name: String,
        /// The cause.
        #[source]
        source: serde_yaml::Error,
    },
    /// The extension cannot be put in words.
    #[error("the extension cannot be written")]
    Extension {
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}

/// Gathers losses.
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
