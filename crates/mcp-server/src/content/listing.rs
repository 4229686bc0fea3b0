//! The listing of resources, in parts.

use ktx_config::DriverKind;
use ktx_context_tools::{ProjectContext, list_sources};
use ktx_mcp_bridge::{ContentError, ResourceEntry, ResourceList};

use super::address::{Address, Place};
use super::unread;

const PART: usize = 100;

/// A cursor is a URI, so it stays valid when resources come and go.
pub(super) async fn resources(
    context: &dyn ProjectContext,
    cursor: Option<&str>,
) -> Result<ResourceList, ContentError> {
    if let Some(cursor) = cursor {
        Address::parse(cursor).map_err(|_| {
            let text = "the cursor is not one that `resources/list` gave; begin without one";
            ContentError::Invalid(text.to_owned())
        })?;
    }
    let mut all = schemas(context).await?;
    all.extend(sources(context).await?);
    let paths = context
        .page_paths()
        .await
        .map_err(|failure| unread(&failure))?;
    all.extend(paths.iter().map(|path| Listed {
        place: Place::Page(path.key.to_string()),
        description: None,
    }));
    let order = |place: &Place| {
        let (rank, names) = match place {
            Place::Schema(connection) => (0, [connection.as_str(), ""]),
            Place::Table { connection, table } => (0, [connection.as_str(), table]),
            Place::Source { connection, name } => (1, [connection.as_str(), name]),
            Place::Page(key) => (2, [key.as_str(), ""]),
        };
        (rank, names.map(str::to_owned))
    };
    all.sort_by_cached_key(|listed| order(&listed.place));
    let start = match cursor.map(Address::parse) {
        Some(Ok(after)) => all.partition_point(|one| order(&one.place) <= order(&after.place)),
        _ => 0,
    };
    let rest = all.split_off(start);
    let has_more = rest.len() > PART;
    let mut part: Vec<Listed> = rest.into_iter().take(PART).collect();
    describe_pages(context, &mut part).await?;
    let entries: Vec<ResourceEntry> = part.into_iter().map(Listed::into_entry).collect();
    let next = entries.last().filter(|_| has_more);
    Ok(ResourceList {
        next: next.map(|last| last.uri.clone()),
        entries,
    })
}

struct Listed {
    place: Place,
    description: Option<String>,
}

impl Listed {
    fn into_entry(self) -> ResourceEntry {
        let form = self.place.form();
        let name = match &self.place {
            Place::Page(key) => key,
            Place::Source { name, .. } => name,
            Place::Schema(connection) => connection,
            Place::Table { table, .. } => table,
        };
        ResourceEntry {
            uri: self.place.uri(),
            name: name.clone(),
            title: format!("{}: {name}", form.title),
            description: self.description.unwrap_or_default(),
            media_type: form.media_type,
        }
    }
}

/// Single tables are not listed: the warehouse's schema names them.
async fn schemas(context: &dyn ProjectContext) -> Result<Vec<Listed>, ContentError> {
    let connections = context.connections().await;
    let connections = connections.map_err(|failure| unread(&failure))?;
    let warehouses = connections
        .iter()
        .filter(|one| one.driver.kind() == DriverKind::Warehouse);
    let listed = warehouses.map(|one| Listed {
        place: Place::Schema(one.id.to_string()),
        description: None,
    });
    Ok(listed.collect())
}

async fn sources(context: &dyn ProjectContext) -> Result<Vec<Listed>, ContentError> {
    let list = list_sources(context, None).await;
    let list = list.map_err(|failure| unread(&failure))?;
    let listed = list.items.into_iter().map(|item| Listed {
        place: Place::Source {
            connection: item.connection_id,
            name: item.name,
        },
        description: item.description,
    });
    Ok(listed.collect())
}

async fn describe_pages(
    context: &dyn ProjectContext,
    part: &mut [Listed],
) -> Result<(), ContentError> {
    let keys: Vec<&str> = part
        .iter()
        .filter_map(|listed| page(&listed.place))
        .collect();
    let paths = context
        .page_paths()
        .await
        .map_err(|failure| unread(&failure))?;
    let is_listed = |key: &str| keys.binary_search(&key).is_ok();
    let paths: Vec<_> = paths
        .into_iter()
        .filter(|path| is_listed(path.key.as_str()))
        .collect();
    let pages = context
        .pages(&paths)
        .await
        .map_err(|failure| unread(&failure))?;
    for listed in part {
        let Some(key) = page(&listed.place) else {
            continue;
        };
        let found = pages.iter().find(|one| one.key().as_str() == key);
        listed.description = found.map(|found| found.summary().to_owned());
    }
    Ok(())
}

fn page(place: &Place) -> Option<&str> {
    match place {
        Place::Page(key) => Some(key),
        _ => None,
    }
}
