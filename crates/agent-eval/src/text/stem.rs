//! The stemmer that M. F. Porter published in 1980.

/// An ending and its replacement.
type SuffixRule = (&'static str, &'static str);

/// Step 2: after a stem with a measure above 0.
const STEP_2: [SuffixRule; 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

/// Step 3: the same.
const STEP_3: [SuffixRule; 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Step 4: after a stem with a measure above 1; `ion` only after `s` or `t`.
const STEP_4: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
];

/// Does not change words of up to two letters, or with anything but `a` to `z`.
pub fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = StemWord(word.to_owned());
    word.drop_plural();
    word.drop_past();
    if word.ends("y") && has_vowel(word.before("y")) {
        word.replace("y", "i");
    }
    word.replace_longest(&STEP_2);
    word.replace_longest(&STEP_3);
    word.drop_suffix();
    word.tidy();
    word.0
}

struct StemWord(String);

impl StemWord {
    fn ends(&self, ending: &str) -> bool {
        self.0.ends_with(ending)
    }

    fn before(&self, ending: &str) -> &str {
        self.0.strip_suffix(ending).unwrap_or(&self.0)
    }

    fn replace(&mut self, ending: &str, by: &str) {
        let length = self.before(ending).len();
        self.0.truncate(length);
        self.0.push_str(by);
    }

    /// Step 1a.
    fn drop_plural(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.replace("es", "");
        } else if self.ends("s") && !self.ends("ss") {
            self.replace("s", "");
        }
    }

    /// Step 1b.
    fn drop_past(&mut self) {
        if self.ends("eed") {
            if measure(self.before("eed")) > 0 {
                self.replace("eed", "ee");
            }
            return;
        }
        let Some(ending) = ["ed", "ing"]
            .into_iter()
            .find(|ending| self.ends(ending) && has_vowel(self.before(ending)))
        else {
            return;
        };
        self.replace(ending, "");
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.0.push('e');
        } else if ends_double(&self.0) && !self.0.ends_with(['l', 's', 'z']) {
            self.0.pop();
        } else if measure(&self.0) == 1 && ends_short(&self.0) {
            self.0.push('e');
        }
    }

    /// Steps 2 and 3: only the longest ending counts.
    fn replace_longest(&mut self, rules: &[SuffixRule]) {
        let longest = rules
            .iter()
            .filter(|(ending, _)| self.ends(ending))
            .max_by_key(|(ending, _)| ending.len());
        if let Some((ending, by)) = longest
            && measure(self.before(ending)) > 0
        {
            self.replace(ending, by);
        }
    }

    /// Step 4.
    fn drop_suffix(&mut self) {
        let Some(ending) = STEP_4.into_iter().find(|ending| self.ends(ending)) else {
            return;
        };
        let before = self.before(ending);
        let fits = ending != "ion" || before.ends_with(['s', 't']);
        if fits && measure(before) > 1 {
            self.replace(ending, "");
        }
    }

    /// Step 5.
    fn tidy(&mut self) {
        if self.ends("e") {
            let before = self.before("e");
            let size = measure(before);
            if size > 1 || size == 1 && !ends_short(before) {
                self.replace("e", "");
            }
        }
        if self.ends("ll") && measure(&self.0) > 1 {
            self.0.pop();
        }
    }
}

/// Marks consonants; `y` is one at the beginning and after a vowel.
fn consonants(word: &str) -> Vec<bool> {
    let mut before = false;
    word.bytes()
        .map(|letter| {
            before = match letter {
                b'a' | b'e' | b'i' | b'o' | b'u' => false,
                b'y' => !before,
                _ => true,
            };
            before
        })
        .collect()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).contains(&false)
}

/// Counts vowel-consonant sequences.
fn measure(word: &str) -> usize {
    let letters = consonants(word);
    letters.windows(2).filter(|two| !two[0] && two[1]).count()
}

fn ends_double(word: &str) -> bool {
    let letters = word.as_bytes();
    let twice = letters.len() > 1 && letters[letters.len() - 1] == letters[letters.len() - 2];
    twice && consonants(word).last() == Some(&true)
}

/// True after consonant, vowel, consonant other than `w`, `x` or `y`.
fn ends_short(word: &str) -> bool {
    let letters = consonants(word);
    letters.ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}
