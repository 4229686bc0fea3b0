//! The fuzz targets' common ground: inputs whose first line names a dialect, and what has to hold of them.

mod targets;

pub use targets::{expression_holds, gate_holds, query_holds, source_holds};
