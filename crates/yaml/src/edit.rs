//! Edits a text in place: writes only changed entries and keeps everything else byte for byte.
//!
//! The editor reads lines by indentation. It compares the parsed result with the intended value and
//! changes nothing if they differ.

mod block;
mod plan;

use std::ops::Range;

use serde_yaml::{Mapping, Value};

pub use block::Obstacle;

use block::{
    Block, BlockEntry, BlockKind, KeyHead, Line, LineKind, UNUSUAL, block, comment, head, is_key,
    is_text, kept_words, lines,
};
use plan::{EditStep, in_old_order, plan_items, plan_keys};

use crate::render::{entry_text, item_text, key_text, to_yaml, value_text};

/// Edits the text of `old` to have the value `new`.
///
/// A changed part in flow or multi-line style is rewritten if it has no comment, anchor or tag.
pub fn edit(text: &str, old: &Mapping, new: &Mapping) -> Result<String, Obstacle> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let line_end = match body.find('\n') {
        Some(at) if body.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    };
    let all = lines(body);
    let mut editor = Editor {
        line_end,
        out: String::with_capacity(body.len()),
    };
    let edited = match editor.document(&all, old, new) {
        Ok(()) if reads_as(&editor.out, new) => editor.out,
        result => {
            let obstacle = kept_words(&all).map(|kept| result.err().unwrap_or(kept));
            if let Some(obstacle) = obstacle {
                return Err(obstacle);
            }
            let ordered = in_old_order(&Value::Mapping(old.clone()), &Value::Mapping(new.clone()));
            let anew = to_yaml(&ordered).replace('\n', line_end);
            if !reads_as(&anew, new) {
                return Err(unusual(&all));
            }
            anew
        }
    };
    Ok(format!("{mark}{edited}"))
}

pub fn reads_as(text: &str, value: &Mapping) -> bool {
    serde_yaml::from_str::<Value>(text).is_ok_and(|read| match &read {
        Value::Mapping(read) => read == value,
        Value::Null => value.is_empty(),
        _ => false,
    })
}

fn heads<'t>(all: &[Line<'t>], block: &Block, old: &Mapping) -> Result<Vec<KeyHead<'t>>, Obstacle> {
    if block.entries.len() != old.len() {
        return Err(unusual(all));
    }
    let read = |(entry, (key, _)): (&BlockEntry, (&Value, &Value))| {
        let own = all.get(entry.own.clone()).unwrap_or_default();
        let head = head(own).filter(|head| is_key(head.key, key));
        head.ok_or_else(|| unusual(own))
    };
    block.entries.iter().zip(old).map(read).collect()
}

fn unusual(lines: &[Line<'_>]) -> Obstacle {
    let line = lines.first().map_or(1, |line| line.number);
    Obstacle {
        line,
        what: UNUSUAL,
    }
}

struct Editor {
    line_end: &'static str,
    out: String,
}

#[derive(Clone, Copy)]
struct EntryChange<'v> {
    old: &'v Value,
    key: &'v Value,
    new: &'v Value,
}

type EditResult = Result<(), Obstacle>;

impl Editor {
    fn document(&mut self, all: &[Line<'_>], old: &Mapping, new: &Mapping) -> EditResult {
        let is_frame = |line: &Line<'_>| {
            let content = line.content().trim_end();
            line.indent == 0 && (content == "---" || content.starts_with('%'))
        };
        let is_end = |line: &Line<'_>| line.indent == 0 && line.content().trim_end() == "...";
        let mut begin = 0;
        for (at, line) in all.iter().enumerate() {
            match line.kind {
                LineKind::Content if is_frame(line) => begin = at + 1,
                LineKind::Content => break,
                LineKind::Blank | LineKind::Comment => {}
            }
        }
        let end = all.iter().position(is_end).unwrap_or(all.len());
        let (front, rest) = all.split_at_checked(begin).unwrap_or_default();
        let (inside, behind) = rest
            .split_at_checked(end.saturating_sub(begin))
            .unwrap_or_default();
        self.copy(front);
        if old.is_empty() && inside.iter().all(|line| line.kind != LineKind::Content) {
            self.copy(inside);
            for (key, value) in new {
                self.write(&entry_text(key, value, 0));
            }
        } else {
            self.mapping(inside, old, new)?;
        }
        self.copy(behind);
        Ok(())
    }

    fn mapping(&mut self, all: &[Line<'_>], old: &Mapping, new: &Mapping) -> EditResult {
        let block = block(all, BlockKind::Keys)?;
        let heads = heads(all, &block, old)?;
        let steps = plan_keys(old, new);
        let is_behind_dash = all.first().is_some_and(|line| line.is_behind_dash);
        let begins_as_before = matches!(steps.first(), Some(EditStep::Old { old: 0, .. }));
        if is_behind_dash && !begins_as_before {
            return Err(unusual(all));
        }
        let (old, new): (Vec<_>, Vec<_>) = (old.iter().collect(), new.iter().collect());
        self.steps(all, &block, &steps, |editor, step, own| match step {
            EditStep::New(nth) => {
                if let Some((key, value)) = new.get(*nth) {
                    editor.write(&entry_text(key, value, block.indent));
                }
                Ok(())
            }
            EditStep::Old { old: at, new: nth } => {
                let (Some(head), Some((key, before)), Some((name, after))) =
                    (heads.get(*at), old.get(*at), new.get(*nth))
                else {
                    return Err(unusual(own));
                };
                let change = EntryChange {
                    old: before,
                    key: name,
                    new: after,
                };
                if key != name {
                    return editor.renamed(own, head, change, block.indent);
                }
                if before == after {
                    editor.copy(own);
                    return Ok(());
                }
                editor.entry(own, head, change, block.indent)
            }
        })
    }

    fn sequence(&mut self, all: &[Line<'_>], old: &[Value], new: &[Value]) -> EditResult {
        let block = block(all, BlockKind::Items)?;
        if block.entries.len() != old.len() {
            return Err(unusual(all));
        }
        let steps = plan_items(old, new);
        self.steps(all, &block, &steps, |editor, step, own| match step {
            EditStep::New(nth) => {
                if let Some(value) = new.get(*nth) {
                    editor.write(&item_text(value, block.indent));
                }
                Ok(())
            }
            EditStep::Old { old: at, new: nth } => match (old.get(*at), new.get(*nth)) {
                (Some(before), Some(after)) if before != after => {
                    editor.item(own, before, after, block.indent)
                }
                _ => {
                    editor.copy(own);
                    Ok(())
                }
            },
        })
    }

    /// A removed entry takes the comments directly above it along; comments after a blank line
    /// stay.
    fn steps(
        &mut self,
        all: &[Line<'_>],
        block: &Block,
        steps: &[EditStep],
        mut write: impl FnMut(&mut Self, &EditStep, &[Line<'_>]) -> EditResult,
    ) -> EditResult {
        let mut stays = vec![false; block.entries.len()];
        for step in steps {
            if let EditStep::Old { old, .. } = step
                && let Some(one) = stays.get_mut(*old)
            {
                *one = true;
            }
        }
        let cut = |range: &Range<usize>| all.get(range.clone()).unwrap_or_default();
        let speaks = |lines: &[Line<'_>]| lines.iter().any(|line| line.kind == LineKind::Comment);
        let mut gaps: Vec<Vec<Range<usize>>> = vec![Vec::new(); block.entries.len() + 1];
        let mut waiting: Vec<Range<usize>> = Vec::new();
        let mut any = false;
        for (at, BlockEntry { gap, .. }) in block.entries.iter().enumerate() {
            let is_kept = stays.get(at).copied().unwrap_or_default();
            if at > 0 && (is_kept && any || speaks(cut(gap))) {
                waiting.push(gap.clone());
            }
            any |= is_kept;
            if is_kept && let Some(place) = gaps.get_mut(at) {
                *place = std::mem::take(&mut waiting);
            }
        }
        if let Some(entry) = block.entries.first() {
            self.copy(cut(&entry.gap));
        }
        for step in steps {
            let EditStep::Old { old, .. } = step else {
                write(self, step, &[])?;
                continue;
            };
            let Some(entry) = block.entries.get(*old) else {
                continue;
            };
            for gap in gaps.get(*old).into_iter().flatten() {
                self.copy(cut(gap));
            }
            self.copy(cut(&entry.lead));
            write(self, step, cut(&entry.own))?;
        }
        for gap in &waiting {
            self.copy(cut(gap));
        }
        self.copy(cut(&block.tail));
        Ok(())
    }

    fn entry(
        &mut self,
        own: &[Line<'_>],
        head: &KeyHead<'_>,
        change: EntryChange<'_>,
        indent: usize,
    ) -> EditResult {
        let EntryChange { old, key, new } = change;
        let comment = comment(head.rest);
        let is_block = head.rest.len() == comment.len() || head.rest.trim().is_empty();
        let (top, below) = own.split_at_checked(head.lines).unwrap_or_default();
        let has_lines = below.iter().any(|line| line.kind == LineKind::Content);
        let anew = |editor: &mut Self| {
            editor.write(&entry_text(key, &in_old_order(old, new), indent));
        };
        if is_block && has_lines {
            let edited = self.block(top, head, below, old, new);
            return edited.or_else(|why| self.rewrite(own, Some(why), anew));
        }
        if has_lines && is_text(head.rest, below) {
            self.one_line(top, head, comment, &value_text(new, indent));
            return Ok(());
        }
        if has_lines {
            return self.rewrite(own, None, anew);
        }
        let value = head.rest.strip_suffix(comment).unwrap_or(head.rest).trim();
        if value.starts_with(['&', '*', '!']) {
            return Err(kept_words(own).unwrap_or_else(|| unusual(own)));
        }
        self.one_line(
            top,
            head,
            comment,
            &value_text(&in_old_order(old, new), indent),
        );
        self.copy(below);
        Ok(())
    }

    fn one_line(&mut self, top: &[Line<'_>], head: &KeyHead<'_>, comment: &str, value: &str) {
        let (inline, below) = value.split_once('\n').unwrap_or((value, ""));
        let last = top.last().map_or("", |line| line.raw);
        let said = last.trim_end_matches(['\n', '\r']);
        self.copy(top.get(..top.len().saturating_sub(1)).unwrap_or_default());
        self.begin_line(top.last());
        self.out
            .push_str(said.strip_suffix(head.rest).unwrap_or(said));
        self.out.push_str(inline);
        self.out.push_str(comment);
        self.out.push_str(self.line_end);
        self.write(below);
    }

    fn block(
        &mut self,
        top: &[Line<'_>],
        head: &KeyHead<'_>,
        below: &[Line<'_>],
        old: &Value,
        new: &Value,
    ) -> EditResult {
        let length = self.out.len();
        let edited = match (old, new) {
            (Value::Mapping(_), Value::Mapping(map)) if map.is_empty() => {
                self.emptied(top, head, below, BlockKind::Keys, new)
            }
            (Value::Sequence(_), Value::Sequence(list)) if list.is_empty() => {
                self.emptied(top, head, below, BlockKind::Items, new)
            }
            (Value::Mapping(old), Value::Mapping(new)) => {
                self.copy(top);
                self.mapping(below, old, new)
            }
            (Value::Sequence(old), Value::Sequence(new)) => {
                self.copy(top);
                self.sequence(below, old, new)
            }
            _ => Err(unusual(top)),
        };
        if edited.is_err() {
            self.out.truncate(length);
        }
        edited
    }

    fn emptied(
        &mut self,
        top: &[Line<'_>],
        head: &KeyHead<'_>,
        below: &[Line<'_>],
        kind: BlockKind,
        new: &Value,
    ) -> EditResult {
        let block = block(below, kind)?;
        self.one_line(top, head, comment(head.rest), &value_text(new, 0));
        for entry in &block.entries {
            self.copy(below.get(entry.gap.clone()).unwrap_or_default());
        }
        self.copy(below.get(block.tail).unwrap_or_default());
        Ok(())
    }

    fn item(&mut self, own: &[Line<'_>], old: &Value, new: &Value, indent: usize) -> EditResult {
        let Some((line, more)) = own.split_first() else {
            return Ok(());
        };
        let length = self.out.len();
        let edited = match (old, new) {
            (Value::Mapping(old), Value::Mapping(new)) if !old.is_empty() && !new.is_empty() => {
                self.item_mapping(*line, more, old, new)
            }
            _ => Err(line.obstacle(UNUSUAL)),
        };
        edited.or_else(|why| {
            self.out.truncate(length);
            self.rewrite(own, Some(why), |editor| {
                editor.write(&item_text(&in_old_order(old, new), indent));
            })
        })
    }

    fn item_mapping(
        &mut self,
        line: Line<'_>,
        more: &[Line<'_>],
        old: &Mapping,
        new: &Mapping,
    ) -> EditResult {
        let content = line.content();
        let said = content.strip_prefix('-').unwrap_or(content);
        let inner = said.trim_start_matches(' ');
        if inner.is_empty() || inner.starts_with('#') {
            self.copy(&[line]);
            return self.mapping(more, old, new);
        }
        let at =
            line.raw.len() - line.raw.trim_start_matches(' ').len() + content.len() - inner.len();
        let (dash, raw) = line.raw.split_at_checked(at).unwrap_or_default();
        self.begin_line(Some(&line));
        self.out.push_str(dash);
        let behind = Line {
            raw,
            indent: line.indent + content.len() - inner.len(),
            is_behind_dash: true,
            ..line
        };
        let all: Vec<Line<'_>> = std::iter::once(behind)
            .chain(more.iter().copied())
            .collect();
        self.mapping(&all, old, new)
    }

    fn renamed(
        &mut self,
        own: &[Line<'_>],
        head: &KeyHead<'_>,
        change: EntryChange<'_>,
        indent: usize,
    ) -> EditResult {
        let EntryChange { old, key, new } = change;
        let below = own.get(head.lines..).unwrap_or_default();
        let is_block = head.rest.trim().is_empty() || comment(head.rest) == head.rest;
        match (old, new) {
            (Value::Mapping(old), Value::Mapping(new)) if is_block => {
                self.write(&format!("{}{}", " ".repeat(indent), key_text(key, indent)));
                self.out.push_str(head.rest);
                self.out.push_str(self.line_end);
                self.mapping(below, old, new)
            }
            _ => self.rewrite(own, None, |editor| {
                editor.write(&entry_text(key, new, indent));
            }),
        }
    }

    fn rewrite(
        &mut self,
        own: &[Line<'_>],
        why: Option<Obstacle>,
        write: impl FnOnce(&mut Self),
    ) -> EditResult {
        if let Some(kept) = kept_words(own) {
            return Err(why.unwrap_or(kept));
        }
        write(self);
        Ok(())
    }

    fn copy(&mut self, lines: &[Line<'_>]) {
        self.begin_line(lines.first());
        for line in lines {
            self.out.push_str(line.raw);
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.end_line();
        if self.line_end == "\n" {
            self.out.push_str(text);
        } else {
            self.out.push_str(&text.replace('\n', self.line_end));
        }
    }

    fn begin_line(&mut self, line: Option<&Line<'_>>) {
        if line.is_some_and(|line| !line.is_behind_dash) {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push_str(self.line_end);
        }
    }
}

#[cfg(test)]
mod tests;
