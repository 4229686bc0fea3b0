//! The table of `ktx.yaml` keys, the source of checks, defaults, JSON Schema and reference page.

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
    pub(crate) aliases: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) absent: AbsentKey,
    pub(crate) meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentKey {
    Nothing,
    Default(&'static str),
    /// The defaults of the object's own keys.
    Descend,
    Refused,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    LooseText,
    /// Text or an `env:` or `file:` reference.
    Reference,
    /// A reference; a literal secret would enter git.
    Secret,
    Flag,
    Count {
        min: u64,
        max: Option<u64>,
    },
    Ratio,
    Amount,
    /// A number of at least 0, or prices by input size.
    Price,
    Choice(&'static [&'static str]),
    Texts,
    TextOrTexts,
    /// `name` or `schema.name`.
    FunctionName,
    FunctionNames,
    Counts,
    /// Unknown keys are ignored with a warning.
    Object(&'static [Field]),
    /// Unknown keys are kept.
    OpenObject(&'static [Field]),
    /// Unknown keys are errors.
    ClosedObject(&'static [Field]),
    /// Objects whose unknown keys are errors.
    List(&'static [Field]),
    AnyObject,
    Map(KeyRule, &'static Self),
    Either(&'static [Self]),
    Nullable(&'static Self),
    Backend,
    Connections,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    Any,
    /// Unknown roles are ignored with a warning.
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
