//! Reads a log, also while it grows.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{FORMAT, LogError, OPENED, Record};

/// Bytes of a killed writer after the last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// From the beginning of the log.
    pub offset: u64,
    pub bytes: u64,
}

/// Reads a log's records without a lock.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes of whole records.
    offset: u64,
    seq: u64,
    torn: Option<TornTail>,
    line: Vec<u8>,
}

impl LogReader {
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let file = File::open(path).map_err(|source| LogError::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::new(file),
            offset: 0,
            seq: 0,
            torn: None,
            line: Vec::new(),
        })
    }

    pub(crate) fn open_at(path: &Path, offset: u64, seq: u64) -> Result<Self, LogError> {
        let mut reader = Self::open(path)?;
        let sought = reader.file.seek(SeekFrom::Start(offset));
        sought.map_err(|source| reader.read_error(source))?;
        reader.offset = offset;
        reader.seq = seq;
        Ok(reader)
    }

    /// Returns the next record, or `None` at the end. Later calls return newly appended records.
    pub fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        self.line.clear();
        let read = self.file.read_until(b'\n', &mut self.line);
        let bytes = read.map_err(|source| self.read_error(source))?;
        self.torn = None;
        if bytes == 0 {
            return Ok(None);
        }
        let Some(line) = self.line.strip_suffix(b"\n") else {
            return self.tear();
        };
        let record = match Record::decode(line) {
            Ok(record) => record,
            Err(reason) => return self.wrong(reason),
        };
        if record.seq != self.seq + 1 {
            return Err(self.damaged("its sequence number does not follow the one before"));
        }
        if self.seq == 0 {
            self.check_format(&record)?;
        }
        self.seq = record.seq;
        self.offset += u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(Some(record))
    }

    pub fn read_all(&mut self) -> Result<Vec<Record>, LogError> {
        let mut records = Vec::new();
        while let Some(record) = self.next_record()? {
            records.push(record);
        }
        Ok(records)
    }

    /// Returns 0 before the first record.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the bytes of the records read.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    pub const fn torn(&self) -> Option<TornTail> {
        self.torn
    }

    /// A wrong line is torn if nothing follows it, else damaged.
    fn wrong(&mut self, reason: &'static str) -> Result<Option<Record>, LogError> {
        let more = self.file.fill_buf().map(|bytes| !bytes.is_empty());
        if more.map_err(|source| self.read_error(source))? {
            return Err(self.damaged(reason));
        }
        self.tear()
    }

    fn tear(&mut self) -> Result<Option<Record>, LogError> {
        self.torn = Some(TornTail {
            offset: self.offset,
            bytes: u64::try_from(self.line.len()).unwrap_or(u64::MAX),
        });
        // The writer may not have finished this line.
        let sought = self.file.seek(SeekFrom::Start(self.offset));
        sought.map_err(|source| self.read_error(source))?;
        Ok(None)
    }

    fn check_format(&self, record: &Record) -> Result<(), LogError> {
        if record.kind() != OPENED {
            return Err(self.damaged("a log begins with `session_opened`"));
        }
        match record.event.get("format") {
            Some(Value::Number(format)) if format.as_u64() == Some(FORMAT) => Ok(()),
            other => Err(LogError::Format {
                path: self.path.clone(),
                format: other.map_or_else(|| "none".to_owned(), Value::to_string),
            }),
        }
    }

    fn damaged(&self, reason: &'static str) -> LogError {
        LogError::Damaged {
            path: self.path.clone(),
            line: self.seq + 1,
            reason,
        }
    }

    fn read_error(&self, source: std::io::Error) -> LogError {
        LogError::Read {
            path: self.path.clone(),
            source,
        }
    }
}
