//! Files attached to questions of cases.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ktx_agent_file as file;
use ktx_agent_session::Question;
use ktx_llm_runtime::{ContentBlock, MediaSource};

pub(super) struct CaseMessage {
    text: String,
    images: Vec<ContentBlock>,
}

impl<'a> From<&'a CaseMessage> for Question<'a> {
    fn from(message: &'a CaseMessage) -> Self {
        Self {
            text: &message.text,
            attachments: &message.images,
        }
    }
}

/// Text files become part of the question; images are attached.
pub(super) fn message_of(
    input: &str,
    turn: Option<&file::Turn>,
    project: &Path,
) -> Result<CaseMessage, String> {
    let mut message = CaseMessage {
        text: input.to_owned(),
        images: Vec::new(),
    };
    for given in turn.into_iter().flat_map(|turn| &turn.files) {
        let path = given.path.display();
        let bytes = std::fs::read(project.join(&given.path))
            .map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        let about = given.description.as_deref();
        let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let is_image = given.kind.as_deref() == Some("image");
        let image = image_type(&given.path).filter(|_| is_image || given.kind.is_none());
        if let Some(kind) = image {
            message.text = format!("{}\n\nImage `{path}`{about} is attached.", message.text);
            message.images.push(image_of(&bytes, kind, &given.path));
            continue;
        }
        if is_image {
            let kinds = "png, jpeg, gif and webp";
            return Err(format!(
                "`{path}` is not an image that models accept; use {kinds}"
            ));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("`{path}` is neither a text nor an image"))?;
        let fence = "`".repeat(longest_fence(&text).max(2) + 1);
        message.text = format!(
            "{}\n\nFile `{path}`{about}:\n{fence}\n{}\n{fence}",
            message.text,
            text.trim_end()
        );
    }
    Ok(message)
}

fn image_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}

fn image_of(bytes: &[u8], kind: &str, path: &Path) -> ContentBlock {
    let name = path.file_name().map(|name| name.to_string_lossy());
    ContentBlock::Image {
        source: MediaSource {
            base64: Some(BASE64.encode(bytes)),
            mime_type: Some(kind.to_owned()),
            filename: name.map(Cow::into_owned),
            ..MediaSource::default()
        },
    }
}

fn longest_fence(text: &str) -> usize {
    let runs = text.split(|sign| sign != '`').map(str::len);
    runs.max().unwrap_or_default()
}
