//! The input stream of `git fast-import`.

use jiff::Timestamp;

use super::Content;

#[derive(Debug, Clone, Copy)]
pub(super) struct StreamedCommit<'a> {
    pub(super) branch: &'a str,
    pub(super) parent: Option<&'a str>,
    /// `Name <address>`.
    pub(super) author: &'a str,
    pub(super) committer: &'a str,
    pub(super) at: Timestamp,
    pub(super) message: &'a str,
}

#[derive(Debug, Clone)]
pub(super) struct StreamedFile<'a> {
    pub(super) path: String,
    pub(super) mode: &'a str,
    pub(super) content: &'a Content,
}

impl StreamedFile<'_> {
    pub(super) const fn is_written(&self) -> bool {
        matches!(self.content, Content::Write(_))
    }
}

/// Git answers with the commit's id, then with those of the files.
pub(super) fn render(commit: &StreamedCommit<'_>, files: &[StreamedFile<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let (written, deleted): (Vec<&StreamedFile<'_>>, Vec<&StreamedFile<'_>>) =
        files.iter().partition(|file| file.is_written());
    // Mark 1 is the commit.
    let marked: Vec<(usize, &StreamedFile<'_>)> = (2..).zip(written).collect();
    for (mark, file) in &marked {
        if let Content::Write(bytes) = file.content {
            line(&mut out, &format!("blob\nmark :{mark}"));
            data(&mut out, bytes);
        }
    }
    let time = commit.at.as_second();
    line(&mut out, &format!("commit {}\nmark :1", commit.branch));
    line(&mut out, &format!("author {} {time} +0000", commit.author));
    line(
        &mut out,
        &format!("committer {} {time} +0000", commit.committer),
    );
    data(
        &mut out,
        format!("{}\n", commit.message.trim_end()).as_bytes(),
    );
    if let Some(parent) = commit.parent {
        line(&mut out, &format!("from {parent}"));
    }
    // A folder may become a file.
    for file in deleted {
        line(&mut out, &format!("D {}", quoted(&file.path)));
    }
    for (mark, file) in &marked {
        line(
            &mut out,
            &format!("M {} :{mark} {}", file.mode, quoted(&file.path)),
        );
    }
    line(&mut out, "\nget-mark :1");
    for (mark, _) in &marked {
        line(&mut out, &format!("get-mark :{mark}"));
    }
    line(&mut out, "done");
    out
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("data {}\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

pub(super) fn quoted(path: &str) -> String {
    let mut out = String::from("\"");
    for letter in path.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if letter.is_ascii_control() => {
                out.extend(format!("\\{:03o}", u32::from(letter)).chars());
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
