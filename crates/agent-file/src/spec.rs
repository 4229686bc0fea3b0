//! The table of all keys: the source of checks, defaults, JSON Schema and the reference page.

mod agent;
mod cases;
mod claude;
mod metrics;
mod model;
mod tools;
mod work;

pub(crate) use agent::ROOT;
pub(crate) use cases::{CASE_FILE, CASES};

use crate::form::TextForm;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: ValueShape,
    pub(crate) absent: AbsentEffect,
    pub(crate) meaning: &'static str,
}

/// The effect of an absent key or a key without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentEffect {
    Nothing,
    /// JSON.
    Default(&'static str),
    /// An object with the defaults of its keys.
    Descend,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Folder,
    Either,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueShape {
    Text {
        most: Option<usize>,
    },
    Form(TextForm),
    /// A path relative to the file, inside the project.
    Path(PathKind),
    Flag,
    /// Only `true`.
    Yes,
    Count {
        min: u64,
        max: Option<u64>,
    },
    Odd {
        max: u64,
    },
    AnyNumber,
    Number {
        min: f64,
        max: Option<f64>,
    },
    Choice(&'static [&'static str]),
    Object(&'static [Field]),
    /// An object; the value of one key selects the other keys.
    Tagged(&'static TaggedShape),
    /// An object; its one variant key selects the other keys.
    Keyed(&'static [Variant]),
    /// An object with this key, or the text that abbreviates it.
    Short(&'static ShortForm),
    List(&'static ListShape),
    /// A list or a single item.
    OneOrMore(&'static Self),
    Map(&'static Self),
    /// A JSON Schema with an object at its root, or the path of its file.
    Schema,
    /// A literal argument, `{fuzzy: TEXT}` or `{regex: PATTERN}`.
    Matcher,
    Any,
    AnyObject,
    /// A HoloDeck key that ktx ignores, and its replacement.
    Foreign(&'static str),
}

#[derive(Debug)]
pub(crate) struct TaggedShape {
    pub(crate) tag: &'static str,
    /// Default of the tag.
    pub(crate) absent: Option<&'static str>,
    /// The word for a value in messages.
    pub(crate) noun: &'static str,
    pub(crate) variants: &'static [Variant],
}

#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) body: VariantBody,
}

impl Variant {
    /// True if a file can use the variant.
    pub(crate) const fn is_offered(&self) -> bool {
        !matches!(self.body, VariantBody::Refused { .. })
    }
}

#[derive(Debug)]
pub(crate) enum VariantBody {
    Fields(&'static [&'static [Field]]),
    /// Selected by another key.
    Tagged(&'static TaggedShape),
    /// ktx does not have it; gives the reason and a replacement.
    Refused {
        why: &'static str,
        hint: &'static str,
    },
}

#[derive(Debug)]
pub(crate) struct ShortForm {
    pub(crate) key: &'static str,
    pub(crate) text: ValueShape,
    pub(crate) fixed: Option<FixedField>,
    pub(crate) full: ValueShape,
}

#[derive(Debug)]
pub(crate) struct FixedField {
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
}

#[derive(Debug)]
pub(crate) struct ListShape {
    pub(crate) item: ValueShape,
    pub(crate) most: Option<usize>,
    /// The key that identifies an item; empty for texts.
    pub(crate) unique: Option<&'static str>,
}

impl ListShape {
    pub(crate) const fn of(item: ValueShape) -> Self {
        Self {
            item,
            most: None,
            unique: None,
        }
    }
}

impl Field {
    pub(crate) const fn optional(
        name: &'static str,
        shape: ValueShape,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            absent: AbsentEffect::Nothing,
            meaning,
        }
    }

    pub(crate) const fn defaulted(
        name: &'static str,
        shape: ValueShape,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            absent: AbsentEffect::Default(default),
            meaning,
        }
    }

    pub(crate) const fn required(
        name: &'static str,
        shape: ValueShape,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            absent: AbsentEffect::Refused,
            meaning,
        }
    }

    pub(crate) const fn object(
        name: &'static str,
        fields: &'static [Self],
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            shape: ValueShape::Object(fields),
            absent: AbsentEffect::Descend,
            meaning,
        }
    }

    /// A HoloDeck key that ktx ignores.
    pub(crate) const fn foreign(name: &'static str, instead: &'static str) -> Self {
        Self::optional(name, ValueShape::Foreign(instead), instead)
    }
}

/// Maximum of a range without its own.
pub(crate) const MOST: u64 = u32::MAX as u64;

/// Nonblank text of any length.
pub(crate) const TEXT: ValueShape = ValueShape::Text { most: None };
pub(crate) const TEXTS: ValueShape = ValueShape::List(&ListShape::of(TEXT));
pub(crate) const POSITIVE: ValueShape = ValueShape::Count { min: 1, max: None };
pub(crate) const RATIO: ValueShape = ValueShape::Number {
    min: 0.0,
    max: Some(1.0),
};
pub(crate) const AMOUNT: ValueShape = ValueShape::Number {
    min: 0.0,
    max: None,
};
