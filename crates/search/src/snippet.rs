//! Extracts and marks the part of a text that matches.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::terms::{Script, Terms};
use crate::text::{Analyzer, Language, Token, case_parts, folded, is_ideograph, tokens};

/// In characters, without the marks.
const LETTERS: usize = 90;

/// Characters from the first mark on; the others precede it.
const AHEAD: usize = 70;

const MOST_PIECES: usize = 4000;

#[derive(Debug)]
pub(crate) struct Marks<'a> {
    analyzer: &'a Analyzer,
    stems: BTreeSet<String>,
    pairs: BTreeSet<String>,
    letters: BTreeSet<String>,
    firsts: BTreeSet<char>,
    known: RefCell<HashMap<String, bool>>,
}

struct Piece {
    range: Range<usize>,
    is_marked: bool,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(analyzer: &'a Analyzer, terms: &Terms, more: &[String]) -> Self {
        let mut marks = Self {
            analyzer,
            stems: more.iter().cloned().collect(),
            pairs: BTreeSet::new(),
            letters: BTreeSet::new(),
            firsts: BTreeSet::new(),
            known: RefCell::default(),
        };
        for term in &terms.all {
            let set = match term.script {
                Script::Word => &mut marks.stems,
                Script::Pair => &mut marks.pairs,
                Script::Letter => &mut marks.letters,
            };
            set.extend(term.stems.iter().cloned());
        }
        let firsts = marks.stems.iter().filter_map(|stem| stem.chars().next());
        marks.firsts = firsts.collect();
        marks
    }

    fn has(&self, word: &str) -> bool {
        let first = word.chars().next().filter(char::is_ascii);
        if first.is_some_and(|first| !self.firsts.contains(&first.to_ascii_lowercase())) {
            return false;
        }
        if let Some(known) = self.known.borrow().get(word) {
            return *known;
        }
        let is_marked = self.has_stem_of(word);
        self.known.borrow_mut().insert(word.to_owned(), is_marked);
        is_marked
    }

    fn has_stem_of(&self, word: &str) -> bool {
        let folded = folded(word);
        let languages = [Language::English, Language::German];
        let mut stems = languages
            .map(|language| self.analyzer.stem(language, &folded))
            .into_iter();
        stems.any(|stem| self.stems.contains(&stem))
    }

    fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for token in tokens(text) {
            match token {
                Token::Word(range) => self.add_word(text, range, &mut pieces),
                Token::Run(range) => self.add_run(text, range, &mut pieces),
            }
            if pieces.len() > MOST_PIECES {
                break;
            }
        }
        pieces
    }

    fn add_word(&self, text: &str, range: Range<usize>, pieces: &mut Vec<Piece>) {
        let word = text.get(range.clone()).unwrap_or_default();
        let parts = case_parts(word);
        let is_marked = self.has(word);
        if is_marked || parts.len() < 2 {
            pieces.push(Piece { range, is_marked });
            return;
        }
        let mut start = range.start;
        for part in parts {
            let end = start + part.len();
            pieces.push(Piece {
                range: start..end,
                is_marked: self.has(part),
            });
            start = end;
        }
    }

    fn add_run(&self, text: &str, range: Range<usize>, pieces: &mut Vec<Piece>) {
        let start = pieces.len();
        let run = text.get(range.clone()).unwrap_or_default();
        let letters: Vec<(usize, char)> = run.char_indices().collect();
        for (index, (at, letter)) in letters.iter().enumerate() {
            let alone = folded(&letter.to_string());
            let next = letters.get(index + 1);
            let pair = next.map(|(_, next)| folded(&format!("{letter}{next}")));
            let begins_pair = pair.is_some_and(|pair| self.pairs.contains(&pair));
            let at = range.start + at;
            pieces.push(Piece {
                range: at..at + letter.len_utf8(),
                is_marked: begins_pair || self.letters.contains(&alone),
            });
            let before = index.checked_sub(1).and_then(|before| letters.get(before));
            let ends_pair = before.is_some_and(|(_, before)| {
                self.pairs.contains(&folded(&format!("{before}{letter}")))
            });
            if let Some(piece) = pieces.get_mut(start + index) {
                piece.is_marked |= ends_pair;
            }
        }
    }

    pub(crate) fn snippet(&self, text: &str) -> Option<String> {
        let pieces = self.pieces(text);
        let window = densest(text, &pieces)?;
        let shown = pieces.get(window.clone())?;
        let from = if window.start == 0 {
            0
        } else {
            shown.first()?.range.start
        };
        let to = if window.end == pieces.len() {
            text.len()
        } else {
            shown.last()?.range.end
        };
        let mut snippet = String::new();
        if window.start > 0 {
            snippet.push('…');
        }
        let mut at = from;
        let mut marked = shown.iter().filter(|piece| piece.is_marked).peekable();
        while let Some(piece) = marked.next() {
            let mut end = piece.range.end;
            let mut is_run = text.get(piece.range.clone()).is_some_and(is_of_run);
            // Marked letters of one run share their mark.
            while let Some(next) = marked.next_if(|next| is_run && next.range.start == end) {
                end = next.range.end;
                is_run = text.get(next.range.clone()).is_some_and(is_of_run);
            }
            snippet.push_str(text.get(at..piece.range.start)?);
            snippet.push_str("<mark>");
            snippet.push_str(text.get(piece.range.start..end)?);
            snippet.push_str("</mark>");
            at = end;
        }
        snippet.push_str(text.get(at..to)?);
        if window.end < pieces.len() {
            snippet.push('…');
        }
        Some(one_line(&snippet))
    }
}

fn is_of_run(text: &str) -> bool {
    text.chars().all(is_ideograph)
}

fn densest(text: &str, pieces: &[Piece]) -> Option<Range<usize>> {
    let letters = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
    let mut best: Option<(usize, Range<usize>)> = None;
    let marked = pieces
        .iter()
        .enumerate()
        .filter(|(_, piece)| piece.is_marked);
    for (start, first) in marked.take(64) {
        let (mut end, mut marks) = (start, 0);
        for piece in pieces.get(start..)? {
            if end > start && letters(first.range.start..piece.range.end) > AHEAD {
                break;
            }
            marks += usize::from(piece.is_marked);
            end += 1;
        }
        if best.as_ref().is_none_or(|(most, _)| marks > *most) {
            best = Some((marks, start..end));
        }
    }
    let (_, mut window) = best?;
    let end = pieces.get(window.end - 1)?.range.end;
    while window.start > 0 {
        let before = pieces.get(window.start - 1)?.range.start;
        if letters(before..end) > LETTERS {
            break;
        }
        window.start -= 1;
    }
    Some(window)
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
