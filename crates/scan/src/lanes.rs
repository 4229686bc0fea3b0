//! Adapts the number of concurrent statements to the warehouse's load.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::request::ScanError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Easy,
    /// A broken connection or a timeout.
    Strained,
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onward {
    Go,
    /// Starts no more items.
    Halt,
}

/// Halved after each overload, increased by one after as many successful items as there are lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    most: usize,
    open: usize,
    easy: usize,
}

impl Lanes {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            open: most,
            easy: 0,
        }
    }

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

    /// Starts in order; passes on results as they arrive.
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
