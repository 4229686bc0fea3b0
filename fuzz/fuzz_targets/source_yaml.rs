//! Any text of a source loads or is explained, and what the formatter writes it leaves alone.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| ktx_fuzz::source_holds(input));
