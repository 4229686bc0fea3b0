//! Any JSON text as a query compiles to one statement or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| ktx_fuzz::query_holds(input));
