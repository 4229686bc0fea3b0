//! Writing a log.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ktx_project_store::Holder;

use crate::{Entry, LogError, LogReader, Record, SessionId, TornTail, lock};

/// Maximum records in memory while the log cannot be written (KODE-46).
pub const MOST_WAITING: usize = 1_000;

const LOG: &str = "log.jsonl";
const LOCK: &str = "lock";
const TORN: &str = "log.torn";

pub(crate) fn path_in(folder: &Path) -> PathBuf {
    folder.join(LOG)
}

/// From weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the end of the process.
    Written,
    /// Survives the end of the machine.
    Synced,
}

/// A log open for writing. While one thread writes, the records of others gather for the next write
/// and sync.
#[derive(Debug)]
pub struct SessionLog {
    path: PathBuf,
    file: File,
    state: Mutex<State>,
    idle: Condvar,
    /// Held while the log is open.
    _lock: File,
}

/// Sequence numbers count records; lengths count bytes.
#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    waiting_records: usize,
    last: u64,
    written: u64,
    synced: u64,
    wanted: u64,
    /// Bytes of the file up to the end of its last whole line.
    length: u64,
    is_writing: bool,
}

impl SessionLog {
    /// Opens or creates a log and passes its records to `each`. Moves a torn line to `log.torn`.
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
            // Makes the file's name durable.
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

    /// Appends a record and returns its sequence number.
    ///
    /// # Errors
    /// [`LogError::Write`]: the record has its number, waits in memory, and is written with the
    /// next one or by [`Self::flush`]. [`LogError::Full`]: too many wait, and this one was not
    /// taken.
    pub fn append(&self, entry: Entry, durability: Durability) -> Result<u64, LogError> {
        let (state, record) = self.take(self.lock(), entry)?;
        self.settle(state, record.seq, durability)?;
        Ok(record.seq)
    }

    /// Appends records with one write and at most one sync. `taken` gets each record that has its
    /// number, as readers get it, also those that wait in memory after an error.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn append_all(
        &self,
        entries: impl IntoIterator<Item = Entry>,
        durability: Durability,
        taken: &mut Vec<Record>,
    ) -> Result<(), LogError> {
        let mut state = self.lock();
        for entry in entries {
            let (locked, record) = self.take(state, entry)?;
            state = locked;
            taken.push(record);
        }
        match taken.last() {
            Some(last) => self.settle(state, last.seq, durability),
            None => Ok(()),
        }
    }

    /// Gives a record its number and adds it to those that wait.
    fn take<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        entry: Entry,
    ) -> Result<(MutexGuard<'a, State>, Record), LogError> {
        while state.waiting_records >= MOST_WAITING {
            state = if state.is_writing {
                self.wait(state)
            } else {
                self.write(state).map_err(|_| LogError::Full {
                    path: self.path.clone(),
                    waiting: MOST_WAITING,
                })?
            };
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
        Ok((state, record))
    }

    /// Writes and syncs every record.
    pub fn flush(&self) -> Result<(), LogError> {
        let state = self.lock();
        let last = state.last;
        self.settle(state, last, Durability::Synced)
    }

    pub fn reader(&self) -> Result<LogReader, LogError> {
        LogReader::open(&self.path)
    }

    /// Reads new records, and earlier ones not yet in the file.
    pub fn tail(&self) -> Result<LogReader, LogError> {
        let state = self.lock();
        let (length, written) = (state.length, state.written);
        drop(state);
        LogReader::open_at(&self.path, length, written)
    }

    /// Returns the last sequence number; 0 without records.
    pub fn last(&self) -> u64 {
        self.lock().last
    }

    /// Returns the number of records that wait in memory.
    pub fn waiting(&self) -> usize {
        self.lock().waiting_records
    }

    /// Waits until `seq` has the given durability, and writes unless another thread does.
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
                self.wait(state)
            } else {
                self.write(state)?
            };
        }
    }

    /// Waits until another thread has written.
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let woken = self.idle.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

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
            // Removes what the disk did not take whole. If this fails too, the next writer does it.
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
            // The appender of these records got the error.
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

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
