//! Finds the links between tables: declared ones unchanged, others from values first and names
//! second.

pub(crate) mod adjudicate;
mod agents;
mod calendar;
mod candidates;
mod composite;
mod contained;
pub(crate) mod decisions;
pub(crate) mod discover;
mod entity;
mod facts;
mod fit;
pub(crate) mod homes;
mod learned;
mod lexicon;
pub(crate) mod link;
mod modules;
mod name_index;
mod namesake;
mod prefix;
mod probe;
mod resolve;
mod score;
mod sole;
mod verify;
pub(crate) mod wire;

#[cfg(test)]
mod tests;
