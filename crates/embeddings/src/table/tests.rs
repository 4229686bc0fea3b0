//! Tests of the supported table formats.

use super::*;

const LINES: &str = "3 2\nsales 1 0\nrevenue 0.5 0.5\nWeather 0 -1\n";

fn tensors(kind: &str, shape: [usize; 2], numbers: &[u8]) -> Vec<u8> {
    let header = serde_json::json!({
        "__metadata__": { "format": "pt" },
        "embedding.weight": { "dtype": kind, "shape": shape, "data_offsets": [0, numbers.len()] },
    })
    .to_string();
    let length = u64::try_from(header.len()).expect("a length").to_le_bytes();
    [length.as_slice(), header.as_bytes(), numbers].concat()
}

fn tokenizer(model: &str, vocabulary: &serde_json::Value) -> Vec<u8> {
    let file = serde_json::json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": model == "WordPiece" },
        "model": { "type": model, "vocab": vocabulary },
    });
    file.to_string().into_bytes()
}

/// KTX-08.
#[test]
fn reads_lines_of_words_and_numbers() {
    let table = EmbeddingTable::parse(LINES.as_bytes().to_vec(), None).expect("a table");
    assert_eq!(table.vector("Sales, revenue & costs"), [0.75, 0.25]);
    assert_eq!(table.vector("weather"), [0.0, -1.0]);
    assert_eq!(table.vector("nothing known"), [0.0, 0.0]);
}

#[test]
fn reads_half_precision_numbers_with_marked_word_starts() {
    // 1.0, -2.0, 0.5, 0.25
    let bytes = [0x00, 0x3C, 0x00, 0xC0, 0x00, 0x38, 0x00, 0x34];
    let vocabulary = serde_json::json!({ "\u{2581}sale": 0, "s": 1 });
    let table = EmbeddingTable::parse(
        tensors("F16", [2, 2], &bytes),
        Some(&tokenizer("BPE", &vocabulary)),
    );
    assert_eq!(table.expect("a table").vector("sales"), [0.75, -0.875]);
}

#[test]
fn reads_single_precision_numbers_with_marked_continuations() {
    let bytes: Vec<u8> = [1.0_f32, 2.0, 3.0]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let vocabulary = serde_json::json!({ "net": 0, "##sales": 1, "sales": 2 });
    let tokenizer = tokenizer("WordPiece", &vocabulary);
    let table =
        EmbeddingTable::parse(tensors("F32", [3, 1], &bytes), Some(&tokenizer)).expect("a table");
    assert_eq!(table.vector("NetSales"), [1.5]);
    assert_eq!(table.vector("sales"), [3.0]);
}

#[test]
fn refuses_what_is_no_table() {
    let shown = |bytes: &[u8], tokenizer: Option<&[u8]>| {
        let refused = EmbeddingTable::parse(bytes.to_vec(), tokenizer).expect_err("a refusal");
        refused.to_string()
    };
    let cut_off = tensors("F32", [3, 1], &[0; 8]);
    let counts = tensors("I64", [1, 1], &[0; 8]);
    let whole = tensors("F32", [2, 1], &[0; 8]);
    let all = [
        shown(b"", None),
        shown(b"sales 1 2\nrevenue 1\n", None),
        shown(b"\xff\xfe\x00\x01", None),
        shown(&cut_off, Some(b"{}")),
        shown(&counts, None),
        shown(&whole, None),
        shown(&whole, Some(b"{\"model\": {}}")),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    it has no vectors
    line 2 does not have a word and as many numbers as the other lines
    line 1 does not have a word and as many numbers as the other lines
    it is cut off
    its vectors are stored as I64; ktx reads F16, BF16 and F32
    it holds vectors without their tokens; ktx needs the `tokenizer.json` that belongs to it
    its `tokenizer.json` has no vocabulary
    ");
}

#[test]
fn other_files_are_other_models() {
    let model = |text: &str| {
        let table = EmbeddingTable::parse(text.as_bytes().to_vec(), None).expect("a table");
        table.model().to_owned()
    };
    assert_eq!(model(LINES), model(LINES));
    assert_ne!(model(LINES), model("sales 1 1\n"));
}
