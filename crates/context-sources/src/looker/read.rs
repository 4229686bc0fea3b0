//! Crawls from the models to every explore, dashboard and look. An item that cannot be read is
//! reported, not treated as deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::content::LookerContent;
use super::explore::Explore;
use super::folders::Folders;
use super::item::Item;
use super::{LookerCrawl, LookerScope, all, is_so, list, name, text_field, texts};
use crate::page_cache::{PageCache, file_name};
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::snapshot::LeftOut;

const PAGE: usize = 100;

/// Consecutive failures of a busy server after which the crawl stops.
const ENOUGH: usize = 5;

pub(super) struct LookerModel {
    name: String,
    explores: BTreeSet<String>,
    pub(super) connections: Vec<String>,
    is_unlimited: bool,
}

pub(super) async fn models(rest: &Rest) -> Result<Vec<LookerModel>, RestError> {
    let fields = "name,explores,allowed_db_connection_names,unlimited_db_connections";
    let answer = rest.get("/lookml_models", &[("fields", fields)]).await?;
    let model = |value: &Value| {
        Some(LookerModel {
            name: name(value)?,
            explores: all(value, "explores").filter_map(name).collect(),
            connections: texts(value, "allowed_db_connection_names"),
            is_unlimited: is_so(value, "unlimited_db_connections"),
        })
    };
    let listed = list(rest, &answer, "/lookml_models")?;
    let mut models: Vec<LookerModel> = listed.iter().filter_map(model).collect();
    models.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(models)
}

/// Reads the explores of the connections in the scope, and their dashboards and looks. Skips
/// personal folders. If the server does not answer for an item, uses the cache.
pub async fn read(
    rest: &Rest,
    scope: &LookerScope,
    cache: &PageCache,
) -> Result<LookerCrawl, RestError> {
    let mut reader = LookerReader {
        rest,
        scope,
        cache,
        earlier: scope
            .earlier
            .iter()
            .filter_map(|file| Item::of(file))
            .collect(),
        crawl: LookerCrawl::default(),
        reasons: BTreeMap::new(),
        unmapped: BTreeSet::new(),
        in_a_row: 0,
    };
    for model in models(rest).await? {
        reader.model(&model).await?;
    }
    let folders = Folders::read(rest).await?;
    for list in ["/dashboards/search", "/looks/search"] {
        reader.contents(list, &folders).await?;
    }
    reader.keep_what_is_mapped();
    reader.warn_about_hidden_sql();
    reader.write()?;
    reader.leave_out();
    Ok(reader.crawl)
}

struct LookerReader<'a> {
    rest: &'a Rest,
    scope: &'a LookerScope,
    cache: &'a PageCache,
    earlier: BTreeSet<Item>,
    crawl: LookerCrawl,
    reasons: BTreeMap<Item, String>,
    unmapped: BTreeSet<String>,
    in_a_row: usize,
}

impl LookerReader<'_> {
    async fn model(&mut self, model: &LookerModel) -> Result<(), RestError> {
        let is_mapped = |name: &String| self.scope.connections.contains(name);
        let may_be = model.is_unlimited
            || model.connections.is_empty()
            || model.connections.iter().any(is_mapped);
        for explore in &model.explores {
            let item = Item::Explore {
                model: model.name.clone(),
                explore: explore.clone(),
            };
            if may_be {
                self.explore(model, explore, item).await?;
            } else {
                self.unmapped.extend(model.connections.iter().cloned());
                self.reasons.insert(item, is_unmapped(&model.connections));
            }
        }
        Ok(())
    }

    async fn explore(
        &mut self,
        model: &LookerModel,
        explore: &str,
        item: Item,
    ) -> Result<(), RestError> {
        let found = match self.look_at(&item).await? {
            Ok(value) => {
                let found = Explore::parse(&value, &model.name, explore);
                found.ok_or_else(|| self.rest.strange("something other than an explore"))
            }
            Err(error) => Err(error),
        };
        let Some(mut found) = self.or_cached(&item, found) else {
            return Ok(());
        };
        if let ([only], None) = (model.connections.as_slice(), &found.connection) {
            found.connection = Some(only.clone());
        }
        match &found.connection {
            Some(connection) if self.scope.connections.contains(connection) => {
                self.crawl.explores.insert(item, found);
            }
            Some(connection) => {
                self.unmapped.insert(connection.clone());
                let reason = is_unmapped(std::slice::from_ref(connection));
                self.reasons.insert(item, reason);
            }
            None => {
                let told = format!(
                    "`{}` was not read: its connection is not known",
                    item.file()
                );
                self.crawl.warnings.push(told);
                self.reasons
                    .insert(item, "its connection is not known".to_owned());
            }
        }
        Ok(())
    }

    async fn contents(&mut self, path: &str, folders: &Folders) -> Result<(), RestError> {
        let kind = |id: String| {
            if path.starts_with("/looks") {
                Item::Look(id)
            } else {
                Item::Dashboard(id)
            }
        };
        let listed = self.listed(path).await?;
        let mut wanted: BTreeSet<Item> = listed.into_iter().map(kind).collect();
        let same = std::mem::discriminant(&kind(String::new()));
        let earlier = self.earlier.iter();
        wanted.extend(
            earlier
                .filter(|item| std::mem::discriminant(*item) == same)
                .cloned(),
        );
        for item in wanted {
            let found = match self.look_at(&item).await? {
                Ok(value) if is_so(&value, "deleted") => continue,
                Ok(value) => {
                    let Some(folder) = folders.place(&value) else {
                        let reason = "it is in the folder of a person";
                        self.reasons.insert(item, reason.to_owned());
                        continue;
                    };
                    let found = LookerContent::parse(&item, &value, folder);
                    found.ok_or_else(|| self.rest.strange("neither a dashboard nor a look"))
                }
                Err(error) => Err(error),
            };
            if let Some(found) = self.or_cached(&item, found) {
                self.crawl.contents.insert(item, found);
            }
        }
        Ok(())
    }

    async fn listed(&self, path: &str) -> Result<BTreeSet<String>, RestError> {
        let mut ids = BTreeSet::new();
        let limit = PAGE.to_string();
        for page in 0.. {
            let offset = (page * PAGE).to_string();
            let query = [
                ("fields", "id,deleted"),
                ("deleted", "false"),
                ("sorts", "id"),
                ("limit", limit.as_str()),
                ("offset", offset.as_str()),
            ];
            let answer = self.rest.get(path, &query).await?;
            let part = list(self.rest, &answer, path)?;
            let before = ids.len();
            let there = part.iter().filter(|one| !is_so(one, "deleted"));
            ids.extend(there.filter_map(|one| text_field(one, "id")));
            if part.len() < PAGE {
                break;
            }
            if ids.len() == before {
                let what = format!("a list without its end for `{path}`");
                return Err(self.rest.strange(&what));
            }
        }
        Ok(ids)
    }

    /// The outer error ends the crawl.
    async fn look_at(&mut self, item: &Item) -> Result<Result<Value, RestError>, RestError> {
        let Some(address) = item.address() else {
            let what = "nothing: its name cannot be part of a URL";
            return Ok(Err(self.rest.strange(what)));
        };
        match self.rest.get(&address, &[]).await {
            Ok(value) => {
                self.in_a_row = 0;
                Ok(Ok(value))
            }
            Err(error) if error.is_about_one() => {
                let is_busy = error.kind == RestErrorKind::Busy;
                self.in_a_row = if is_busy { self.in_a_row + 1 } else { 0 };
                if self.in_a_row == ENOUGH {
                    return Err(error);
                }
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }

    fn or_cached<T: Serialize + DeserializeOwned>(
        &mut self,
        item: &Item,
        found: Result<T, RestError>,
    ) -> Option<T> {
        let file = item.file();
        match found {
            Ok(found) => {
                if let Ok(value) = serde_json::to_value(&found) {
                    self.cache
                        .put(&file_name(&file, "json"), &value.to_string());
                }
                Some(found)
            }
            Err(error) => {
                let before = self.cache.get(&file_name(&file, "json"));
                let before = before.and_then(|text| serde_json::from_str(&text).ok());
                if before.is_some() {
                    let told = format!("`{file}` was not read, and counts as it was before");
                    self.crawl.warnings.push(format!("{told}: {error}"));
                } else if !self.earlier.contains(item) {
                    let told = format!("`{file}` was not read: {error}");
                    self.crawl.warnings.push(told);
                }
                self.reasons.insert(item.clone(), error.message);
                before
            }
        }
    }

    fn keep_what_is_mapped(&mut self) {
        let contents = std::mem::take(&mut self.crawl.contents);
        let mut others = 0;
        for (item, content) in contents {
            let asked: Vec<Item> = content.queried_explores().collect();
            let mut known = asked
                .iter()
                .map(|item| self.crawl.explores.contains_key(item));
            if asked.is_empty() || known.any(|is_known| is_known) {
                if content.says_something() {
                    self.crawl.contents.insert(item, content);
                }
                continue;
            }
            others += 1;
            let reason = "it shows nothing that is read";
            self.reasons.insert(item, reason.to_owned());
        }
        if others > 0 {
            self.crawl.warnings.push(format!(
                "{others} dashboards and looks use no mapped connection: they were not read"
            ));
        }
        let names = std::mem::take(&mut self.unmapped);
        let told = names.iter().map(|name| {
            format!(
                "the connection `{name}` is mapped to no warehouse: what is about it was not read"
            )
        });
        self.crawl.warnings.extend(told);
    }

    fn warn_about_hidden_sql(&mut self) {
        let explores = self.crawl.explores.values();
        let hidden = explores.filter(|explore| explore.hides_sql()).count();
        if hidden > 0 {
            self.crawl.warnings.push(format!(
                "the SQL of {hidden} explores is hidden from the key: its user lacks the permission `see_lookml`"
            ));
        }
    }

    fn write(&mut self) -> Result<(), RestError> {
        let strange = |_| self.rest.strange("what cannot be written down");
        let mut files = BTreeMap::new();
        for explore in self.crawl.explores.values() {
            files.extend(explore.files().map_err(strange)?);
        }
        for (item, content) in &self.crawl.contents {
            let text = serde_yaml::to_string(content).map_err(strange)?;
            files.insert(item.file(), text);
        }
        self.crawl.snapshot.files = files;
        Ok(())
    }

    /// An unlisted explore may be deleted or hidden from the key: Looker gives the same answer.
    fn leave_out(&mut self) {
        let snapshot = &mut self.crawl.snapshot;
        for file in &self.scope.earlier {
            let Some(item) = Item::of(file) else { continue };
            let is_read = snapshot.files.contains_key(&item.file());
            if is_read || snapshot.files.contains_key(file) {
                continue;
            }
            let reason = match (&item, self.reasons.get(&item)) {
                (_, Some(reason)) => reason.clone(),
                (Item::Explore { .. }, None) => {
                    "the server does not list it any more, or not for this key".to_owned()
                }
                (Item::Dashboard(_) | Item::Look(_), None) => continue,
            };
            let path = file.clone();
            snapshot.left_out.push(LeftOut { path, reason });
        }
    }
}

fn is_unmapped(connections: &[String]) -> String {
    let names: Vec<String> = connections.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "its connection {} is mapped to no warehouse",
        names.join(", ")
    )
}
