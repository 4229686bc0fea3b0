//! The table of every key of `ktx.yaml`: the only source of checks, defaults, JSON Schema and the
//! reference page.

mod connections;
mod endpoint;
mod prices;
mod project;

pub(crate) use connections::driver_fields;
pub(crate) use prices::PRICE_BY_SIZE;
pub(crate) use project::ROOT;

/// One key of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// The spelling in the file.
    pub(crate) name: &'static str,
    /// Other accepted spellings; the reference documents `name`.
    pub(crate) aliases: &'static [&'static str],
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

/// The valid values of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    /// Text, or a number or boolean that is converted to text.
    LooseText,
    /// Text that may be an `env:` or `file:` reference.
    Reference,
    /// A reference whose literal form would put a secret into git.
    Secret,
    Flag,
    /// A whole number in a range.
    Count {
        min: u64,
        /// The maximum, if there is one.
        max: Option<u64>,
    },
    /// A number from 0 to 1.
    Ratio,
    /// A number from 0.
    Amount,
    /// A number from 0, or prices by the size of the input.
    Price,
    /// One of these texts.
    Choice(&'static [&'static str]),
    Texts,
    /// A list of texts, or one text.
    TextOrTexts,
    /// The name of a function in a warehouse: `name` or `schema.name`.
    FunctionName,
    FunctionNames,
    /// A list of whole numbers from 1.
    Counts,
    /// An object with these keys; others are ignored with a warning.
    Object(&'static [Field]),
    /// An object with these keys; others are kept unchanged.
    OpenObject(&'static [Field]),
    /// An object with these keys and no others.
    ClosedObject(&'static [Field]),
    /// A list of objects with these keys and no others.
    List(&'static [Field]),
    AnyObject,
    /// An object from the keys that the rule accepts to values of one shape.
    Map(KeyRule, &'static Self),
    Either(&'static [Self]),
    /// The value, or null.
    Nullable(&'static Self),
    /// `llm.provider.backend`.
    Backend,
    /// `connections`.
    Connections,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    Any,
    /// The model roles; others are ignored with a warning.
    Role,
    /// Whole numbers from 1.
    Number,
}

impl Field {
    pub(crate) const fn optional(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
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
            aliases: &[],
            shape,
            absent: Absent::Default(default),
            meaning,
        }
    }

    pub(crate) const fn required(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
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
            aliases: &[],
            shape: Shape::Object(fields),
            absent: Absent::Descend,
            meaning,
        }
    }

    /// Adds accepted spellings of the key.
    pub(crate) const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Whether this is an accepted spelling of the key.
    pub(crate) fn accepts(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
