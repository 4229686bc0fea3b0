//! The text of a proposal: its commit message, and the diff of its files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ktx_memory::one_line;
use ktx_project_store::{Change, Content, ProjectPath};
use ktx_vocabulary::ConnectionId;
use similar::TextDiff;

use crate::fingerprint::digest;
use crate::policy::WhyHeld;

const SOURCE: &str = "Source: ";
const WORK: &str = "Work: ";
const HELD: &str = "Held: ";
const EVIDENCE: &str = "Evidence: ";

const LONGEST_NAME: usize = 60;

/// Hash digits that distinguish proposals of one work item.
pub(crate) const DIGITS: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProposalMessage {
    pub(crate) source: ConnectionId,
    pub(crate) work: String,
    /// As (path, reason).
    pub(crate) held: Vec<(String, String)>,
    /// Supporting lines of the source: `file:line: text`.
    pub(crate) evidence: Vec<String>,
}

impl ProposalMessage {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let all = |name: &'static str| text.lines().filter_map(move |line| line.strip_prefix(name));
        let held = all(HELD).filter_map(|line| line.split_once(": "));
        Some(Self {
            source: ConnectionId::parse(field(SOURCE)?).ok()?,
            work: field(WORK)?.to_owned(),
            held: held
                .map(|(path, reason)| (path.to_owned(), reason.to_owned()))
                .collect(),
            evidence: all(EVIDENCE).map(str::to_owned).collect(),
        })
    }

    pub(crate) fn render(&self) -> String {
        let mut text = format!(
            "ktx review: {} {}\n\n{SOURCE}{}\n{WORK}{}\n",
            self.source,
            one_line(&self.work),
            self.source,
            one_line(&self.work)
        );
        for (path, reason) in &self.held {
            let _ = writeln!(text, "{HELD}{path}: {reason}");
        }
        for line in &self.evidence {
            let _ = writeln!(text, "{EVIDENCE}{}", one_line(line));
        }
        text
    }
}

pub(crate) fn reasons(
    changes: &[Change],
    held: &BTreeMap<ProjectPath, WhyHeld>,
) -> Vec<(String, String)> {
    let each = changes.iter().map(|change| {
        let why = held.get(&change.path).copied();
        let why = why.unwrap_or(WhyHeld::NeedsOthers);
        (change.path.to_string(), why.text().to_owned())
    });
    each.collect()
}

pub(crate) fn proposal_name(source: &ConnectionId, work: &str) -> String {
    format!("{source}/{}.", work_name(work))
}

pub(crate) fn work_name(work: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let mut name: String = work
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    if name != work || name.is_empty() || name.starts_with('-') {
        let mut digits = digest(work.as_bytes());
        digits.truncate(DIGITS);
        let whole = format!("{name}-{digits}");
        whole.trim_start_matches('-').clone_into(&mut name);
    }
    name
}

/// Returns a hash of the work, the old and the new bytes. The same result over other files is
/// another decision.
pub(crate) fn proposal_id(
    source: &ConnectionId,
    work: &str,
    changes: &[Change],
    files: &BTreeMap<ProjectPath, Vec<u8>>,
) -> String {
    id_of(source, work, changes, |path| {
        let before = files.get(path);
        format!(
            "\0{}",
            before.map(|bytes| digest(bytes)).unwrap_or_default()
        )
    })
}

pub(crate) fn former_id(source: &ConnectionId, work: &str, changes: &[Change]) -> String {
    id_of(source, work, changes, |_| String::new())
}

fn id_of(
    source: &ConnectionId,
    work: &str,
    changes: &[Change],
    before: impl Fn(&ProjectPath) -> String,
) -> String {
    let mut all = format!("{source}\0{work}");
    for change in changes {
        let content = match &change.content {
            Content::Write(bytes) => digest(bytes),
            Content::Delete => String::new(),
        };
        let _ = write!(all, "\0{}\0{content}{}", change.path, before(&change.path));
    }
    let mut id = digest(all.as_bytes());
    id.truncate(DIGITS);
    id
}

/// Returns the diff of a file in the format of `git apply`.
pub(crate) fn difference(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let (old, new) = (old.map(text_of), new.map(text_of));
    lines_of_difference(path, old.as_deref(), new.as_deref())
}

fn lines_of_difference(path: &str, old: Option<&str>, new: Option<&str>) -> String {
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

#[cfg(test)]
mod tests;
