//! Any text of a source loads or is explained, and what the formatter writes it leaves alone.
#![no_main]

use ktx_fuzz::{catalog, split};
use ktx_semantic_layer::{format_source, self_tests, validate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (dialect, text) = split(input);
    let loaded = catalog(dialect, Some(text));
    validate(&loaded, &[]);
    self_tests(&loaded, None);
    loaded.list();
    if let Ok(formatted) = format_source(text, "extra.yaml") {
        assert_eq!(
            format_source(&formatted, "extra.yaml").as_ref(),
            Ok(&formatted)
        );
    }
});
