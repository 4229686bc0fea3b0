//! Parses `llm.provider.<backend>.cache`.

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_vocabulary::{CacheTtl, Provider};
use serde_json::{Map, Value};

use super::MOST_MARKERS;

/// Cache settings of one provider (KODE-31).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CacheOverrides {
    /// 0 to 4 markers per request.
    pub breakpoints: Option<usize>,
    /// For parts and blocks without their own.
    pub default_ttl: Option<CacheTtl>,
    /// `beta.extendedCacheTtl`: allows an hour and sends the name of the beta.
    pub extended_ttl: Option<bool>,
    /// Added to every request, such as `prompt_cache_key`.
    pub request_params: Map<String, Value>,
}

impl CacheOverrides {
    pub fn parse(provider: Provider, written: &Map<String, Value>) -> Result<Self, LlmError> {
        let wrong = |key: &str, wanted: &str| {
            LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("`llm.provider.{provider}.cache.{key}` is not {wanted}"),
            )
            .hint("correct it in `ktx.yaml`")
        };
        let mut read = Self::default();
        for (key, value) in written {
            match (key.as_str(), value) {
                ("breakpoints", value) => {
                    let most = value.as_u64().and_then(|most| usize::try_from(most).ok());
                    let most = most.filter(|most| *most <= MOST_MARKERS);
                    read.breakpoints =
                        Some(most.ok_or_else(|| wrong(key, "a whole number from 0 to 4"))?);
                }
                ("defaultTtl" | "default_ttl", value) => {
                    let ttl = value.as_str().and_then(CacheTtl::parse);
                    read.default_ttl = Some(ttl.ok_or_else(|| wrong(key, "`5m` or `1h`"))?);
                }
                ("beta", Value::Object(beta)) => {
                    let extended = beta
                        .get("extendedCacheTtl")
                        .or_else(|| beta.get("extended_cache_ttl"));
                    if let Some(extended) = extended {
                        let flag = extended.as_bool();
                        read.extended_ttl =
                            Some(flag.ok_or_else(|| {
                                wrong("beta.extendedCacheTtl", "`true` or `false`")
                            })?);
                    }
                }
                ("requestParams" | "request_params", Value::Object(params)) => {
                    read.request_params.clone_from(params);
                }
                ("beta" | "requestParams" | "request_params", _) => {
                    return Err(wrong(key, "an object"));
                }
                (other, _) => {
                    return Err(wrong(
                        other,
                        "known: there are `breakpoints`, `defaultTtl`, `beta` and `requestParams`",
                    ));
                }
            }
        }
        Ok(read)
    }
}
