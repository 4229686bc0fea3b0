//! Who reads the answers of a project.

use ktx_warehouse::Caps;

/// Decides the size of results, and how messages name arguments and tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The connector's own caps; messages name options and commands.
    Person,
    /// Results fit into one message of an agent's protocol; messages name arguments and tools.
    Agent,
}

impl Reader {
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

    pub(crate) const fn connection_argument(self) -> &'static str {
        match self {
            Self::Person => "`--connection-id`",
            Self::Agent => "`connectionId`",
        }
    }

    pub(crate) const fn wiki_search(self) -> &'static str {
        match self {
            Self::Person => "`ktx wiki`",
            Self::Agent => "`wiki_search`",
        }
    }
}
