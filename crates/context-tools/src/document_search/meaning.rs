//! The vectors of parts and queries. Without them, words still find parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use ktx_diagnostics::{chain, counted};
use ktx_search::{Index, QueryVector, SearchError, Unembedded, VectorModel, Vectors};

use super::{DocumentLane, Searched, State};
use crate::embedding::{OF_A_SEARCH, PassageStore, Proof, embed, remove_database};

pub struct DocumentVectors {
    pub provider: Arc<dyn Vectors>,
    /// Texts with a vector here are not paid for again.
    pub file: PathBuf,
    pub now: fn() -> SystemTime,
}

impl std::fmt::Debug for DocumentVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentVectors")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(super) struct Meaning {
    pub(super) query: Option<QueryVector>,
    pub(super) warnings: Vec<String>,
}

struct Missing<'a> {
    index: &'a mut Index,
    model: VectorModel,
}

#[async_trait]
impl PassageStore for Missing<'_> {
    async fn keep_vectors(
        &mut self,
        passages: Vec<Unembedded>,
        vectors: Vec<Vec<f32>>,
    ) -> Result<(), String> {
        let kept = self
            .index
            .keep_vectors(&self.model.name, &passages, &vectors);
        kept.map_err(|error| reason(&error))
    }

    async fn keep_refused(&mut self, passages: Vec<Unembedded>) -> Result<(), String> {
        let kept = self.index.keep_refused(&self.model.name, &passages);
        kept.map_err(|error| reason(&error))
    }
}

fn reason(error: &SearchError) -> String {
    chain(error).join(": ")
}

/// Discards damaged vectors.
fn attach(index: &mut Index, file: &Path) -> Result<(), String> {
    let mut attached = index.attach_vectors(file);
    if attached.as_ref().is_err_and(SearchError::is_damaged) {
        remove_database(file).map_err(|failure| failure.message)?;
        attached = index.attach_vectors(file);
    }
    attached.map_err(|error| reason(&error))
}

impl Searched {
    pub(super) async fn meaning(&self, state: &mut State, query: &str) -> Meaning {
        let mut meaning = Meaning::default();
        if !matches!(
            self.folder.lane,
            DocumentLane::Meaning | DocumentLane::All(_)
        ) {
            return meaning;
        }
        match self.embed(state, query, &mut meaning.warnings).await {
            Ok(vector) => meaning.query = Some(vector),
            Err(reason) => meaning
                .warnings
                .push(format!("meanings were not compared, only words: {reason}")),
        }
        meaning
    }

    async fn embed(
        &self,
        state: &mut State,
        query: &str,
        warnings: &mut Vec<String>,
    ) -> Result<QueryVector, String> {
        let Some(vectors) = &self.folder.vectors else {
            return Err("the agent has no provider of embeddings".to_owned());
        };
        let provider = vectors.provider.as_ref();
        if let Some(reason) = self.pause.reason((vectors.now)()) {
            return Err(reason);
        }
        let index = &mut state.index;
        attach(index, &vectors.file)?;
        let found = provider.embed(&[query.to_owned()]).await;
        let found = found.map_err(|error| error.to_string());
        let found = self.pause.note(found, (vectors.now)())?;
        let Some(numbers) = found.into_iter().next() else {
            return Err("the provider gave no vector".to_owned());
        };
        let model = VectorModel {
            name: provider.model().to_owned(),
            dimensions: Some(numbers.len()),
        };
        let query = QueryVector {
            model: model.name.clone(),
            numbers,
        };
        let mut missing = Missing { index, model };
        let embedded = missing.embed(provider).await;
        if let Some(warning) = self
            .pause
            .note(embedded, (vectors.now)())
            .unwrap_or_else(Some)
        {
            warnings.push(warning);
        }
        Ok(query)
    }
}

impl Missing<'_> {
    /// Returns a note about parts without a vector.
    async fn embed(&mut self, provider: &dyn Vectors) -> Result<Option<String>, String> {
        let mut left = OF_A_SEARCH;
        let mut after: Option<Unembedded> = None;
        let mut refused = 0;
        let mut refusal = String::new();
        loop {
            let batch = provider.batch().clamp(1, left.max(1));
            let listed = self.index.unembedded(&self.model, after.as_ref(), batch);
            let passages = listed.map_err(|error| reason(&error))?;
            if passages.is_empty() {
                break;
            }
            if left == 0 {
                return Ok(self.waiting("the next search continues"));
            }
            left = left.saturating_sub(passages.len());
            after = passages.last().cloned();
            match embed(provider, passages, Proof::Taken, self).await {
                Ok(embedded) if embedded.refused > 0 => {
                    refused += embedded.refused;
                    refusal = embedded.refusal;
                }
                Ok(_) => {}
                Err(reason) => return Err(self.waiting(&reason).unwrap_or(reason)),
            }
        }
        Ok((refused > 0).then(|| {
            format!(
                "the meanings of {} were not compared: {refusal}",
                counted(refused, "part")
            )
        }))
    }

    fn waiting(&self, reason: &str) -> Option<String> {
        let count = self.index.count_unembedded(&self.model).ok();
        let count = count.filter(|count| *count > 0)?;
        Some(format!(
            "{} have no vectors yet and are found by their words only: {reason}",
            counted(count, "part")
        ))
    }
}
