//! Divides files into the parts that a search finds.

/// Approximate letters of a part.
const LETTERS: usize = 1_500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Paragraphs of about equal size.
    Size,
    Headings,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) line: usize,
    /// Outermost first.
    pub(super) headings: String,
    pub(super) text: String,
}

pub(super) fn divided(text: &str, division: Division) -> Vec<Part> {
    let mut divider = Divider::default();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        let heading = (division == Division::Headings && !in_code)
            .then(|| heading(line))
            .flatten();
        match heading {
            Some((level, title)) => divider.open(level, title),
            None => divider.add(index + 1, line),
        }
    }
    divider.close();
    divider.parts
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_heading = (1..=6).contains(&level) && title.starts_with(' ');
    is_heading.then(|| (level, title.trim()))
}

#[derive(Default)]
struct Divider {
    parts: Vec<Part>,
    above: Vec<(usize, String)>,
    line: usize,
    text: String,
}

impl Divider {
    fn open(&mut self, level: usize, title: &str) {
        self.close();
        self.above.retain(|(above, _)| *above < level);
        self.above.push((level, title.to_owned()));
    }

    fn add(&mut self, number: usize, line: &str) {
        let is_blank = line.trim().is_empty();
        let is_full = self.text.len() >= LETTERS && is_blank;
        if is_full || self.text.len() + line.len() > 2 * LETTERS {
            self.close();
        }
        if self.text.is_empty() {
            if is_blank {
                return;
            }
            self.line = number;
        }
        // A line of minified JSON can exceed a part.
        let mut rest = line;
        while rest.len() > 2 * LETTERS {
            let (head, tail) = rest.split_at(rest.floor_char_boundary(2 * LETTERS));
            self.text.push_str(head);
            self.close();
            self.line = number;
            rest = tail;
        }
        self.text.push_str(rest);
        self.text.push('\n');
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let headings = self.above.iter().map(|(_, title)| title.as_str());
        self.parts.push(Part {
            line: self.line,
            headings: headings.collect::<Vec<_>>().join(" › "),
            text: text.to_owned(),
        });
    }
}
