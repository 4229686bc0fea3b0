//! The table of every key of `ktx.yaml`: the only source of checks, defaults, JSON Schema and the
//! reference page.

mod clients;
mod connections;
mod endpoint;
mod prices;
mod project;

pub(crate) use clients::CLIENT;
pub use clients::DEFAULT_CLIENT;
pub(crate) use connections::driver_fields;
pub(crate) use prices::PRICE_BY_SIZE;
pub(crate) use project::ROOT;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Other accepted spellings; the reference documents `name`.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) shape: Shape,
    /// What an absent key means.
    pub(crate) absent: AbsentKey,
    pub(crate) meaning: &'static str,
}

/// What an absent key (or one without a value) means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentKey {
    Nothing,
    Default(&'static str),
    /// An object of the defaults of its own keys.
    Descend,
    Refused,
}

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
    Ratio,
    Amount,
    /// A number from 0, or prices by the size of the input.
    Price,
    Choice(&'static [&'static str]),
    Texts,
    TextOrTexts,
    /// The name of a function in a warehouse: `name` or `schema.name`.
    FunctionName,
    FunctionNames,
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
    Backend,
    Connections,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    Any,
    /// The model roles; others are ignored with a warning.
    Role,
    Number,
}

impl Field {
    pub(crate) const fn optional(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            shape,
            absent: AbsentKey::Nothing,
            meaning,
        }
    }

    /// The default is JSON.
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
            absent: AbsentKey::Default(default),
            meaning,
        }
    }

    pub(crate) const fn required(name: &'static str, shape: Shape, meaning: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            shape,
            absent: AbsentKey::Refused,
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
            absent: AbsentKey::Descend,
            meaning,
        }
    }

    pub(crate) const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(crate) fn accepts(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
