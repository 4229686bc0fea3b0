//! The vectors of passages and queries. Without them, words still find pages.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_diagnostics::{Failure, chain, counted};
use ktx_search::{
    Index, Query, QueryVector, SearchError, SearchOutcome, Unembedded, VectorModel, Vectors,
};

use super::index::has_folder;
use super::{FileContext, IndexPlace, Inner};
use crate::embedding::{OF_A_SEARCH, PassageStore, Proof, embed, remove_database};

const DAMAGED: &str = "the vectors of passages were damaged; ktx asks for them again";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only as many passages as one search can embed.
    Search,
    All,
}

#[derive(Debug, Default)]
pub(super) struct Meaning {
    pub(super) queries: Vec<QueryVector>,
    pub(super) warnings: Vec<String>,
    pub(super) embedded: usize,
}

impl Meaning {
    fn fail(&mut self, reason: &str) {
        self.queries.clear();
        self.warnings.push(failed(reason));
    }
}

fn failed(reason: &str) -> String {
    format!("meanings were not compared, only words: {reason}")
}

fn reason(error: &SearchError) -> String {
    chain(error).join(": ")
}

enum Listed {
    Passages(Vec<Unembedded>),
    NoVectors(String),
}

struct KeptBeside<'a> {
    context: &'a FileContext,
    model: &'a str,
}

#[async_trait]
impl PassageStore for KeptBeside<'_> {
    async fn keep_vectors(
        &mut self,
        passages: Vec<Unembedded>,
        vectors: Vec<Vec<f32>>,
    ) -> Result<(), String> {
        let model = self.model.to_owned();
        let keep = move |index: &mut Index| index.keep_vectors(&model, &passages, &vectors);
        self.context.keep(keep).await
    }

    async fn keep_refused(&mut self, passages: Vec<Unembedded>) -> Result<(), String> {
        let model = self.model.to_owned();
        let keep = move |index: &mut Index| index.keep_refused(&model, &passages);
        self.context.keep(keep).await
    }
}

impl FileContext {
    /// Skips passages if the queries get no vectors.
    pub(super) async fn meaning(&self, queries: &[Query], extent: Extent) -> Meaning {
        let mut meaning = Meaning::default();
        let Some(vectors) = self.inner.parts.vectors.clone() else {
            return meaning;
        };
        if !queries.is_empty() {
            match self.embed_queries(&vectors, queries).await {
                Ok(found) => meaning.queries = found,
                Err(reason) => {
                    meaning.fail(&reason);
                    return meaning;
                }
            }
        }
        let first = meaning.queries.first();
        let model = VectorModel {
            name: vectors.model().to_owned(),
            dimensions: first.map(|query| query.numbers.len()),
        };
        if extent == Extent::Search && self.is_embedded(&model).await {
            return meaning;
        }
        if let Err(reason) = self
            .embed_passages(&vectors, &model, extent, &mut meaning)
            .await
        {
            let missing = self.missing(&model).await;
            meaning.warnings.push(match missing {
                Some(0) | None => failed(&reason),
                Some(count) => format!(
                    "{} have no vectors yet and are found by their words only: {reason}",
                    counted(count, "passage")
                ),
            });
        }
        meaning
    }

    async fn embed_queries(
        &self,
        vectors: &Arc<dyn Vectors>,
        queries: &[Query],
    ) -> Result<Vec<QueryVector>, String> {
        let pause = &self.inner.provider.queries;
        let now = self.inner.parts.now;
        if let Some(reason) = pause.reason(now()) {
            return Err(reason);
        }
        let texts: Vec<String> = queries.iter().map(|query| query.text.clone()).collect();
        let found = vectors.embed(&texts).await;
        let found = pause.note(found.map_err(|error| error.to_string()), now())?;
        let model = vectors.model().to_owned();
        let query = |numbers| QueryVector {
            model: model.clone(),
            numbers,
        };
        Ok(found.into_iter().map(query).collect())
    }

    async fn is_embedded(&self, model: &VectorModel) -> bool {
        let model = model.clone();
        let look = move |inner: &Inner| {
            let units = inner.units()?;
            Ok(inner.is_embedded_beside(&units, &model))
        };
        self.blocking(look).await.unwrap_or_default()
    }

    /// The error explains missing vectors.
    async fn embed_passages(
        &self,
        vectors: &Arc<dyn Vectors>,
        model: &VectorModel,
        extent: Extent,
        meaning: &mut Meaning,
    ) -> Result<(), String> {
        let provider = &self.inner.provider;
        let now = self.inner.parts.now;
        let mut left = match extent {
            Extent::Search => OF_A_SEARCH,
            Extent::All => usize::MAX,
        };
        let mut after: Option<Unembedded> = None;
        let mut refused = 0;
        let mut refusal = String::new();
        loop {
            let turn = provider.turn.lock().await;
            let batch = vectors.batch().clamp(1, left.max(1));
            let passages = match self.list(model, after.clone(), batch, meaning).await? {
                Listed::Passages(passages) if passages.is_empty() => break,
                Listed::Passages(passages) => passages,
                Listed::NoVectors(reason) => {
                    meaning.fail(&reason);
                    return Ok(());
                }
            };
            if left == 0 {
                return Err("run `ktx admin reindex`".to_owned());
            }
            if extent == Extent::Search
                && let Some(reason) = provider.passages.reason(now())
            {
                return Err(reason);
            }
            left = left.saturating_sub(passages.len());
            after = passages.last().cloned();
            let proof = if meaning.embedded > 0 || !meaning.queries.is_empty() {
                Proof::Taken
            } else {
                Proof::Open
            };
            let mut store = KeptBeside {
                context: self,
                model: &model.name,
            };
            let embedded = embed(vectors.as_ref(), passages, proof, &mut store).await;
            let embedded = provider.passages.note(embedded, now())?;
            meaning.embedded += embedded.count;
            refused += embedded.refused;
            if embedded.refused > 0 {
                refusal = embedded.refusal;
            }
            drop(turn);
        }
        if refused > 0 {
            meaning.warnings.push(format!(
                "the meanings of {} were not compared: {refusal}",
                counted(refused, "passage")
            ));
        }
        Ok(())
    }

    async fn list(
        &self,
        model: &VectorModel,
        after: Option<Unembedded>,
        limit: usize,
        meaning: &mut Meaning,
    ) -> Result<Listed, String> {
        let model = model.clone();
        let list = move |inner: &Inner| {
            let mut notes = Vec::new();
            let listed = inner.unembedded(&model, after.as_ref(), limit, &mut notes);
            Ok((listed?, notes))
        };
        let listed = self.blocking(list).await;
        let (listed, notes) = listed.map_err(|failure| failure.message)?;
        meaning.warnings.extend(notes);
        Ok(listed)
    }

    async fn keep(
        &self,
        work: impl Fn(&mut Index) -> Result<(), SearchError> + Send + 'static,
    ) -> Result<(), String> {
        let keep = move |inner: &Inner| {
            let notes = &mut Vec::new();
            let kept = inner.with_index(&mut Vec::new(), |index, _| {
                inner.with_vectors(index, notes, &work)
            });
            Ok(kept?)
        };
        self.blocking(keep).await.map_err(|failure| failure.message)
    }

    async fn missing(&self, model: &VectorModel) -> Option<usize> {
        let model = model.clone();
        let count = move |inner: &Inner| {
            let count = |index: &mut Index| index.count_unembedded(&model);
            let counted = inner.with_index(&mut Vec::new(), |index, _| {
                inner.with_vectors(index, &mut Vec::new(), count)
            });
            Ok(counted?)
        };
        self.blocking(count).await.ok()
    }

    pub(super) async fn forget_refused(&self) {
        if let Some(vectors) = &self.inner.parts.vectors {
            let model = vectors.model().to_owned();
            let forgotten = self.keep(move |index| index.forget_refused(&model)).await;
            if let Err(reason) = forgotten {
                tracing::debug!(reason, "the refused passages are not sent again");
            }
        }
    }
}

impl Inner {
    fn unembedded(
        &self,
        model: &VectorModel,
        after: Option<&Unembedded>,
        limit: usize,
        notes: &mut Vec<String>,
    ) -> Result<Listed, Failure> {
        let mut units = match after {
            Some(_) => None,
            None => Some(self.units()?),
        };
        let mut found = Vec::new();
        let listed = self.with_index(notes, |index, _| {
            if let Some(units) = &mut units {
                self.sync(index, units, &mut |_, _, _| {})?;
            }
            let list = |index: &mut Index| index.unembedded(model, after, limit);
            match self.with_vectors(index, &mut found, list) {
                Ok(passages) => Ok(Listed::Passages(passages)),
                Err(error) if error.is_of_vectors() && !error.is_damaged() => {
                    Ok(Listed::NoVectors(reason(&error)))
                }
                Err(error) => Err(error),
            }
        })?;
        notes.append(&mut found);
        Ok(listed)
    }

    /// Without the vectors of passages, words answer.
    pub(super) fn answer_near(
        &self,
        index: &mut Index,
        query: &Query,
        vector: &QueryVector,
        notes: &mut Vec<String>,
    ) -> Result<SearchOutcome, SearchError> {
        let near = |index: &mut Index| index.search_by(query, ktx_search::Meaning::Near(vector));
        match self.with_vectors(index, notes, near) {
            Err(error) if error.is_of_vectors() && !error.is_damaged() => {
                let note = failed(&reason(&error));
                if !notes.contains(&note) {
                    notes.push(note);
                }
                index.search_by(query, ktx_search::Meaning::Failed)
            }
            done => done,
        }
    }

    /// Repeats the work once without damaged vectors.
    fn with_vectors<T>(
        &self,
        index: &mut Index,
        notes: &mut Vec<String>,
        work: impl Fn(&mut Index) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let path = self.vectors_file();
        if !has_folder(&path) {
            let folder = path.parent().unwrap_or(&path).display();
            return Err(SearchError::NoVectors {
                reason: format!("`{folder}` cannot be written to"),
            });
        }
        let attempt = |index: &mut Index| {
            index.attach_vectors(&path)?;
            work(index)
        };
        match attempt(index) {
            Err(error) if error.is_of_vectors() && error.is_damaged() => {
                if index.has_vectors() && ktx_search::are_vectors_whole(&path) {
                    return Err(error);
                }
            }
            done => return done,
        }
        index.detach_vectors()?;
        let removed = remove_database(&path);
        removed.map_err(|failure| SearchError::NoVectors {
            reason: format!("they are damaged and stay so: {}", failure.message),
        })?;
        notes.push(DAMAGED.to_owned());
        attempt(index)
    }

    /// An index in memory shares the project's vectors, so that no text is paid for twice.
    pub(super) fn vectors_file(&self) -> PathBuf {
        const NAME: &str = "vectors.sqlite";
        match &self.parts.index {
            IndexPlace::File(path) => path.with_file_name(NAME),
            IndexPlace::Memory => self.layout.state().join(NAME),
        }
    }
}
