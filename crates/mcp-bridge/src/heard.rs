//! Keeps a value alive until an HTTP answer is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};

use crate::http::HttpAnswer;

struct HeardBody<G> {
    body: BoxBody<Bytes, Infallible>,
    _held: G,
}

/// Until the client has the whole answer, or has left.
pub fn until_heard(answer: HttpAnswer, held: impl Send + Sync + Unpin + 'static) -> HttpAnswer {
    answer.map(|body| HeardBody { body, _held: held }.boxed())
}

impl<G: Send + Sync + Unpin + 'static> Body for HeardBody<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
