//! Parses request paths.

use http::Method;
use ktx_session_log::SessionId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Sessions,
    Session(SessionId),
    Messages(SessionId),
    Events(SessionId),
    Interrupt(SessionId),
    Fork(SessionId),
    Decision(SessionId, String),
    Approvals,
    Agents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoRoute {
    Unknown,
    Id(String),
}

impl Route {
    pub(crate) fn parse(path: &str) -> Result<Self, NoRoute> {
        let rest = path.strip_prefix("/v1/").ok_or(NoRoute::Unknown)?;
        let parts: Vec<&str> = rest.split('/').collect();
        let id =
            |text: &str| SessionId::parse(text).map_err(|error| NoRoute::Id(error.to_string()));
        match parts.as_slice() {
            ["sessions"] => Ok(Self::Sessions),
            ["sessions", session] => Ok(Self::Session(id(session)?)),
            ["sessions", session, "messages"] => Ok(Self::Messages(id(session)?)),
            ["sessions", session, "events"] => Ok(Self::Events(id(session)?)),
            ["sessions", session, "interrupt"] => Ok(Self::Interrupt(id(session)?)),
            ["sessions", session, "fork"] => Ok(Self::Fork(id(session)?)),
            ["sessions", session, "approvals", call] => {
                Ok(Self::Decision(id(session)?, (*call).to_owned()))
            }
            ["approvals"] => Ok(Self::Approvals),
            ["agents"] => Ok(Self::Agents),
            _ => Err(NoRoute::Unknown),
        }
    }

    pub(crate) const fn methods(&self) -> &'static [Method] {
        match self {
            Self::Sessions => &[Method::GET, Method::POST],
            Self::Session(_) => &[Method::GET, Method::DELETE],
            Self::Messages(_) | Self::Interrupt(_) | Self::Fork(_) | Self::Decision(..) => {
                &[Method::POST]
            }
            Self::Events(_) | Self::Approvals | Self::Agents => &[Method::GET],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No id leaves its folder.
    #[test]
    fn paths_have_one_meaning() {
        let one = SessionId::parse("one").unwrap();
        for (path, place) in [
            ("/v1/sessions", Ok(Route::Sessions)),
            ("/v1/sessions/one", Ok(Route::Session(one.clone()))),
            (
                "/v1/sessions/one/approvals/call-1",
                Ok(Route::Decision(one, "call-1".to_owned())),
            ),
            ("/v1/approvals", Ok(Route::Approvals)),
            ("/v1/sessions/one/other", Err(NoRoute::Unknown)),
            ("/v1/sessions/", Err(NoRoute::Id("`` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-`".to_owned()))),
            ("/v1/sessions/../../etc", Err(NoRoute::Unknown)),
            ("/v1/sessions/..%2f/events", Err(NoRoute::Id("`..%2f` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-`".to_owned()))),
            ("/v2/sessions", Err(NoRoute::Unknown)),
        ] {
            assert_eq!(Route::parse(path), place, "{path}");
        }
    }
}
