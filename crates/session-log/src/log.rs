//! Writing a log.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ktx_project_store::Holder;

use crate::{Entry, LogError, LogReader, Record, SessionId, TornTail, lock};

/// Records that are kept in memory while the log cannot be written (KODE-46).
pub const MOST_WAITING: usize = 1_000;

const LOG: &str = "log.jsonl";
const LOCK: &str = "lock";
const TORN: &str = "log.torn";

/// The log in the folder of a session.
pub(crate) fn path_in(folder: &Path) -> PathBuf {
    folder.join(LOG)
}

/// How safe a record is when `append` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In the file: it survives the end of the process.
    Written,
    /// On the disk: it survives the end of the machine.
    Synced,
}

/// The log of one session, open for writing. Several threads may append at once: while one of them writes, the records
/// of the others gather, and the next write and the next sync take all of them.
#[derive(Debug)]
pub struct SessionLog {
    path: PathBuf,
    file: File,
    state: Mutex<State>,
    idle: Condvar,
    /// Held as long as the log is open.
    _lock: File,
}

/// Sequence numbers count records; lengths count bytes.
#[derive(Debug, Default)]
struct State {
    /// Lines that are not in the file.
    waiting: Vec<u8>,
    waiting_records: usize,
    last: u64,
    written: u64,
    synced: u64,
    /// The last record that must be on the disk.
    wanted: u64,
    /// The length of the whole lines in the file.
    length: u64,
    /// Whether a thread is writing.
    is_writing: bool,
}

impl SessionLog {
    /// Opens the log in `folder` and hands each of its records to `each`. A torn line at its end is moved to
    /// `log.torn`. A log that does not exist begins empty.
    ///
    /// # Errors
    /// [`LogError::Busy`], and those of reading and writing.
    pub(crate) fn open(
        folder: &Path,
        id: &SessionId,
        holder: &Holder,
        mut each: impl FnMut(Record),
    ) -> Result<Self, LogError> {
        let lock = lock::acquire(&folder.join(LOCK), id, holder)?;
        let path = path_in(folder);
        let failed = |source| LogError::Write {
            path: path.clone(),
            source,
        };
        let options = || {
            let mut options = OpenOptions::new();
            options.create(true).append(true).mode(0o600);
            options
        };
        let file = options().open(&path).map_err(failed)?;
        let mut reader = LogReader::open(&path)?;
        while let Some(record) = reader.next_record()? {
            each(record);
        }
        if let Some(torn) = reader.torn() {
            let kept = folder.join(TORN);
            move_torn(&path, torn, options().open(&kept)).map_err(failed)?;
            file.set_len(torn.offset).map_err(failed)?;
        }
        let seq = reader.seq();
        if seq == 0 {
            // Later processes find a name that is on the disk.
            sync_folder(folder).map_err(failed)?;
        }
        let state = State {
            last: seq,
            written: seq,
            length: reader.offset(),
            ..State::default()
        };
        Ok(Self {
            path,
            file,
            state: Mutex::new(state),
            idle: Condvar::new(),
            _lock: lock,
        })
    }

    /// Appends a record and returns its sequence number when it is as safe as asked.
    ///
    /// # Errors
    /// [`LogError::Write`]: the record has its place, waits in memory, and is written with the next one or by
    /// [`Self::flush`]. [`LogError::Full`]: too many wait, and this one was not taken.
    pub fn append(&self, entry: Entry, durability: Durability) -> Result<u64, LogError> {
        self.append_record(entry, durability)
            .map(|record| record.seq)
    }

    /// As [`Self::append`]; returns the record as a reader of the log reads it.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn append_record(&self, entry: Entry, durability: Durability) -> Result<Record, LogError> {
        let mut state = self.lock();
        if state.waiting_records >= MOST_WAITING && !state.is_writing {
            state = self.write(state)?;
        }
        if state.waiting_records >= MOST_WAITING {
            return Err(LogError::Full {
                path: self.path.clone(),
                waiting: state.waiting_records,
            });
        }
        let seq = state.last + 1;
        let start = state.waiting.len();
        let record = Record::new(seq, entry);
        if let Err(error) = record.encode(&mut state.waiting) {
            state.waiting.truncate(start);
            return Err(self.write_error(error.into()));
        }
        state.last = seq;
        state.waiting_records += 1;
        self.settle(state, seq, durability)?;
        Ok(record)
    }

    /// Brings every record to the disk.
    ///
    /// # Errors
    /// [`LogError::Write`].
    pub fn flush(&self) -> Result<(), LogError> {
        let state = self.lock();
        let last = state.last;
        self.settle(state, last, Durability::Synced)
    }

    /// Reads the log from its beginning while it grows.
    ///
    /// # Errors
    /// [`LogError::Read`].
    pub fn reader(&self) -> Result<LogReader, LogError> {
        LogReader::open(&self.path)
    }

    /// Reads the records that come from now on, and those before that are not in the file yet.
    ///
    /// # Errors
    /// [`LogError::Read`].
    pub fn tail(&self) -> Result<LogReader, LogError> {
        let state = self.lock();
        let (length, written) = (state.length, state.written);
        drop(state);
        LogReader::open_at(&self.path, length, written)
    }

    /// Returns the sequence number of the last record; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.lock().last
    }

    /// Returns how many records wait in memory because they could not be written.
    pub fn waiting(&self) -> usize {
        self.lock().waiting_records
    }

    /// Waits until the record `seq` is as safe as asked, and writes unless another thread does.
    fn settle<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        seq: u64,
        durability: Durability,
    ) -> Result<(), LogError> {
        if durability == Durability::Synced {
            state.wanted = state.wanted.max(seq);
        }
        loop {
            let safe = match durability {
                Durability::Written => state.written,
                Durability::Synced => state.synced,
            };
            if safe >= seq {
                return Ok(());
            }
            state = if state.is_writing {
                let woken = self.idle.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                self.write(state)?
            };
        }
    }

    /// Writes what waits, with one write, and syncs if one of its records asks for it.
    fn write<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, LogError> {
        let mut batch = std::mem::take(&mut state.waiting);
        let records = std::mem::take(&mut state.waiting_records);
        let (last, length, must_sync) = (state.last, state.length, state.wanted > state.synced);
        state.is_writing = true;
        drop(state);
        let mut done = (&self.file).write_all(&batch);
        if must_sync && done.is_ok() {
            done = self.file.sync_data();
        }
        if done.is_err() {
            // No half line stays, and no record that the disk refused. If this fails too, the next writer does it.
            drop(self.file.set_len(length));
        }
        let mut state = self.lock();
        state.is_writing = false;
        self.idle.notify_all();
        if let Err(source) = done {
            batch.append(&mut state.waiting);
            state.waiting = batch;
            state.waiting_records += records;
            return Err(self.write_error(source));
        }
        state.written = last;
        state.length = length.saturating_add(u64::try_from(batch.len()).unwrap_or(u64::MAX));
        if must_sync {
            state.synced = last;
        }
        Ok(state)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_error(&self, source: io::Error) -> LogError {
        LogError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        if self.waiting() > 0 {
            // Whoever cared about these records got the error when they were appended.
            drop(self.flush());
        }
    }
}

fn move_torn(log: &Path, torn: TornTail, kept: io::Result<File>) -> io::Result<()> {
    let mut kept = kept?;
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(torn.offset))?;
    io::copy(&mut file, &mut kept)?;
    kept.write_all(b"\n")
}

/// Makes the names in a folder safe.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
