//! Any text may stand as the expression of a measure, of a column and of a filter: it compiles to
//! one query or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| ktx_fuzz::expression_holds(input));
