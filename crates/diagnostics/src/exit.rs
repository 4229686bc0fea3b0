//! Exit codes.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Success,
    Failure,
    Usage,
    /// No project, a wrong project file, or a missing entry.
    Config,
    Connection,
    Model,
    Refused,
    /// Part of the work failed; the rest is kept.
    Partial,
    /// A test case, threshold or regression check failed.
    Check,
    Interrupted,
}

impl Exit {
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::Failure,
        Self::Usage,
        Self::Config,
        Self::Connection,
        Self::Model,
        Self::Refused,
        Self::Partial,
        Self::Check,
        Self::Interrupted,
    ];

    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::Connection => 4,
            Self::Model => 5,
            Self::Refused => 6,
            Self::Partial => 7,
            Self::Check => 8,
            Self::Interrupted => 130,
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::Failure => "something failed that has no code of its own",
            Self::Usage => "the command line was wrong",
            Self::Config => {
                "no project, `ktx.yaml` or another project file is wrong, or the project has nothing \
                 of the name that was given (a connection, source, page, join or revision)"
            }
            Self::Connection => "a warehouse could not be reached, or it refused",
            Self::Model => "the model backend could not be used",
            Self::Refused => "a statement or semantic query was refused",
            Self::Partial => "a part of the work failed; the rest was done and kept",
            Self::Check => "a check failed: a test case, a threshold, a regression",
            Self::Interrupted => "interrupted",
        }
    }
}
