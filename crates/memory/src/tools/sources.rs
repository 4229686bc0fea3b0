//! `sl_read_source`, `sl_write_source`, `sl_edit_source` on the draft.

use std::collections::BTreeSet;

use ktx_project_store::ProjectPath;
use ktx_semantic_layer::{Catalog, Finding, Relation, SourceFile, validate};
use ktx_tool_descriptors::{ToolError, ToolOutput};
use ktx_vocabulary::SourceName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::letters::{check_file_name, check_letters};
use super::{DraftState, Edit, Warehouse, edited, no_secrets, prose, refuse};
use crate::draft::Draft;

const LONGEST_SOURCE: usize = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NameInput {
    /// The source, such as `orders`.
    source_name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteInput {
    /// The source, such as `orders`; the same as `name:` in the YAML.
    source_name: String,
    /// The whole file as YAML. For a scanned table an overlay: its `name` and what is added, such as
    /// `measures`, `segments` or `joins`; columns and table come from the scan.
    yaml: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditInput {
    /// The source, such as `orders`.
    source_name: String,
    /// Edits of the file; all of them are made or none.
    yaml_edits: Vec<Edit>,
}

/// Shows the composed source, and its own file if it has one.
pub(super) fn read(session: &mut DraftState, input: &NameInput) -> Result<ToolOutput, ToolError> {
    let (warehouse, name) = parse_target(session, &input.source_name)?;
    let catalog = catalog(session, warehouse);
    let yaml = catalog
        .read(name.as_str())
        .map_err(|error| ToolError::new(message_of(&error)))?;
    let place = file_of(&catalog, warehouse, &name)?;
    let own = session.draft.text(&place).map_err(refuse)?;
    let own = match own {
        Some(text) if text != yaml => format!("\n\nIts file, which edits apply to:\n\n{text}"),
        Some(_) => String::new(),
        None => "\n\nIt has no file of its own: `sl_write_source` makes an overlay.".to_owned(),
    };
    Ok(ToolOutput::new(
        format!("{yaml}{own}"),
        json!({ "sourceName": name.as_str(), "yaml": yaml }),
    ))
}

pub(super) fn write(session: &mut DraftState, input: &WriteInput) -> Result<ToolOutput, ToolError> {
    let (warehouse, name) = parse_target(session, &input.source_name)?;
    let place = file_of(&catalog(session, warehouse), warehouse, &name)?;
    let end = if input.yaml.ends_with('\n') { "" } else { "\n" };
    put(session, &name, place, &format!("{}{end}", input.yaml))
}

pub(super) fn edit(session: &mut DraftState, input: &EditInput) -> Result<ToolOutput, ToolError> {
    let (warehouse, name) = parse_target(session, &input.source_name)?;
    let place = file_of(&catalog(session, warehouse), warehouse, &name)?;
    let Some(before) = session.draft.text(&place).map_err(refuse)? else {
        return Err(ToolError::new(format!(
            "`{name}` has no file of its own: write an overlay with `sl_write_source`"
        )));
    };
    let text = edited(before, &input.yaml_edits)?;
    put(session, &name, place, &text)
}

/// Writes a text if the folder has no more errors with it than without.
fn put(
    session: &mut DraftState,
    name: &SourceName,
    place: ProjectPath,
    text: &str,
) -> Result<ToolOutput, ToolError> {
    if text.len() > LONGEST_SOURCE {
        return Err(ToolError::new(format!(
            "the file has {} bytes, at most {LONGEST_SOURCE} are allowed",
            text.len()
        )));
    }
    no_secrets(text)?;
    check_letters("the file", text)?;
    check_file_name(name.as_str())?;
    let Some(warehouse) = session.warehouse.clone() else {
        return Err(no_connection());
    };
    let before = findings(&catalog(session, &warehouse));
    let old = session.draft.text(&place).map_err(refuse)?;
    let old = old.map(str::to_owned);
    session.draft.put(place.clone(), text.to_owned());
    let now = catalog(session, &warehouse);
    let new: Vec<String> = findings(&now).difference(&before).cloned().collect();
    let wrong = if new.is_empty() {
        unfit(&now, &warehouse, name, &place).or_else(|| prose::unknown(&now, old.as_deref(), text))
    } else {
        Some(format!(
            "nothing was written, the file is wrong:\n- {}",
            new.join("\n- ")
        ))
    };
    if let Some(wrong) = wrong {
        match old {
            Some(old) => session.draft.put(place, old),
            None => session.draft.remove(place),
        }
        return Err(ToolError::new(wrong));
    }
    session.sl.insert(name.to_string(), place.clone());
    let mut told = format!("wrote `{place}`");
    for finding in validate(&now, &[]).warnings {
        if finding.source.as_deref() == Some(name.as_str()) {
            told.push_str("\nwarning: ");
            told.push_str(&finding.message);
        }
    }
    Ok(ToolOutput::new(
        told,
        json!({ "sourceName": name.as_str(), "path": place.as_str() }),
    ))
}

/// Returns why a valid file is not the requested one: it defines another source, or its SQL could
/// do more than read.
fn unfit(
    now: &Catalog,
    warehouse: &Warehouse,
    name: &SourceName,
    place: &ProjectPath,
) -> Option<String> {
    let folder = format!("{}/", warehouse.folder());
    let file = place.as_str().strip_prefix(&folder)?;
    let listed = now.list();
    let mut defined = listed.iter().filter(|summary| summary.path == file);
    if !defined.any(|summary| summary.name == name.as_str()) {
        return Some(format!(
            "the file does not define `{name}`: `name:` must be the same as `source_name`"
        ));
    }
    let Relation::Sql(sql) = &now.source(name.as_str())?.relation else {
        return None;
    };
    let refused = ktx_read_only_sql::check(sql, warehouse.dialect).err()?;
    Some(format!(
        "nothing was written: the `sql` of `{name}` is refused: {refused}"
    ))
}

fn no_connection() -> ToolError {
    ToolError::new("the note was given without a connection: only wiki pages can be written")
}

fn parse_target<'s>(
    session: &'s DraftState,
    text: &str,
) -> Result<(&'s Warehouse, SourceName), ToolError> {
    let warehouse = session.warehouse.as_ref().ok_or_else(no_connection)?;
    let name = SourceName::parse(text).map_err(refuse)?;
    Ok((warehouse, name))
}

pub(super) fn catalog(session: &DraftState, warehouse: &Warehouse) -> Catalog {
    catalog_of(&session.draft, warehouse)
}

pub(crate) fn catalog_of(draft: &Draft, warehouse: &Warehouse) -> Catalog {
    let folder = warehouse.folder();
    let prefix = format!("{folder}/");
    let files = draft.below(&folder).into_iter();
    let files = files.filter_map(|(path, bytes)| {
        let path = path.as_str().strip_prefix(&prefix)?;
        (!path.starts_with("_review/")).then(|| SourceFile::new(path, bytes))
    });
    Catalog::load(files.collect(), warehouse.dialect)
}

/// Returns the path where a source's file is or would be.
fn file_of(
    catalog: &Catalog,
    warehouse: &Warehouse,
    name: &SourceName,
) -> Result<ProjectPath, ToolError> {
    let known = catalog
        .list()
        .into_iter()
        .find(|summary| summary.name == name.as_str() && !summary.path.starts_with("_schema/"));
    let file = known.map_or_else(|| SourceFile::name_for(name.as_str()), |known| known.path);
    ProjectPath::parse(&format!("{}/{file}", warehouse.folder())).map_err(refuse)
}

pub(super) fn findings(catalog: &Catalog) -> BTreeSet<String> {
    let words = |finding: &Finding| match &finding.path {
        Some(path) => format!("{path}: {}", finding.message),
        None => finding.message.clone(),
    };
    validate(catalog, &[]).errors.iter().map(words).collect()
}

fn message_of(error: &ktx_semantic_layer::QueryError) -> String {
    match error.suggestions.first() {
        Some(near) => format!("{}; did you mean `{near}`", error.message),
        None => error.message.clone(),
    }
}
