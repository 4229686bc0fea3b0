//! Notes from the command line, from files and from standard input; all are read before any is
//! captured.

use std::io::Read as _;
use std::path::Path;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::Note;

use crate::cli::IngestArgs;
use crate::ingesting::notes::{MOST_BYTES, check, of_text};
use crate::invocation::Invocation;
use crate::report::{Outcome, Report as _};

pub(super) fn notes(args: &IngestArgs, invocation: &Invocation) -> Outcome<Vec<Note>> {
    let texts = args.text.iter().map(|text| Ok(of_text(text)));
    let is_input = |path: &&std::path::PathBuf| path.as_os_str() == "-";
    if args.file.iter().filter(is_input).count() > 1 {
        return Err(Failure::new(
            Code::Usage,
            "standard input can be read only once: `--file -` is given twice",
        ));
    }
    let files = args.file.iter().map(|path| file(path, invocation));
    let notes: Vec<Note> = texts.chain(files).collect::<Outcome<_>>()?;
    for note in &notes {
        check(note)?;
    }
    Ok(notes)
}

fn file(path: &Path, invocation: &Invocation) -> Outcome<Note> {
    let is_input = path.as_os_str() == "-";
    let label = if is_input {
        "stdin".to_owned()
    } else {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let mut bytes = Vec::new();
    let read = if is_input {
        std::io::stdin()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(invocation.current.join(path))
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
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
    // A truncated text may end inside a character; it is too long in any case.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.as_bytes().len() as u64 > MOST_BYTES => {
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
