//! How many statements run side by side: fewer when the warehouse strains, more again when it does not.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::request::ScanError;

/// How the warehouse took a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// It answered.
    Easy,
    /// It broke the connection or ran out of time.
    Strained,
    /// Nothing was asked of it.
    Idle,
}

/// Whether more work is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onward {
    /// The next piece may begin.
    Go,
    /// What runs is finished, nothing more is begun.
    Halt,
}

/// The number of lanes: halved by each strain, one more after as many easy pieces as there are lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    most: usize,
    open: usize,
    easy: usize,
}

impl Lanes {
    /// All of them open; at least one.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            open: most,
            easy: 0,
        }
    }

    /// Opens or closes lanes after a piece of work.
    pub(crate) fn note(&mut self, load: Load) {
        match load {
            Load::Idle => {}
            Load::Strained => {
                self.open = (self.open / 2).max(1);
                self.easy = 0;
            }
            Load::Easy => {
                self.easy += 1;
                if self.easy >= self.open && self.open < self.most {
                    self.open += 1;
                    self.easy = 0;
                }
            }
        }
    }

    /// Runs the pieces, each begun in order, and hands each result over when it is there.
    pub(crate) async fn run<F: Future>(
        &mut self,
        work: impl IntoIterator<Item = F>,
        mut done: impl FnMut(F::Output) -> Result<(Load, Onward), ScanError>,
    ) -> Result<(), ScanError> {
        let mut waiting = work.into_iter();
        let mut running = FuturesUnordered::new();
        let mut onward = Onward::Go;
        loop {
            while onward == Onward::Go && running.len() < self.open {
                let Some(next) = waiting.next() else { break };
                running.push(next);
            }
            let Some(result) = running.next().await else {
                return Ok(());
            };
            let (load, then) = done(result)?;
            self.note(load);
            if then == Onward::Halt {
                onward = Onward::Halt;
            }
        }
    }
}

#[cfg(test)]
mod tests;
