//! The table of every key of agent files and case files: the only source of checks, defaults, JSON
//! Schema and the reference page.

mod agent;
mod cases;
mod claude;
mod metrics;
mod model;
mod tools;
mod work;

pub(crate) use agent::ROOT;
pub(crate) use cases::{CASE_FILE, CASES};

use crate::form::Form;

/// One key of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// The spelling in the file.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// What an absent key means.
    pub(crate) absent: Absent,
    /// The description for the reference page.
    pub(crate) meaning: &'static str,
}

/// What an absent key (or one without a value) means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The value stays absent.
    Nothing,
    /// This JSON value.
    Default(&'static str),
    /// An object of the defaults of its own keys.
    Descend,
    Refused,
}

/// What a path must lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTo {
    File,
    Folder,
    Either,
}

/// The valid values of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Text that is not blank.
    Text {
        /// The maximum of characters, if there is one.
        most: Option<usize>,
    },
    /// Text of a certain form.
    Form(Form),
    /// A path relative to the file, inside the project.
    Path(PathTo),
    Flag,
    /// `true` and nothing else.
    Yes,
    /// A whole number in a range.
    Count {
        min: u64,
        /// The maximum, if there is one.
        max: Option<u64>,
    },
    /// An odd whole number.
    Odd {
        max: u64,
    },
    AnyNumber,
    /// A number in a range.
    Number {
        min: f64,
        /// The maximum, if there is one.
        max: Option<f64>,
    },
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// An object with these keys and no others.
    Object(&'static [Field]),
    /// An object whose other keys depend on the value of one of them.
    Tagged(&'static Tagged),
    /// An object whose other keys depend on which of the variants' names is one of them.
    Keyed(&'static [Variant]),
    /// A text that is short for an object with this key, or the object.
    Short(&'static Short),
    List(&'static List),
    /// A list, or one of its items.
    OneOrMore(&'static Self),
    /// An object from names to values of one shape.
    Map(&'static Self),
    /// A JSON Schema whose root is an object, or the path of a file that holds one.
    Schema,
    /// A value that an argument must have, `{fuzzy: TEXT}` or `{regex: PATTERN}`.
    Matcher,
    Any,
    AnyObject,
    /// A key of HoloDeck without a meaning in ktx, and what ktx has instead.
    Foreign(&'static str),
}

/// The variants of an object.
#[derive(Debug)]
pub(crate) struct Tagged {
    /// The key that decides.
    pub(crate) tag: &'static str,
    /// Its value when it is absent.
    pub(crate) absent: Option<&'static str>,
    /// What a value is called in messages.
    pub(crate) noun: &'static str,
    pub(crate) variants: &'static [Variant],
}

/// The keys of one variant of an object.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) body: Body,
}

impl Variant {
    /// Whether a file can use the variant.
    pub(crate) const fn is_offered(&self) -> bool {
        !matches!(self.body, Body::Refused { .. })
    }
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The keys, in groups.
    Fields(&'static [&'static [Field]]),
    /// Another key decides.
    Tagged(&'static Tagged),
    /// ktx does not have it: why, and what to use instead.
    Refused {
        why: &'static str,
        hint: &'static str,
    },
}

/// A text that is short for an object.
#[derive(Debug)]
pub(crate) struct Short {
    /// The key that the text is the value of.
    pub(crate) key: &'static str,
    /// The form of the text.
    pub(crate) text: Shape,
    /// Another key that the object gets, with its value.
    pub(crate) fixed: Option<Fixed>,
    pub(crate) full: Shape,
}

/// A key with a fixed value.
#[derive(Debug)]
pub(crate) struct Fixed {
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
}

/// A list of values.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) item: Shape,
    /// The maximum of items, if there is one.
    pub(crate) most: Option<usize>,
    /// A key (or, for texts, the empty text) by which items are told apart.
    pub(crate) unique: Option<&'static str>,
}

impl List {
    pub(crate) const fn of(item: Shape) -> Self {
        Self {
            item,
            most: None,
            unique: None,
        }
    }
}

impl Field {
    pub(crate) const fn optional(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            shape,
            absent: Absent::Nothing,
            meaning,
        }
    }

    /// A key with a default, given as JSON.
    pub(crate) const fn defaulted(
        name: &'static str,
        shape: Shape,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            absent: Absent::Default(default),
            meaning,
        }
    }

    pub(crate) const fn required(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            shape,
            absent: Absent::Refused,
            meaning,
        }
    }

    /// An object whose keys have their own defaults.
    pub(crate) const fn object(
        name: &'static str,
        fields: &'static [Self],
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape: Shape::Object(fields),
            absent: Absent::Descend,
            meaning,
        }
    }

    /// A key of HoloDeck without a meaning in ktx.
    pub(crate) const fn foreign(name: &'static str, instead: &'static str) -> Self {
        Self::optional(name, Shape::Foreign(instead), instead)
    }
}

/// The largest number of a range without a maximum.
pub(crate) const MOST: u64 = u32::MAX as u64;

/// Text that is not blank, of any length.
pub(crate) const TEXT: Shape = Shape::Text { most: None };
pub(crate) const TEXTS: Shape = Shape::List(&List::of(TEXT));
pub(crate) const POSITIVE: Shape = Shape::Count { min: 1, max: None };
pub(crate) const RATIO: Shape = Shape::Number {
    min: 0.0,
    max: Some(1.0),
};
pub(crate) const AMOUNT: Shape = Shape::Number {
    min: 0.0,
    max: None,
};
