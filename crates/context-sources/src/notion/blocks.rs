//! Reads the blocks of a page and their children, within limits.

use std::pin::Pin;

use serde_json::Value;

use super::id::PageId;
use super::markdown::{MarkdownBlock, markdown};
use super::{PageContent, crawl};
use crate::rest::{Rest, RestError};

const BLOCKS: usize = 2000;

const DEPTH: usize = 10;

pub(super) async fn read(rest: &Rest, page: &PageId) -> Result<PageContent, RestError> {
    let mut reader = BlockReader {
        rest,
        found: PageContent::default(),
        left: BLOCKS,
    };
    let blocks = reader.below(page.as_str().to_owned(), 0).await?;
    let mut found = reader.found;
    found.text = markdown(&blocks);
    Ok(found)
}

struct BlockReader<'a> {
    rest: &'a Rest,
    found: PageContent,
    left: usize,
}

impl BlockReader<'_> {
    fn below(
        &mut self,
        id: String,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<MarkdownBlock>, RestError>> + Send + '_>> {
        Box::pin(async move {
            let path = format!("/v1/blocks/{id}/children");
            let mut blocks = Vec::new();
            let mut cursor: Option<String> = None;
            loop {
                let mut query = vec![("page_size", "100")];
                if let Some(cursor) = &cursor {
                    query.push(("start_cursor", cursor));
                }
                let answer = self.rest.get(&path, &query).await?;
                let (results, next) = crawl::part(self.rest, &answer, &path, cursor.as_deref())?;
                for value in results {
                    if self.left == 0 {
                        self.found.cut = Some(format!("only its first {BLOCKS} blocks were read"));
                        return Ok(blocks);
                    }
                    self.left -= 1;
                    let block = self.block(value.clone(), depth).await?;
                    blocks.push(block);
                }
                match next {
                    Some(next) => cursor = Some(next),
                    None => return Ok(blocks),
                }
            }
        })
    }

    async fn block(&mut self, value: Value, depth: usize) -> Result<MarkdownBlock, RestError> {
        let mut block = MarkdownBlock {
            value,
            children: Vec::new(),
        };
        let text = |place: &str| block.value.pointer(place).and_then(Value::as_str);
        let id = text("/id").map(str::to_owned);
        let known = id.as_deref().and_then(PageId::parse);
        match (block.kind(), known) {
            ("child_page", Some(id)) => self.found.pages.push(id),
            ("child_database", Some(id)) => self.found.databases.push(id),
            _ => {
                let has_children = block.value.get("has_children").and_then(Value::as_bool);
                // The children of a synced block belong to its original.
                let original = text("/synced_block/synced_from/block_id").map(str::to_owned);
                let place = original.or(id).filter(|_| has_children == Some(true));
                if let Some(place) = place {
                    if depth == DEPTH {
                        self.found.cut =
                            Some(format!("blocks deeper than {DEPTH} levels were not read"));
                    } else {
                        block.children = match self.below(place, depth + 1).await {
                            // The original may not be shared with the integration.
                            Err(error) if crawl::is_missing(&error) => {
                                self.found.cut = Some("a part of it is not shared".to_owned());
                                Vec::new()
                            }
                            children => children?,
                        };
                    }
                }
            }
        }
        Ok(block)
    }
}
