//! Reads all notes before any is captured.

use std::io::Read as _;
use std::path::Path;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::Note;
use ktx_memory::read_conversation;

use crate::cli::IngestArgs;
use crate::ingesting::notes::{MOST_BYTES, check, of_text};
use crate::invocation::Invocation;
use crate::report::{Outcome, Report as _};

pub(super) fn notes(args: &IngestArgs, invocation: &Invocation) -> Outcome<Vec<Note>> {
    let texts = args.text.iter().map(|text| Ok(of_text(text)));
    let is_input = |path: &&std::path::PathBuf| path.as_os_str() == "-";
    let files = args.file.iter().chain(&args.transcript);
    if files.filter(is_input).count() > 1 {
        return Err(Failure::new(
            Code::Usage,
            "standard input can be read only once: `-` is given twice",
        ));
    }
    let files = args
        .file
        .iter()
        .map(|path| read(path, MOST_BYTES, invocation));
    let mut notes: Vec<Note> = texts.chain(files).collect::<Outcome<_>>()?;
    for path in &args.transcript {
        notes.extend(conversation(path, invocation)?);
    }
    for note in &notes {
        check(note)?;
    }
    Ok(notes)
}

/// In bytes.
const LONGEST_CONVERSATION: u64 = 64 << 20;

const ABOUT_PIECES: &str = "This is a conversation of a user with an assistant. Only what the user states or confirms \
                            is knowledge; what the assistant assumes, proposes or has found out is not.";

fn conversation(path: &Path, invocation: &Invocation) -> Outcome<Vec<Note>> {
    let Note { label, text } = read(path, LONGEST_CONVERSATION, invocation)?;
    if text.len() as u64 > LONGEST_CONVERSATION {
        return Err(Failure::new(
            Code::LongNote,
            format!("the transcript `{label}` has more than 64 MB"),
        )
        .hint("split it, and give each part with a `--transcript` of its own"));
    }
    let conversation = read_conversation(&text).map_err(|error| {
        Failure::from_error(Code::EmptyNote, &error)
            .context(format!("`{label}` cannot be captured"))
            .hint("give the JSON lines of a Claude Code session, or plain text")
    })?;
    let count = conversation.pieces.len();
    let pieces = conversation.pieces.into_iter().enumerate();
    let notes = pieces.map(|(index, piece)| Note {
        label: match count {
            1 => label.clone(),
            _ => format!("{label}, part {} of {count}", index + 1),
        },
        text: format!("{ABOUT_PIECES}\n\n{piece}"),
    });
    Ok(notes.collect())
}

/// Reads at most `most + 1` bytes.
fn read(path: &Path, most: u64, invocation: &Invocation) -> Outcome<Note> {
    let is_input = path.as_os_str() == "-";
    let label = if is_input {
        "stdin".to_owned()
    } else {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let mut bytes = Vec::new();
    let read = if is_input {
        std::io::stdin().take(most + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(invocation.current.join(path))
            .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::Config,
            _ => Exit::Failure,
        };
        Failure::from_error(Code::UnreadableNote, &error)
            .ending(exit)
            .context(format!("`{}` cannot be read", path.display()))
    })?;
    // Truncation can split a character; the text is too long anyway.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.as_bytes().len() as u64 > most => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            return Err(no_text(&label, &format!("byte {at} is not UTF-8")));
        }
    };
    if let Some(at) = text.find('\0') {
        return Err(no_text(&label, &format!("byte {at} is zero")));
    }
    Ok(Note { label, text })
}

fn no_text(label: &str, reason: &str) -> Failure {
    Failure::new(Code::NoText, format!("`{label}` is not text: {reason}"))
        .hint("give Markdown, plain text or SQL in UTF-8")
}
