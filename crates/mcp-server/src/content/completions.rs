//! Completes the arguments of prompts and URI templates.

use ktx_context_tools::{
    ProjectContext, list_connections, list_measures, list_sources, list_tables,
};
use ktx_mcp_bridge::{ContentError, Subject, Typed};

use super::address::FORMS;
use super::prompts::PROMPTS;
use super::unread;

enum Names {
    Connections,
    Sources,
    Tables,
    Measures,
    Pages,
    None,
}

/// Prefix matches first, then names that contain the text.
pub(super) async fn fitting(
    context: &dyn ProjectContext,
    typed: &Typed,
) -> Result<Vec<String>, ContentError> {
    let kind = match &typed.subject {
        Subject::Prompt(name) => of_prompt(name, &typed.argument)?,
        Subject::Resource(template) => of_form(template, &typed.argument)?,
    };
    let names = all(context, kind, typed.known.get("connection")).await?;
    let wanted = typed.text.to_lowercase();
    let (mut first, rest): (Vec<String>, Vec<String>) = names
        .into_iter()
        .filter(|name| name.to_lowercase().contains(&wanted))
        .partition(|name| name.to_lowercase().starts_with(&wanted));
    first.extend(rest);
    Ok(first)
}

fn of_prompt(name: &str, argument: &str) -> Result<Names, ContentError> {
    let known = PROMPTS.iter().find(|prompt| prompt.name == name);
    let known = known.ok_or_else(|| unknown("prompt", name))?;
    let mut arguments = known.arguments.iter();
    if !arguments.any(|known| known.name == argument) {
        return Err(unknown("argument", argument));
    }
    Ok(match argument {
        "measure" => Names::Measures,
        "source" => Names::Sources,
        "page" => Names::Pages,
        _ => Names::None,
    })
}

fn of_form(template: &str, argument: &str) -> Result<Names, ContentError> {
    let known = FORMS.iter().find(|form| form.uri_template == template);
    let known = known.ok_or_else(|| unknown("resource template", template))?;
    if !known.uri_template.contains(&format!("{{{argument}}}")) {
        return Err(unknown("argument", argument));
    }
    Ok(match argument {
        "connection" => Names::Connections,
        "source" => Names::Sources,
        "table" => Names::Tables,
        _ => Names::Pages,
    })
}

fn unknown(what: &str, name: &str) -> ContentError {
    let name = ktx_diagnostics::excerpt(name);
    ContentError::Invalid(format!("there is no {what} `{name}`"))
}

async fn all(
    context: &dyn ProjectContext,
    kind: Names,
    connection: Option<&String>,
) -> Result<Vec<String>, ContentError> {
    let mut names: Vec<String> = match kind {
        Names::None => Vec::new(),
        Names::Connections => {
            let list = list_connections(context).await;
            let list = list.map_err(|failure| unread(&failure))?;
            list.connections.into_iter().map(|one| one.id).collect()
        }
        Names::Sources => {
            let list = list_sources(context, connection.map(String::as_str)).await;
            let list = list.map_err(|failure| unread(&failure))?;
            list.items.into_iter().map(|item| item.name).collect()
        }
        Names::Measures => {
            let list = list_measures(context).await;
            list.map_err(|failure| unread(&failure))?
        }
        Names::Pages => {
            let paths = context.page_paths().await;
            let paths = paths.map_err(|failure| unread(&failure))?;
            paths.into_iter().map(|path| path.key.to_string()).collect()
        }
        Names::Tables => {
            let Some(connection) = connection else {
                return Ok(Vec::new());
            };
            let tables = list_tables(context, connection).await;
            let tables = tables.map_err(|failure| unread(&failure))?;
            let tables = tables.unwrap_or_default().into_iter();
            tables.map(|one| one.table).collect()
        }
    };
    names.sort();
    names.dedup();
    Ok(names)
}
