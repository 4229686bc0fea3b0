//! A room: several agents that hear a person and each other (KODE-70).
//!
//! A message goes to the members that it mentions. Without a mention, a person's message goes to
//! all, and an answer to the person. So a room falls silent by itself.

mod mentions;
mod talk;

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_diagnostics::nearest;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::session::Session;

pub use talk::{RoomAnswer, RoomReport, Talk};

/// Default of [`Talk::hops`].
pub const MOST_HOPS: u32 = 8;

pub(crate) const ROOM: &str = "room";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomOrigin {
    pub room: String,
    /// Speakers, separated by commas.
    pub from: String,
    /// How often the person's message was forwarded.
    pub hop: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoomError {
    #[error("`{0}` cannot be the name of a member: use letters, digits, `_` and `-`")]
    Name(String),
    #[error("there is a member `{0}` already")]
    Taken(String),
    #[error("the room has no member `{name}`{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        name: String,
        nearest: Option<String>,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `@{name}`?"))
}

#[derive(Debug, Clone)]
pub struct Member {
    pub agent: Agent,
    pub session: Arc<Session>,
}

#[derive(Debug)]
pub struct Room {
    id: String,
    members: BTreeMap<String, Member>,
}

impl Room {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            members: BTreeMap::new(),
        }
    }

    pub const fn members(&self) -> &BTreeMap<String, Member> {
        &self.members
    }

    pub fn join(&mut self, name: &str, member: Member) -> Result<(), RoomError> {
        if !mentions::is_name(name) || name == ROOM {
            return Err(RoomError::Name(name.to_owned()));
        }
        if self.members.contains_key(name) {
            return Err(RoomError::Taken(name.to_owned()));
        }
        self.members.insert(name.to_owned(), member);
        Ok(())
    }

    pub fn leave(&mut self, name: &str) -> Option<Member> {
        self.members.remove(name)
    }

    /// Returns the mentioned members in order.
    pub fn named_in(&self, text: &str) -> Result<Vec<String>, RoomError> {
        let mut named: Vec<String> = Vec::new();
        for name in mentions::of(text) {
            if !self.members.contains_key(name) {
                let names = self.members.keys().map(String::as_str);
                return Err(RoomError::Unknown {
                    name: name.to_owned(),
                    nearest: nearest(name, names).first().map(|it| (*it).to_owned()),
                });
            }
            if !named.iter().any(|known| known == name) {
                named.push(name.to_owned());
            }
        }
        named.sort_unstable();
        Ok(named)
    }
}
