//! Splits a leading `<think>…</think>` off the text.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SplitText {
    pub(super) reasoning: String,
    pub(super) text: String,
}

#[derive(Debug, Default)]
enum ThinkState {
    /// Possibly `<think>`.
    #[default]
    Start,
    /// Possibly `</think>`.
    Inside,
    Text,
}

#[derive(Debug, Default)]
pub(super) struct ThinkSplitter {
    state: ThinkState,
    held: String,
}

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

impl ThinkSplitter {
    pub(super) fn push(&mut self, piece: &str) -> SplitText {
        let mut split = SplitText::default();
        self.held.push_str(piece);
        if matches!(self.state, ThinkState::Start) {
            if let Some(rest) = self.held.strip_prefix(OPEN) {
                self.held = rest.to_owned();
                self.state = ThinkState::Inside;
            } else if OPEN.starts_with(self.held.as_str()) {
                return split;
            } else {
                self.state = ThinkState::Text;
            }
        }
        if matches!(self.state, ThinkState::Inside) {
            if let Some((thoughts, rest)) = self.held.split_once(CLOSE) {
                split.reasoning.push_str(thoughts);
                self.held = rest.trim_start_matches('\n').to_owned();
                self.state = ThinkState::Text;
            } else {
                let kept = longest_marker_prefix(&self.held, CLOSE);
                let shown = self.held.len() - kept;
                let tail = self.held.split_off(shown);
                split.reasoning = std::mem::replace(&mut self.held, tail);
                return split;
            }
        }
        if matches!(self.state, ThinkState::Text) {
            split.text = std::mem::take(&mut self.held);
        }
        split
    }

    pub(super) fn finish(&mut self) -> SplitText {
        let held = std::mem::take(&mut self.held);
        match self.state {
            ThinkState::Inside => SplitText {
                reasoning: held,
                text: String::new(),
            },
            ThinkState::Start | ThinkState::Text => SplitText {
                reasoning: String::new(),
                text: held,
            },
        }
    }
}

fn longest_marker_prefix(text: &str, mark: &str) -> usize {
    (1..mark.len())
        .rev()
        .find(|length| mark.get(..*length).is_some_and(|head| text.ends_with(head)))
        .unwrap_or(0)
}
