//! Builds the provider of `ingest.embeddings`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use ktx_config::{Embeddings, EmbeddingsBackend, Environment};
use ktx_embeddings::{EmbeddingServer, EmbeddingTable, ServerSettings};
use ktx_search::{Vectors, VectorsError};
use ktx_secrets::{Secret, SecretRef};

use crate::invocation::ProjectSecrets;

const OPENAI_KEY: &str = "OPENAI_API_KEY";

const OPENAI_MODEL: &str = "text-embedding-3-small";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddingsOrigin {
    Project,
    AgentFile,
}

impl EmbeddingsOrigin {
    const fn block(self) -> &'static str {
        match self {
            Self::Project => "ingest.embeddings",
            Self::AgentFile => "embedding_provider",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Project => "openai.api_key",
            Self::AgentFile => "api_key",
        }
    }

    const fn address(self) -> &'static str {
        match self {
            Self::Project => "openai.base_url",
            Self::AgentFile => "endpoint",
        }
    }
}

/// Opens the provider at the first search, because most commands need none.
#[derive(Debug)]
struct LazyVectors {
    embeddings: Embeddings,
    written_in: EmbeddingsOrigin,
    environment: Environment,
    dir: PathBuf,
    opened: OnceLock<Result<Arc<dyn Vectors>, String>>,
}

impl LazyVectors {
    fn opened(&self) -> &Result<Arc<dyn Vectors>, String> {
        self.opened.get_or_init(|| {
            opened(
                &self.embeddings,
                self.written_in,
                &self.environment,
                &self.dir,
            )
        })
    }
}

#[async_trait]
impl Vectors for LazyVectors {
    fn model(&self) -> &str {
        match self.opened() {
            Ok(vectors) => vectors.model(),
            Err(_) => "unusable",
        }
    }

    fn batch(&self) -> usize {
        // An unusable provider refuses any number.
        self.opened().as_ref().map_or(1, |vectors| vectors.batch())
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError> {
        match self.opened() {
            Ok(vectors) => vectors.embed(texts).await,
            Err(reason) => Err(VectorsError::new(reason)),
        }
    }
}

/// Does no IO; `None` without a provider.
pub(crate) fn vectors(
    embeddings: &Embeddings,
    written_in: EmbeddingsOrigin,
    environment: &Environment,
    dir: &Path,
) -> Option<Arc<dyn Vectors>> {
    let is_configured = embeddings.backend != EmbeddingsBackend::None;
    is_configured.then(|| {
        let lazy = LazyVectors {
            embeddings: embeddings.clone(),
            written_in,
            environment: environment.clone(),
            dir: dir.to_owned(),
            opened: OnceLock::new(),
        };
        Arc::new(lazy) as Arc<dyn Vectors>
    })
}

pub(crate) fn usable(
    embeddings: &Embeddings,
    environment: &Environment,
    dir: &Path,
) -> Result<Arc<dyn Vectors>, String> {
    opened(embeddings, EmbeddingsOrigin::Project, environment, dir)
}

fn opened(
    embeddings: &Embeddings,
    written_in: EmbeddingsOrigin,
    environment: &Environment,
    dir: &Path,
) -> Result<Arc<dyn Vectors>, String> {
    match embeddings.backend {
        EmbeddingsBackend::None => Err("`ingest.embeddings.backend` is `none`".to_owned()),
        EmbeddingsBackend::Table => table(embeddings, dir),
        EmbeddingsBackend::OpenAi => openai(embeddings, written_in, environment, dir),
        EmbeddingsBackend::SentenceTransformers => Err(
            "`ingest.embeddings.backend: sentence-transformers` needs the Python service of KTX 0.12; use `openai` \
             with the `base_url` of a server that speaks that protocol, or `table`"
                .to_owned(),
        ),
    }
}

fn table(embeddings: &Embeddings, dir: &Path) -> Result<Arc<dyn Vectors>, String> {
    let path = embeddings.table.as_deref();
    let path = path.ok_or("`ingest.embeddings.table.path` does not name a file")?;
    let path = dir.join(path);
    let beside = path.with_file_name("tokenizer.json");
    let tokenizer = match embeddings.tokenizer.as_deref() {
        Some(tokenizer) => Some(read(&dir.join(tokenizer))?),
        None if beside.is_file() => Some(read(&beside)?),
        None => None,
    };
    let table = EmbeddingTable::parse(read(&path)?, tokenizer.as_deref());
    match table {
        Ok(table) => Ok(Arc::new(table)),
        Err(error) => Err(format!(
            "`{}` is not a table of vectors: {error}",
            path.display()
        )),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

fn openai(
    embeddings: &Embeddings,
    written_in: EmbeddingsOrigin,
    environment: &Environment,
    dir: &Path,
) -> Result<Arc<dyn Vectors>, String> {
    let secrets = ProjectSecrets::new(environment, dir);
    let value = |reference: &SecretRef, key: &str| -> Result<Secret, String> {
        let value = reference.resolve(&secrets);
        value.map_err(|error| format!("`{}.{key}`: {error}", written_in.block()))
    };
    let base = match &embeddings.openai.base_url {
        Some(reference) => Some(value(reference, written_in.address())?),
        None => None,
    };
    let key = match &embeddings.openai.api_key {
        Some(reference) => Some(value(reference, written_in.key())?),
        // OpenAI's key must not go to other servers.
        None if base.is_none() => environment.get(OPENAI_KEY).map(Secret::new),
        None => None,
    };
    // Other servers may need no key.
    if key.is_none() && base.is_none() {
        return Err(format!(
            "`{}` has no key: set `{}`, or the variable {OPENAI_KEY}",
            written_in.block(),
            written_in.key()
        ));
    }
    let model = embeddings.model.clone();
    let server = EmbeddingServer::new(ServerSettings {
        base: base.map_or_else(
            || EmbeddingsBackend::OPENAI_URL.to_owned(),
            |base| base.expose().to_owned(),
        ),
        key,
        model: model.unwrap_or_else(|| OPENAI_MODEL.to_owned()),
        dimensions: Some(embeddings.dimensions)
            .filter(|count| *count != Embeddings::UNSET_DIMENSIONS),
        batch: embeddings.batch_size,
    });
    match server {
        Ok(server) => Ok(Arc::new(server)),
        Err(error) => Err(format!("`{}`: {error}", written_in.block())),
    }
}
