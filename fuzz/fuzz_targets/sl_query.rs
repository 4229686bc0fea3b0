//! Any JSON text as a query compiles to one statement or is refused.
#![no_main]

use ktx_fuzz::{ask, catalog, split};
use ktx_semantic_layer::Query;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (dialect, text) = split(input);
    if let Ok(query) = Query::from_json(text) {
        ask(&catalog(dialect, None), &query, dialect);
    }
});
