//! Tools, resources, prompts and results in the shapes of the protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_tool_descriptors::{
    LONGEST_TWICE, ListedTool, ToolDescriptor, ToolError, ToolOutput, ToolSetError, WriteEffect,
};
use rmcp::model::{
    CallToolResult, CompleteRequestParams, ContentBlock, EmbeddedResource, ErrorData, JsonObject,
    MetaObject, Prompt, PromptArgument as ListedArgument, PromptMessage, Reference, Resource,
    ResourceContents, ResourceTemplate, Role, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use crate::content::{
    ContentError, Need, PromptEntry, PromptPart, ResourceEntry, ResourceForm, ResourceText,
    Subject, Typed,
};

pub(super) fn tool(descriptor: &ToolDescriptor, listed: ListedTool) -> Tool {
    let effect = descriptor.effect;
    let writes = effect == WriteEffect::Writes;
    // A read-only tool destroys and repeats nothing.
    let annotations = ToolAnnotations::from_raw(
        None,
        Some(!writes),
        writes.then_some(true),
        None,
        Some(false),
    );
    // A tool with an output schema must always return structure.
    Tool::new(
        descriptor.name.clone(),
        listed.description,
        object(&listed.input_schema),
    )
    .with_title(&descriptor.title)
    .with_annotations(annotations)
}

pub(super) fn shown_by(tool: Tool, uri: &str) -> Tool {
    let meta = object(&json!({ "ui": { "resourceUri": uri } }));
    tool.with_meta(MetaObject((*meta).clone()))
}

/// Schemas of a checked tool set are objects.
fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

pub(super) fn unavailable(error: &ToolSetError) -> String {
    format!("the tools cannot be offered: {error}; this is a fault of the program")
}

/// Omits the structure if both are long: duplicates cost context.
pub(super) fn success(output: ToolOutput) -> CallToolResult {
    let is_text_long = output.markdown.len() > LONGEST_TWICE;
    let is_long = |data: &Value| data.to_string().len() > LONGEST_TWICE;
    let structured = output
        .structured
        .filter(|data| !is_text_long || !is_long(data));
    let mut result = CallToolResult::success(vec![ContentBlock::text(output.markdown)]);
    result.structured_content = structured;
    result
}

pub(super) fn failure(error: &ToolError) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.message.clone())]);
    result.structured_content.clone_from(&error.structured);
    result
}

pub(super) fn refused(error: ContentError) -> ErrorData {
    match error {
        ContentError::NotFound(text) => ErrorData::resource_not_found(text, None),
        ContentError::Invalid(text) => ErrorData::invalid_params(text, None),
        ContentError::Failed(text) => ErrorData::internal_error(text, None),
    }
}

pub(super) fn resource(entry: ResourceEntry) -> Resource {
    let listed = Resource::new(entry.uri, entry.name)
        .with_title(entry.title)
        .with_mime_type(entry.media_type);
    if entry.description.is_empty() {
        listed
    } else {
        listed.with_description(entry.description)
    }
}

pub(super) fn template(form: ResourceForm) -> ResourceTemplate {
    ResourceTemplate::new(form.uri_template, form.name)
        .with_title(form.title)
        .with_description(form.description)
        .with_mime_type(form.media_type)
}

pub(super) fn contents(text: ResourceText) -> ResourceContents {
    ResourceContents::text(text.text, text.uri).with_mime_type(text.media_type)
}

pub(super) fn prompt(entry: PromptEntry) -> Prompt {
    let arguments = entry.arguments.iter().map(|argument| {
        ListedArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.need == Need::Required)
    });
    Prompt::new(
        entry.name,
        Some(entry.description),
        Some(arguments.collect()),
    )
    .with_title(entry.title)
}

pub(super) fn message(part: PromptPart) -> PromptMessage {
    let content = match part {
        PromptPart::Text(text) => ContentBlock::text(text),
        PromptPart::Resource(text) => ContentBlock::Resource(EmbeddedResource::new(contents(text))),
    };
    PromptMessage::new(Role::User, content)
}

pub(super) fn texts(arguments: Option<JsonObject>) -> Result<BTreeMap<String, String>, ErrorData> {
    let mut texts = BTreeMap::new();
    for (name, value) in arguments.unwrap_or_default() {
        let Value::String(text) = value else {
            let message = format!("the argument `{name}` of a prompt must be a text");
            return Err(ErrorData::invalid_params(message, None));
        };
        texts.insert(name, text);
    }
    Ok(texts)
}

pub(super) fn typed(request: CompleteRequestParams) -> Result<Typed, ErrorData> {
    let subject = match request.r#ref {
        Reference::Prompt(prompt) => Subject::Prompt(prompt.name),
        Reference::Resource(resource) => Subject::Resource(resource.uri),
        _ => {
            let text = "`ref` must be of the type `ref/prompt` or `ref/resource`";
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    let known = request.context.and_then(|context| context.arguments);
    Ok(Typed {
        subject,
        argument: request.argument.name,
        text: request.argument.value,
        known: known.unwrap_or_default().into_iter().collect(),
    })
}
