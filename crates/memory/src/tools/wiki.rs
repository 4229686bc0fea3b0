//! `wiki_read`, `wiki_write`, `wiki_remove` on the draft.

use std::collections::BTreeSet;

use ktx_diagnostics::{Hints as _, nearest};
use ktx_project_store::ProjectPath;
use ktx_tool_descriptors::{ToolError, ToolOutput};
use ktx_vocabulary::WikiKey;
use ktx_wiki::{
    FieldValue, Page, PagePath, SlReference, parse, parse_key, remove_field, render_page,
    replace_body, set_field,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::letters::{check_file_name, check_letters};
use super::{DraftState, Edit, edited, no_secrets, prose, refuse, sources};

const LONGEST_KEY: usize = 120;
const LONGEST_SUMMARY: usize = 200;
const LONGEST_BODY: usize = 20_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyInput {
    /// The key of the page, such as `revenue-policy`.
    key: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteInput {
    /// The key of the page, such as `revenue-policy`: letters, digits, `_` and `-`.
    key: String,
    /// One line for lists, at most 200 characters. Required for a new page.
    summary: Option<String>,
    /// The whole Markdown body. Required for a new page; of a page that is there it replaces the body.
    content: Option<String>,
    /// Edits of the body of a page that is there, instead of `content`. All of them are made or none.
    #[serde(default)]
    replacements: Vec<Edit>,
    /// The tags; replaces those that are there, an empty list removes them.
    tags: Option<Vec<String>>,
    /// Keys of related pages; replaces those that are there.
    refs: Option<Vec<String>>,
    /// Semantic sources, measures or columns that the page is about, such as `orders.revenue` or
    /// `warehouse/orders`; replaces those that are there.
    sl_refs: Option<Vec<String>>,
}

/// Returns the whole file: an edit must match the text as it is stored.
pub(super) fn read(session: &mut DraftState, input: &KeyInput) -> Result<ToolOutput, ToolError> {
    let (_, page) = existing(session, &input.key)?;
    Ok(ToolOutput::new(
        page.text(),
        json!({ "key": page.key().as_str(), "text": page.text() }),
    ))
}

pub(super) fn write(session: &mut DraftState, input: &WriteInput) -> Result<ToolOutput, ToolError> {
    let key = key_of(&input.key)?;
    let place = page_place(session, &key)?;
    check_limits(input)?;
    check_free(session, &key)?;
    let is_new = session.draft.text(&place).map_err(refuse)?.is_none();
    let write = if is_new {
        PageWrite::Create
    } else {
        PageWrite::Change
    };
    check_quota(session, &key, write)?;
    let before = session.draft.text(&place).map_err(refuse)?;
    let text = match before {
        None => new_page(session, &key, input)?,
        Some(before) => changed_page(&key, before, input)?,
    };
    let parsed = parse(PagePath::global(key.clone()), &text);
    if let Some(wrong) = parsed.diagnostics.first() {
        return Err(refuse(wrong));
    }
    check_references(session, &parsed.page, input)?;
    no_secrets(&text)?;
    check_letters("the page", &text)?;
    check_file_name(key.as_str())?;
    if let Some(warehouse) = &session.warehouse {
        let catalog = sources::catalog(session, warehouse);
        let before = session.draft.text(&place).map_err(refuse)?;
        if let Some(wrong) = prose::unknown(&catalog, before, &text) {
            return Err(ToolError::new(wrong));
        }
    }
    session.draft.put(place, text.clone());
    session.wiki.insert(key.to_string());
    let verb = if is_new { "created" } else { "changed" };
    Ok(ToolOutput::new(
        format!("{verb} `{key}`. The page is now:\n\n{text}"),
        json!({ "key": key.as_str(), "created": is_new }),
    ))
}

pub(super) fn remove(session: &mut DraftState, input: &KeyInput) -> Result<ToolOutput, ToolError> {
    let (place, page) = existing(session, &input.key)?;
    let key = page.key().clone();
    check_free(session, &key)?;
    check_quota(session, &key, PageWrite::Change)?;
    let pointing: Vec<String> = session
        .draft
        .pages()
        .iter()
        .filter(|other| *other.key() != key && targets(other).contains(key.as_str()))
        .map(|other| format!("`{}`", other.key()))
        .collect();
    if !pointing.is_empty() {
        return Err(ToolError::new(format!(
            "`{key}` is linked from {}: change those pages first",
            pointing.join(", ")
        )));
    }
    session.draft.remove(place);
    session.wiki.insert(key.to_string());
    Ok(ToolOutput::new(
        format!("removed `{key}`"),
        json!({ "key": key.as_str() }),
    ))
}

fn check_free(session: &DraftState, key: &WikiKey) -> Result<(), ToolError> {
    if session.uncommitted.contains(key) {
        return Err(ToolError::new(format!(
            "someone is writing `{key}` and has not committed it yet: leave it as it is, use another page"
        )));
    }
    Ok(())
}

/// Which part of the page quota a write counts against.
#[derive(Clone, Copy)]
enum PageWrite {
    Create,
    /// Also the removal of a page.
    Change,
}

/// Refuses the first write of a page if the page quota is used up.
fn check_quota(session: &mut DraftState, key: &WikiKey, write: PageWrite) -> Result<(), ToolError> {
    let Some(quota) = session
        .quota
        .filter(|_| !session.wiki.contains(key.as_str()))
    else {
        return Ok(());
    };
    let used = session.used();
    let (what, is_full) = match write {
        PageWrite::Create => ("created", used.creates >= quota.creates),
        PageWrite::Change => ("changed", used.updates >= quota.updates),
    };
    if is_full {
        session.quota_reached = true;
        return Err(ToolError::new(format!(
            "no more pages can be {what} in this run: continue with work that needs none; the rest comes again in the next run"
        )));
    }
    Ok(())
}

fn key_of(text: &str) -> Result<WikiKey, ToolError> {
    parse_key(text).map_err(|error| {
        let mut told = error.to_string();
        for hint in error.hints() {
            told.push_str("; ");
            told.push_str(hint.as_str());
        }
        ToolError::new(told)
    })
}

fn page_place(session: &DraftState, key: &WikiKey) -> Result<ProjectPath, ToolError> {
    ProjectPath::parse(&session.draft.page_path(key.as_str())).map_err(refuse)
}

fn existing(session: &DraftState, text: &str) -> Result<(ProjectPath, Page), ToolError> {
    let key = key_of(text)?;
    let place = page_place(session, &key)?;
    if let Some(text) = session.draft.text(&place).map_err(refuse)? {
        return Ok((place, parse(PagePath::global(key), text).page));
    }
    let keys = session.draft.keys();
    let near = nearest(key.as_str(), keys.iter().map(WikiKey::as_str));
    Err(ToolError::new(format!(
        "there is no page `{key}`{}",
        suggestion(&near)
    )))
}

fn suggestion(near: &[&str]) -> String {
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    if near.is_empty() {
        String::new()
    } else {
        format!("; there is {}", near.join(", "))
    }
}

fn check_limits(input: &WriteInput) -> Result<(), ToolError> {
    let too_long = [
        ("key", Some(input.key.as_str()), LONGEST_KEY),
        ("summary", input.summary.as_deref(), LONGEST_SUMMARY),
        ("content", input.content.as_deref(), LONGEST_BODY),
    ];
    for (field, text, limit) in too_long {
        let length = text.map_or(0, |text| text.chars().count());
        if length > limit {
            return Err(ToolError::new(format!(
                "`{field}` has {length} characters, at most {limit} are allowed: one topic a page"
            )));
        }
    }
    if input
        .summary
        .as_ref()
        .is_some_and(|summary| summary.trim().is_empty() || summary.chars().any(char::is_control))
    {
        return Err(ToolError::new("`summary` must be one line of text"));
    }
    if input.content.is_some() && !input.replacements.is_empty() {
        return Err(ToolError::new("give `content` or `replacements`, not both"));
    }
    Ok(())
}

fn new_page(session: &DraftState, key: &WikiKey, input: &WriteInput) -> Result<String, ToolError> {
    let keys = session.draft.keys();
    let twin = keys
        .iter()
        .find(|other| other.as_str().eq_ignore_ascii_case(key.as_str()));
    if let Some(twin) = twin {
        return Err(ToolError::new(format!(
            "there is `{twin}` already, and some file systems take both names for one: use it"
        )));
    }
    let (Some(summary), Some(content)) = (&input.summary, &input.content) else {
        return Err(ToolError::new(format!(
            "there is no page `{key}`: a new page needs `summary` and `content`"
        )));
    };
    let mut fields = vec![("summary", FieldValue::Text(summary.clone()))];
    let lists = lists(input).into_iter();
    fields.extend(
        lists
            .filter_map(|(name, list)| Some((name, list?)))
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| (name, FieldValue::List(list.clone()))),
    );
    Ok(render_page(&fields, content))
}

fn changed_page(key: &WikiKey, before: &str, input: &WriteInput) -> Result<String, ToolError> {
    let page = parse(PagePath::global(key.clone()), before);
    if let Some(wrong) = page.diagnostics.first() {
        return Err(ToolError::new(format!(
            "the page cannot be edited before a person mends it: {wrong}"
        )));
    }
    let mut text = before.to_owned();
    if let Some(content) = &input.content {
        let end = if content.ends_with('\n') { "" } else { "\n" };
        text = replace_body(&text, &format!("{content}{end}")).map_err(refuse)?;
    }
    if !input.replacements.is_empty() {
        let body = edited(page.page.body(), &input.replacements)?;
        text = replace_body(&text, &body).map_err(refuse)?;
    }
    if let Some(summary) = &input.summary {
        let summary = FieldValue::Text(summary.clone());
        text = set_field(&text, "summary", &summary).map_err(refuse)?;
    }
    for (name, list) in lists(input) {
        let edit = match list {
            None => continue,
            Some(list) if list.is_empty() => remove_field(&text, name),
            Some(list) => set_field(&text, name, &FieldValue::List(list.clone())),
        };
        text = edit.map_err(refuse)?;
    }
    Ok(text)
}

fn lists(input: &WriteInput) -> [(&'static str, Option<&Vec<String>>); 3] {
    [
        ("tags", input.tags.as_ref()),
        ("refs", input.refs.as_ref()),
        ("sl_refs", input.sl_refs.as_ref()),
    ]
}

pub(super) fn targets(page: &Page) -> BTreeSet<String> {
    let links = page.links().into_iter().map(|link| link.target);
    links
        .chain(page.front_matter.refs.iter().cloned())
        .collect()
}

struct PageReferences {
    targets: BTreeSet<String>,
    sl_refs: Vec<String>,
}

/// Refuses references to missing pages and sources, except those that the page had before this
/// call.
fn check_references(
    session: &DraftState,
    page: &Page,
    input: &WriteInput,
) -> Result<(), ToolError> {
    let mut keys = session.draft.keys();
    keys.extend(session.linkable.iter().cloned());
    let old = session.draft.text(&page_place(session, page.key())?);
    let old = old.ok().flatten().map(|text| {
        let old = parse(page.path.clone(), text).page;
        let targets = targets(&old);
        PageReferences {
            targets,
            sl_refs: old.front_matter.sl_refs,
        }
    });
    for target in targets(page) {
        let was_there = old
            .as_ref()
            .is_some_and(|old| old.targets.contains(&target));
        let known = target == page.key().as_str() || keys.iter().any(|key| key.as_str() == target);
        if !known && !was_there {
            let near = nearest(&target, keys.iter().map(WikiKey::as_str));
            return Err(ToolError::new(format!(
                "there is no page `{target}` to link to{}; write that page first or leave the link out",
                suggestion(&near)
            )));
        }
    }
    let sources = session.sources();
    let is_there = |reference: &SlReference| {
        sources.iter().any(|(connection, names)| {
            let wanted = reference.connection.as_deref();
            wanted.is_none_or(|wanted| wanted == connection.as_str())
                && names.contains(&reference.source)
        })
    };
    for entry in input.sl_refs.iter().flatten() {
        let reference = SlReference::parse(entry);
        let was_there = old.as_ref().is_some_and(|old| old.sl_refs.contains(entry));
        let known = is_there(&reference) || reference.older().is_some_and(|older| is_there(&older));
        if !known && !was_there {
            let names = sources.iter().flat_map(|(_, names)| names);
            let near = nearest(&reference.source, names.map(String::as_str));
            return Err(ToolError::new(format!(
                "`sl_refs`: there is no semantic source `{}`{}",
                reference.source,
                suggestion(&near)
            )));
        }
    }
    Ok(())
}
