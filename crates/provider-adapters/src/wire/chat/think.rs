//! Splits a leading `<think>…</think>` off the text of models that reason in their output.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) reasoning: String,
    pub(super) text: String,
}

#[derive(Debug, Default)]
enum State {
    /// The text so far may still become `<think>`.
    #[default]
    Start,
    /// Inside; the held text may still become `</think>`.
    Inside,
    /// After it, or there was none.
    Text,
}

/// Reads pieces of text that may end anywhere.
#[derive(Debug, Default)]
pub(super) struct ThinkSplitter {
    state: State,
    held: String,
}

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

impl ThinkSplitter {
    /// Takes the next piece; holds back what is still ambiguous.
    pub(super) fn push(&mut self, piece: &str) -> Split {
        let mut split = Split::default();
        self.held.push_str(piece);
        if matches!(self.state, State::Start) {
            if let Some(rest) = self.held.strip_prefix(OPEN) {
                self.held = rest.to_owned();
                self.state = State::Inside;
            } else if OPEN.starts_with(self.held.as_str()) {
                return split;
            } else {
                self.state = State::Text;
            }
        }
        if matches!(self.state, State::Inside) {
            if let Some((thoughts, rest)) = self.held.split_once(CLOSE) {
                split.reasoning.push_str(thoughts);
                self.held = rest.trim_start_matches('\n').to_owned();
                self.state = State::Text;
            } else {
                let kept = longest_suffix_that_begins(&self.held, CLOSE);
                let shown = self.held.len() - kept;
                let tail = self.held.split_off(shown);
                split.reasoning = std::mem::replace(&mut self.held, tail);
                return split;
            }
        }
        if matches!(self.state, State::Text) {
            split.text = std::mem::take(&mut self.held);
        }
        split
    }

    /// Returns the text held back until the end.
    pub(super) fn finish(&mut self) -> Split {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => Split {
                reasoning: held,
                text: String::new(),
            },
            State::Start | State::Text => Split {
                reasoning: String::new(),
                text: held,
            },
        }
    }
}

/// Returns the length of the longest suffix of `text` that is a prefix of `mark`.
fn longest_suffix_that_begins(text: &str, mark: &str) -> usize {
    (1..mark.len())
        .rev()
        .find(|length| mark.get(..*length).is_some_and(|head| text.ends_with(head)))
        .unwrap_or(0)
}
