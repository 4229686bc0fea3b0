//! Whatever the gate allows is one query that it allows again, unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| ktx_fuzz::gate_holds(input));
