//! Fakes that check what they are given, test projects, output filters. Never in a product build.

pub mod sandbox;
pub mod services;
