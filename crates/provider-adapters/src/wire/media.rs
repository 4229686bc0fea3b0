//! Media that a provider cannot read becomes text that says so (KODE-05).

use ktx_llm_runtime::{ContentBlock, MediaSource};

/// The visible stand-in of a block that cannot be sent.
pub(crate) fn placeholder(kind: &str, source: &MediaSource) -> String {
    let name = source
        .filename
        .as_deref()
        .or(source.url.as_deref())
        .or(source.mime_type.as_deref())
        .unwrap_or("without a name");
    format!("[{kind} `{name}` was left out: this model cannot read it]")
}

/// What kind of media a block is, for people.
pub(crate) const fn kind(block: &ContentBlock) -> &'static str {
    match block {
        ContentBlock::Image { .. } => "image",
        ContentBlock::Audio { .. } => "audio",
        _ => "file",
    }
}

/// A `data:` address of the bytes, when there are bytes.
pub(crate) fn data_url(source: &MediaSource, fallback_type: &str) -> Option<String> {
    let bytes = source.base64.as_deref()?;
    let mime = source.mime_type.as_deref().unwrap_or(fallback_type);
    Some(format!("data:{mime};base64,{bytes}"))
}
