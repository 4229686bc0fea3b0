//! Parses many files in parallel, on one thread per processor.

use std::num::NonZero;

use crate::model::authored::{self, Authored, Problem};
use crate::model::source_file::SourceFile;

/// Below this, a thread costs more than it saves.
const FEWEST: usize = 32;

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
            let read = other
                .join()
                .unwrap_or_else(|_| files.iter().map(authored::read).collect());
            all.extend(read);
        }
        all
    })
}
