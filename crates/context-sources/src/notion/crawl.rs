//! Crawls from the roots to every page below them. A page that cannot be read is reported, not
//! treated as deleted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::blocks;
use super::id::PageId;
use super::page::{NotionPage, plain};
use super::units::file_of;
use super::{NotionCrawl, NotionScope, Roots, cached, units};
use crate::page_cache::PageCache;
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::snapshot::LeftOut;

/// Reads everything in the scope. Fails if a root cannot be read, the token is refused, or Notion
/// cannot be reached.
pub async fn read(
    rest: &Rest,
    scope: &NotionScope,
    cache: &PageCache,
) -> Result<NotionCrawl, RestError> {
    let mut crawler = Crawler {
        rest,
        cache,
        now: scope.now,
        left: scope.max_pages,
        seen: BTreeSet::new(),
        queue: VecDeque::new(),
        crawl: NotionCrawl::default(),
        unread: 0,
    };
    match &scope.roots {
        Some(roots) => crawler.begin_at(roots),
        None => crawler.everything().await?,
    }
    while let Some(next) = crawler.queue.pop_front() {
        crawler.visit(next).await?;
    }
    crawler.look_for(&scope.earlier).await?;
    if crawler.unread > 0 {
        crawler.crawl.warnings.push(format!(
            "{} pages were found and not read: `max_pages_per_run` is {}; run the same command again",
            crawler.unread, scope.max_pages
        ));
    }
    let left_out = &mut crawler.crawl.snapshot.left_out;
    left_out.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(crawler.crawl)
}

enum CrawlItem {
    Page {
        id: PageId,
        page: Option<NotionPage>,
        above: Vec<String>,
        is_root: bool,
    },
    Database {
        id: PageId,
        above: Vec<String>,
        is_root: bool,
    },
    DataSource {
        id: PageId,
        above: Vec<String>,
        is_root: bool,
    },
}

struct Crawler<'a> {
    rest: &'a Rest,
    cache: &'a PageCache,
    now: Timestamp,
    left: usize,
    seen: BTreeSet<PageId>,
    queue: VecDeque<CrawlItem>,
    crawl: NotionCrawl,
    unread: usize,
}

impl Crawler<'_> {
    fn begin_at(&mut self, roots: &Roots) {
        let (above, is_root) = (Vec::new, true);
        let pages = roots.pages.iter().map(|id| CrawlItem::Page {
            id: id.clone(),
            page: None,
            above: above(),
            is_root,
        });
        let databases = roots.databases.iter().map(|id| CrawlItem::Database {
            id: id.clone(),
            above: above(),
            is_root,
        });
        let sources = roots.data_sources.iter().map(|id| CrawlItem::DataSource {
            id: id.clone(),
            above: above(),
            is_root,
        });
        self.queue.extend(pages.chain(databases).chain(sources));
    }

    async fn everything(&mut self) -> Result<(), RestError> {
        for kind in ["page", "data_source"] {
            let body = json!({ "filter": { "property": "object", "value": kind } });
            for found in self.all("/v1/search", body).await? {
                let id = found.get("id").and_then(Value::as_str);
                let Some(id) = id.and_then(PageId::parse) else {
                    continue;
                };
                let above = Vec::new();
                self.queue.push_back(match kind {
                    "page" => CrawlItem::Page {
                        id,
                        page: NotionPage::parse(&found),
                        above,
                        is_root: false,
                    },
                    _ => CrawlItem::DataSource {
                        id,
                        above,
                        is_root: false,
                    },
                });
            }
        }
        Ok(())
    }

    async fn all(&self, path: &str, mut body: Value) -> Result<Vec<Value>, RestError> {
        let mut all = Vec::new();
        loop {
            if let Some(body) = body.as_object_mut() {
                body.insert("page_size".to_owned(), json!(100));
            }
            let answer = self.rest.post(path, &body).await?;
            let known = body.get("start_cursor").and_then(Value::as_str);
            let (results, next) = part(self.rest, &answer, path, known)?;
            all.extend(results.iter().cloned());
            match (next, body.as_object_mut()) {
                (Some(next), Some(body)) => {
                    body.insert("start_cursor".to_owned(), json!(next));
                }
                _ => return Ok(all),
            }
        }
    }

    async fn visit(&mut self, place: CrawlItem) -> Result<(), RestError> {
        let (id, is_root) = match &place {
            CrawlItem::Page { id, is_root, .. }
            | CrawlItem::Database { id, is_root, .. }
            | CrawlItem::DataSource { id, is_root, .. } => (id.clone(), *is_root),
        };
        if !self.seen.insert(id.clone()) {
            return Ok(());
        }
        let visited = match place {
            CrawlItem::Page {
                id, page, above, ..
            } => self.page(&id, page, &above).await,
            CrawlItem::Database { id, above, .. } => self.database(&id, &above).await,
            CrawlItem::DataSource { id, above, .. } => self.data_source(&id, &above).await,
        };
        match visited {
            // A failure of one item is reported; a failure of a root ends the crawl.
            Err(error) if !is_root && error.is_about_one() => {
                self.leave_out(&id, error.message);
                Ok(())
            }
            visited => visited,
        }
    }

    async fn page(
        &mut self,
        id: &PageId,
        page: Option<NotionPage>,
        above: &[String],
    ) -> Result<(), RestError> {
        let page = match page {
            Some(page) => page,
            None => self.look_at(id).await?,
        };
        if page.is_in_trash {
            return Ok(());
        }
        let read = match cached::get(self.cache, id, &page.edited) {
            Some(read) => read,
            None if self.left == 0 => {
                self.unread += 1;
                let reason = "it was not reached: `max_pages_per_run` were read";
                self.leave_out(id, reason.to_owned());
                return Ok(());
            }
            None => {
                let read = blocks::read(self.rest, id).await?;
                self.left -= 1;
                cached::put(self.cache, id, &page.edited, &read, self.now);
                read
            }
        };
        if let Some(cut) = &read.cut {
            let warning = format!("the page `{}`: {cut}", page.title);
            self.crawl.warnings.push(warning);
        }
        let mut path = above.to_vec();
        path.push(page.title.clone());
        let files = units::files(&page, above, &read.text);
        self.crawl.snapshot.files.extend(files);
        for id in read.pages {
            self.queue.push_back(CrawlItem::Page {
                id,
                page: None,
                above: path.clone(),
                is_root: false,
            });
        }
        for id in read.databases {
            self.queue.push_back(CrawlItem::Database {
                id,
                above: path.clone(),
                is_root: false,
            });
        }
        Ok(())
    }

    async fn look_at(&self, id: &PageId) -> Result<NotionPage, RestError> {
        let path = format!("/v1/pages/{id}");
        let answer = self.rest.get(&path, &[]).await?;
        let strange = || self.rest.strange(&format!("no page for `{path}`"));
        NotionPage::parse(&answer).ok_or_else(strange)
    }

    async fn database(&mut self, id: &PageId, above: &[String]) -> Result<(), RestError> {
        let path = format!("/v1/databases/{id}");
        let answer = self.rest.get(&path, &[]).await?;
        if is_in_trash(&answer) {
            return Ok(());
        }
        let sources = answer.get("data_sources").and_then(Value::as_array);
        let sources = sources.ok_or_else(|| {
            let what = format!("no data sources for `{path}`");
            self.rest.strange(&what)
        })?;
        let ids = sources
            .iter()
            .filter_map(|source| PageId::parse(source.get("id")?.as_str()?));
        let places = ids.map(|id| CrawlItem::DataSource {
            id,
            above: above.to_vec(),
            is_root: false,
        });
        self.queue.extend(places);
        Ok(())
    }

    async fn data_source(&mut self, id: &PageId, above: &[String]) -> Result<(), RestError> {
        let path = format!("/v1/data_sources/{id}");
        let about = self.rest.get(&path, &[]).await?;
        if is_in_trash(&about) {
            return Ok(());
        }
        let mut above = above.to_vec();
        let title = plain(about.get("title"));
        if !title.is_empty() {
            above.push(title);
        }
        let rows = self.all(&format!("{path}/query"), json!({})).await?;
        for row in rows {
            let Some(page) = NotionPage::parse(&row) else {
                continue;
            };
            self.queue.push_back(CrawlItem::Page {
                id: page.id.clone(),
                page: Some(page),
                above: above.clone(),
                is_root: false,
            });
        }
        Ok(())
    }

    /// Only a page in the trash counts as deleted: a missing one may have been unshared.
    async fn look_for(&mut self, earlier: &BTreeSet<String>) -> Result<(), RestError> {
        let mut lost: BTreeMap<PageId, Vec<&String>> = BTreeMap::new();
        for file in earlier {
            if let Some(id) = units::page_of(file).filter(|id| !self.seen.contains(id)) {
                lost.entry(id).or_default().push(file);
            }
        }
        self.leave_out_parts(earlier);
        for (id, files) in lost {
            let reason = match self.look_at(&id).await {
                Ok(page) if page.is_in_trash => continue,
                Ok(_) => "it is not below the roots any more".to_owned(),
                Err(error) if is_missing(&error) => {
                    "it is gone for good, or not shared with the integration any more".to_owned()
                }
                Err(error) if error.is_about_one() => error.message,
                Err(error) => return Err(error),
            };
            for file in files {
                self.crawl.snapshot.left_out.push(LeftOut {
                    path: file.clone(),
                    reason: reason.clone(),
                });
            }
        }
        Ok(())
    }

    fn leave_out_parts(&mut self, earlier: &BTreeSet<String>) {
        let left_out = &mut self.crawl.snapshot.left_out;
        let first: BTreeMap<String, String> = left_out
            .iter()
            .map(|left| (left.path.clone(), left.reason.clone()))
            .collect();
        for file in earlier.iter().filter(|file| !first.contains_key(*file)) {
            let reason = units::page_of(file).and_then(|id| first.get(&file_of(&id)));
            left_out.extend(reason.map(|reason| LeftOut {
                path: file.clone(),
                reason: reason.clone(),
            }));
        }
    }

    fn leave_out(&mut self, id: &PageId, reason: String) {
        let path = file_of(id);
        self.crawl.snapshot.left_out.push(LeftOut { path, reason });
    }
}

fn is_in_trash(value: &Value) -> bool {
    ["in_trash", "archived"]
        .iter()
        .any(|name| value.get(name).and_then(Value::as_bool) == Some(true))
}

pub(super) fn is_missing(error: &RestError) -> bool {
    error.kind == RestErrorKind::NotFound
}

/// A repeated cursor is an error, because the list would never end.
pub(super) fn part<'a>(
    rest: &Rest,
    answer: &'a Value,
    path: &str,
    known: Option<&str>,
) -> Result<(&'a [Value], Option<String>), RestError> {
    let results = answer.get("results").and_then(Value::as_array);
    let results = results.ok_or_else(|| rest.strange(&format!("no list for `{path}`")))?;
    let has_more = answer.get("has_more").and_then(Value::as_bool) == Some(true);
    let cursor = answer.get("next_cursor").and_then(Value::as_str);
    match (has_more, cursor) {
        (true, Some(cursor)) if known != Some(cursor) => Ok((results, Some(cursor.to_owned()))),
        (true, _) => Err(rest.strange(&format!("a list without its end for `{path}`"))),
        (false, _) => Ok((results, None)),
    }
}
