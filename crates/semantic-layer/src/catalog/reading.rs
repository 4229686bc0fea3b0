//! Reads many files at once: each by itself, on as many threads as there are processors.

use std::num::NonZero;

use crate::SourceFile;
use crate::authored::{self, Authored, Problem};

/// With fewer files a thread costs more than it saves.
const FEWEST: usize = 32;

/// What each file holds, in the order of the files.
pub(super) fn read_all(files: &[SourceFile]) -> Vec<Result<Authored, Problem>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    if threads == 1 || files.len() < FEWEST {
        return files.iter().map(authored::read).collect();
    }
    let share = files.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let mut shares = files.chunks(share);
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|files| {
                let work = move || files.iter().map(authored::read).collect::<Vec<_>>();
                (files, scope.spawn(work))
            })
            .collect();
        let mut all: Vec<_> = own.iter().map(authored::read).collect();
        for (files, other) in others {
            // A reader that panicked says so again where it is seen.
            let read = other
                .join()
                .unwrap_or_else(|_| files.iter().map(authored::read).collect());
            all.extend(read);
        }
        all
    })
}
