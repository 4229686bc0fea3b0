//! Who reads the answers of a project.

use ktx_warehouse::Caps;

/// Who reads an answer: it decides how large a result may be, and what messages call the arguments
/// and tools to use next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person or a program at the command line: the connector's own caps, options and commands.
    Person,
    /// A model that calls tools: results that fit into one message of an agent's protocol, the
    /// arguments and names of tools.
    Agent,
}

impl Reader {
    /// Returns the caps of one statement with at most this many rows.
    pub(crate) fn caps(self, rows: usize) -> Caps {
        match self {
            Self::Person => Caps {
                rows,
                ..Caps::default()
            },
            Self::Agent => Caps {
                rows,
                bytes: 4 << 20,
                cell_bytes: 64 << 10,
                ..Caps::default()
            },
        }
    }

    /// Returns the argument that names the connection of a request, in backticks.
    pub(crate) const fn connection_argument(self) -> &'static str {
        match self {
            Self::Person => "`--connection-id`",
            Self::Agent => "`connectionId`",
        }
    }

    /// Returns what searches the wiki, in backticks.
    pub(crate) const fn wiki_search(self) -> &'static str {
        match self {
            Self::Person => "`ktx wiki`",
            Self::Agent => "`wiki_search`",
        }
    }
}
