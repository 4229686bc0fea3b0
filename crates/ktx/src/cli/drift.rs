//! Arguments of `ktx drift`.

use clap::{Args, ValueEnum};
use ktx_context_tools::DriftClass;

use super::OutputArgs;

/// What `--fail-on` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum DriftAlarm {
    /// Any finding
    Any,
    /// A source or a page names a table that the last scan does not have
    LostTable,
    /// A source names a column that its table does not have
    LostColumn,
    /// A measure, a segment, a join or a page refers to something that is gone
    BrokenReference,
    /// A column holds values that are not among the accepted ones
    AcceptedValues,
    /// A column breaks its `unique` or `not_null`
    Constraint,
    /// A link of a page leads to no page
    BrokenLink,
    /// What a page is about has changed after the page
    StalePage,
}

impl DriftAlarm {
    /// Whether a finding of this class ends the command with an error.
    pub(crate) fn covers(self, class: DriftClass) -> bool {
        let own = match self {
            Self::Any => return true,
            Self::LostTable => DriftClass::LostTable,
            Self::LostColumn => DriftClass::LostColumn,
            Self::BrokenReference => DriftClass::BrokenReference,
            Self::AcceptedValues => DriftClass::AcceptedValues,
            Self::Constraint => DriftClass::Constraint,
            Self::BrokenLink => DriftClass::BrokenLink,
            Self::StalePage => DriftClass::StalePage,
        };
        own == class
    }
}

/// Arguments of `ktx drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// Only sources of this warehouse
    #[arg(long, value_name = "ID")]
    pub connection_id: Option<String>,
    /// End with 8 when there are findings of these classes (can be repeated, or separated by commas)
    #[arg(long, value_enum, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<DriftAlarm>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}
