//! Tests that the preset data is complete.

use ktx_vocabulary::Provider;

use super::{ROWS, row};

#[test]
fn every_provider_has_a_row_and_every_row_a_provider() {
    let mut names: Vec<&str> = Provider::ALL
        .iter()
        .map(|provider| provider.as_str())
        .collect();
    names.sort_unstable();
    let rows: Vec<&str> = ROWS.keys().map(String::as_str).collect();
    assert_eq!(rows, names);
    for provider in Provider::ALL {
        assert!(!row(provider).structured.is_empty(), "{provider}");
    }
}
