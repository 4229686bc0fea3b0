//! Writes a withheld change as a patch that a person can review and `git apply` accepts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ktx_memory::one_line;
use ktx_project_store::{Change, Content, ProjectPath};
use ktx_vocabulary::ConnectionId;
use similar::TextDiff;

use crate::fingerprint::digest;
use crate::ownership::short;

const SOURCE: &str = "Source: ";
const WORK: &str = "Work: ";
const PROPOSES: &str = "Proposes: ";

/// Replaces the hash of a file that the proposal deletes.
const GONE: &str = "gone";

/// Maximum length of a work item's name in a file name.
const LONGEST_NAME: usize = 60;

/// A withheld change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// The context source.
    pub(crate) source: ConnectionId,
    /// The unit, or another work item of the source.
    pub(crate) work: String,
    /// The files with the hash of their proposed content; `None` for a file to delete.
    pub(crate) files: BTreeMap<ProjectPath, Option<String>>,
}

impl Proposal {
    /// Parses the text of a proposal file.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let head = || text.lines().take_while(|line| !line.starts_with("diff "));
        let field = |name: &str| head().find_map(|line| line.strip_prefix(name));
        let files = head().filter_map(|line| {
            let (hash, path) = line.strip_prefix(PROPOSES)?.split_once(' ')?;
            let hash = (hash != GONE).then(|| hash.to_owned());
            Some((ProjectPath::parse(path).ok()?, hash))
        });
        Some(Self {
            source: ConnectionId::parse(field(SOURCE)?).ok()?,
            work: field(WORK)?.to_owned(),
            files: files.collect(),
        })
    }

    /// Returns whether a file already has the proposed content; `bytes` is `None` for a missing
    /// file.
    pub(crate) fn is_taken(&self, path: &ProjectPath, bytes: Option<&[u8]>) -> bool {
        let wanted = self.files.get(path).and_then(Option::as_deref);
        wanted == bytes.map(short).as_deref()
    }
}

/// Returns the file name prefix of all proposals of a work item.
pub(crate) fn proposal_name(work: &str) -> String {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let mut name: String = work
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    if name != work || name.is_empty() || name.starts_with('.') {
        name = format!(
            "{}-{}",
            name.trim_start_matches('.'),
            short(work.as_bytes())
        );
    }
    name
}

/// Renders a proposal. `files` are the files before the change; `prefix` is the project's folder in
/// its repository.
pub(crate) fn render_proposal(
    source: &ConnectionId,
    work: &str,
    changes: &[Change],
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    prefix: &str,
) -> String {
    let mut text = format!(
        "ktx has kept these changes back: they are about files that {source} did not write, or that a person\n\
         has changed since, or they need such a change. To take them, run `git apply` with this file, look at\n\
         the files and commit them. To drop them, remove this file.\n\n{SOURCE}{source}\n{WORK}{}\n",
        one_line(work)
    );
    for change in changes {
        let hash = match &change.content {
            Content::Write(bytes) => short(bytes),
            Content::Delete => GONE.to_owned(),
        };
        let _ = writeln!(text, "{PROPOSES}{hash} {}", change.path);
    }
    text.push('\n');
    for change in changes {
        let old = files.get(&change.path).map(|bytes| text_of(bytes));
        let new = match &change.content {
            Content::Write(bytes) => Some(text_of(bytes)),
            Content::Delete => None,
        };
        text.push_str(&difference(
            &format!("{prefix}{}", change.path),
            old.as_deref(),
            new.as_deref(),
        ));
    }
    text
}

fn difference(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    let mut text = format!("diff --git {} {}\n", quoted(&before), quoted(&after));
    let side = |text: Option<&str>, name: &str| match text {
        Some(_) => quoted(name),
        None => "/dev/null".to_owned(),
    };
    match (old, new) {
        (None, _) => text.push_str("new file mode 100644\n"),
        (_, None) => text.push_str("deleted file mode 100644\n"),
        (Some(_), Some(_)) => {}
    }
    let difference = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    let mut hunks = difference.unified_diff();
    hunks.header(&side(old, &before), &side(new, &after));
    text.push_str(&hunks.to_string());
    text
}

/// Quotes a path as git does if it has characters that would be misread.
fn quoted(path: &str) -> String {
    if path
        .chars()
        .all(|letter| !letter.is_control() && !matches!(letter, '"' | ' '))
    {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for letter in path.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            letter if letter.is_control() => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the file name of a proposal.
pub(crate) fn proposal_file(work: &str, text: &str) -> String {
    let mut hash = digest(text.as_bytes());
    hash.truncate(8);
    format!("{}.{hash}.patch", proposal_name(work))
}

#[cfg(test)]
mod tests;
