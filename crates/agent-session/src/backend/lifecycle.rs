//! The stages of a backend and of its sessions (HOLO-35).

use std::fmt;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentStage {
    #[default]
    Created,
    Ready,
    /// The answer is returned whole.
    Processing,
    /// The answer is streamed.
    Streaming,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentMove {
    Open,
    Send,
    Stream,
    End,
    Crash,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IllegalMove {
    pub stage: AgentStage,
    pub wanted: AgentMove,
}

impl AgentStage {
    /// Returns the next stage; fails on an illegal move.
    pub const fn after(self, wanted: AgentMove) -> Result<Self, IllegalMove> {
        use AgentMove as M;
        match (self, wanted) {
            (Self::Created, M::Open) => Ok(Self::Ready),
            (Self::Ready, M::Send) => Ok(Self::Processing),
            (Self::Ready, M::Stream) => Ok(Self::Streaming),
            (Self::Processing | Self::Streaming, M::End) => Ok(Self::Ready),
            (Self::Processing | Self::Streaming, M::Crash)
            | (Self::Created | Self::Ready | Self::Closed, M::Close) => Ok(Self::Closed),
            _ => Err(self.refusal(wanted)),
        }
    }

    pub(super) const fn refusal(self, wanted: AgentMove) -> IllegalMove {
        IllegalMove {
            stage: self,
            wanted,
        }
    }
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            AgentStage::Created => "has not been opened",
            AgentStage::Ready => "waits for a question",
            AgentStage::Processing | AgentStage::Streaming => "answers a question",
            AgentStage::Closed => "is closed",
        };
        let refused = match self.wanted {
            AgentMove::Open => "it cannot be opened",
            AgentMove::Send | AgentMove::Stream => "it takes no question",
            AgentMove::End | AgentMove::Crash => "no turn can end",
            AgentMove::Close => "it cannot be closed",
        };
        write!(f, "{stage}: {refused}")
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use insta::assert_snapshot;

    use super::*;

    /// HOLO-35.
    #[test]
    fn a_stage_allows_its_moves_and_no_others() {
        use AgentMove::{Close, Crash, End, Open, Send, Stream};
        use AgentStage::{Closed, Created, Processing, Ready, Streaming};
        let mut table = String::new();
        for stage in [Created, Ready, Processing, Streaming, Closed] {
            for wanted in [Open, Send, Stream, End, Crash, Close] {
                let next = match stage.after(wanted) {
                    Ok(next) => format!("{next:?}"),
                    Err(refused) => format!("it {refused}"),
                };
                writeln!(table, "{stage:?} {wanted:?}: {next}").unwrap();
            }
        }
        assert_snapshot!(table, @"
        Created Open: Ready
        Created Send: it has not been opened: it takes no question
        Created Stream: it has not been opened: it takes no question
        Created End: it has not been opened: no turn can end
        Created Crash: it has not been opened: no turn can end
        Created Close: Closed
        Ready Open: it waits for a question: it cannot be opened
        Ready Send: Processing
        Ready Stream: Streaming
        Ready End: it waits for a question: no turn can end
        Ready Crash: it waits for a question: no turn can end
        Ready Close: Closed
        Processing Open: it answers a question: it cannot be opened
        Processing Send: it answers a question: it takes no question
        Processing Stream: it answers a question: it takes no question
        Processing End: Ready
        Processing Crash: Closed
        Processing Close: it answers a question: it cannot be closed
        Streaming Open: it answers a question: it cannot be opened
        Streaming Send: it answers a question: it takes no question
        Streaming Stream: it answers a question: it takes no question
        Streaming End: Ready
        Streaming Crash: Closed
        Streaming Close: it answers a question: it cannot be closed
        Closed Open: it is closed: it cannot be opened
        Closed Send: it is closed: it takes no question
        Closed Stream: it is closed: it takes no question
        Closed End: it is closed: no turn can end
        Closed Crash: it is closed: no turn can end
        Closed Close: Closed
        ");
    }
}
