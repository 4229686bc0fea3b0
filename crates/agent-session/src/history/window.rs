//! Window usage of a conversation, and where to shorten it (KODE-71).

use ktx_llm_runtime::{ContentBlock, Message, MessageRole};

use super::{History, HistoryMessage};
use crate::compaction::{Compaction, CompactionMethod, left_out, poor, summary_note, tokens_of};
use crate::event::MessageTokens;

impl History {
    pub(super) fn take_size(&mut self, tokens: &MessageTokens) {
        let size = [
            tokens.input_tokens,
            tokens.cache_creation_input_tokens,
            tokens.cache_read_input_tokens,
            tokens.output_tokens,
        ];
        let is_answer = |said: &HistoryMessage| said.message.role == MessageRole::Assistant;
        let counted = self.messages.iter().rposition(is_answer);
        let counted = counted.map_or(self.messages.len(), |last| last + 1);
        self.reported = Some((size.into_iter().fold(0, u64::saturating_add), counted));
    }

    /// Returns the last reported tokens plus an estimate of newer messages.
    pub(crate) fn size(&self) -> u64 {
        let (size, counted) = self.reported.unwrap_or_default();
        let since = self.messages.iter().skip(counted);
        size.saturating_add(tokens_of(since.map(|said| &said.message)))
    }

    /// Returns the last record of the turns to remove, so that the rest has at most `keep` tokens,
    /// or is the last turn.
    pub(crate) fn turn_cut(&self, keep: u64) -> Option<u64> {
        let begins = |said: &HistoryMessage| said.begins_turn;
        let last = self.messages.iter().rposition(begins)?;
        let fits = |begin: &usize| {
            let rest = self.messages.iter().skip(*begin);
            tokens_of(rest.map(|said| &said.message)) <= keep
        };
        let begin = (1..=last)
            .filter(|at| self.messages.get(*at).is_some_and(begins))
            .find(fits)
            .unwrap_or(last);
        let before = begin.checked_sub(1)?;
        let to = self.messages.get(before)?.seq;
        // Nothing but a summary.
        let has_more = self.messages.iter().take(begin).any(|said| said.seq < to) || before > 0;
        (has_more || self.messages.first().is_some_and(begins)).then_some(to)
    }

    /// Returns the record before the last step, if earlier steps have results.
    pub(crate) fn result_cut(&self) -> Option<u64> {
        let is_answer = |said: &HistoryMessage| said.message.role == MessageRole::Assistant;
        let last = self.messages.iter().rposition(is_answer)?;
        let has_results = |said: &HistoryMessage| {
            let is_whole = |block: &ContentBlock| match block {
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    ..
                } => content.len() > left_out(tool_use_id).len(),
                _ => false,
            };
            said.message.content.iter().any(is_whole)
        };
        let before = self.messages.get(..last)?;
        let has_results = before.iter().any(has_results);
        before.last().filter(|_| has_results).map(|said| said.seq)
    }

    pub(crate) fn until(&self, to: u64) -> impl Iterator<Item = &Message> {
        let said = self.messages.iter().filter(move |said| said.seq <= to);
        said.map(|said| &said.message)
    }

    pub(crate) fn first_record(&self) -> u64 {
        self.messages.first().map_or(0, |said| said.seq)
    }

    pub(crate) const fn was_poorly_compressed(&self) -> bool {
        self.poorly_compressed
    }

    pub(crate) fn compact(&mut self, compaction: &Compaction) {
        let to = compaction.to;
        if let (CompactionMethod::Summary, Some(summary)) =
            (&compaction.method, &compaction.summary)
        {
            self.messages.retain(|said| said.seq > to);
            let message = Message::text(MessageRole::User, summary_note(summary));
            self.messages.insert(
                0,
                HistoryMessage {
                    seq: to,
                    begins_turn: false,
                    message,
                },
            );
        } else {
            let dropped = compaction.dropped.unwrap_or_default();
            self.messages.retain(|said| said.seq > dropped);
            for said in self.messages.iter_mut().filter(|said| said.seq <= to) {
                leave_out_results(&mut said.message);
            }
        }
        for said in &mut self.messages {
            // The response id refers to the conversation before the compaction.
            said.message.metadata.response_id = None;
        }
        self.reported = None;
        self.poorly_compressed = poor(compaction.ratio);
    }
}

fn leave_out_results(message: &mut Message) {
    for block in &mut message.content {
        if let ContentBlock::ToolResult {
            tool_use_id,
            content,
            ..
        } = block
        {
            let note = left_out(tool_use_id);
            if content.len() > note.len() {
                *content = note;
            }
        }
    }
}
