//! The channel to the server. TDS wraps the TLS handshake in packets; ktx implements it, so that
//! all drivers verify certificates alike.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::prelogin::{self, Encryption, HEADER, PreloginReply, frame};
use crate::tls::{self, Tls, TlsTrust};

pub(super) enum ChannelError {
    Network(io::Error),
    Tls(String),
    NoTls,
    /// Required by the server, forbidden by the settings.
    TlsNeeded,
}

pub(super) struct LoginChannel {
    stream: ChannelStream,
    /// Answers the prelogin that the client on top sends again.
    replay: PreloginReplay,
}

enum ChannelStream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<PacketStream>>),
}

enum PreloginReplay {
    /// Bytes of the client's incomplete message.
    Swallowing {
        seen: Vec<u8>,
        answer: Vec<u8>,
    },
    /// Still sends the answer from `from`.
    Answering {
        answer: Vec<u8>,
        from: usize,
    },
    Done,
}

impl LoginChannel {
    pub(super) async fn open(
        mut tcp: TcpStream,
        host: &str,
        protection: &Tls,
    ) -> Result<Self, ChannelError> {
        let wanted = match protection {
            Tls::Off => Encryption::NotSupported,
            Tls::WhereOffered | Tls::Required(_) => Encryption::On,
        };
        let answer = prelogin::negotiate(&mut tcp, wanted)
            .await
            .map_err(ChannelError::Network)?;
        let is_offered = matches!(answer.encryption, Encryption::On | Encryption::Required);
        let trust = match (protection, is_offered) {
            (Tls::Off, true) => return Err(ChannelError::TlsNeeded),
            (Tls::Off | Tls::WhereOffered, false) => return Ok(Self::plain(tcp, answer)),
            (Tls::Required(_), false) => return Err(ChannelError::NoTls),
            // On this machine there is no network to intercept.
            (Tls::WhereOffered, true) => &TlsTrust::Anything,
            (Tls::Required(trust), true) => trust,
        };
        let config = tls::client_config(trust).map_err(|error| ChannelError::Tls(error.message))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| ChannelError::Tls(format!("`{host}` is not a valid certificate name")))?;
        let connector = TlsConnector::from(std::sync::Arc::new(config));
        let mut stream = connector
            .connect(name, PacketStream::new(tcp))
            .await
            .map_err(|error| match tls::cause(&error) {
                Some(inner) => ChannelError::Tls(inner.to_string()),
                None => ChannelError::Network(error),
            })?;
        stream.get_mut().0.stop_wrapping();
        Ok(Self {
            stream: ChannelStream::Encrypted(Box::new(stream)),
            replay: PreloginReplay::new(answer),
        })
    }

    fn plain(tcp: TcpStream, answer: PreloginReply) -> Self {
        Self {
            stream: ChannelStream::Plain(tcp),
            replay: PreloginReplay::new(answer),
        }
    }
}

impl PreloginReplay {
    fn new(answer: PreloginReply) -> Self {
        Self::Swallowing {
            seen: Vec::new(),
            answer: answer.raw,
        }
    }

    fn swallow(&mut self, bytes: &[u8]) -> usize {
        let Self::Swallowing { seen, answer } = self else {
            return 0;
        };
        seen.extend_from_slice(bytes);
        let length = match seen.get(2..4) {
            Some([high, low]) => usize::from(u16::from_be_bytes([*high, *low])).max(HEADER),
            _ => return bytes.len(),
        };
        if seen.len() < length {
            return bytes.len();
        }
        let over = seen.len() - length;
        *self = Self::Answering {
            answer: std::mem::take(answer),
            from: 0,
        };
        bytes.len() - over
    }

    fn write_reply(&mut self, buffer: &mut ReadBuf<'_>) {
        let Self::Answering { answer, from } = self else {
            return;
        };
        let rest = answer.get(*from..).unwrap_or_default();
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(rest.get(..count).unwrap_or_default());
        *from += count;
        if *from >= answer.len() {
            *self = Self::Done;
        }
    }
}

impl AsyncRead for LoginChannel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if matches!(self.replay, PreloginReplay::Answering { .. }) {
            self.replay.write_reply(buffer);
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            ChannelStream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            ChannelStream::Encrypted(stream) => {
                Pin::new(stream.as_mut()).poll_read(context, buffer)
            }
        }
    }
}

impl AsyncWrite for LoginChannel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if matches!(self.replay, PreloginReplay::Swallowing { .. }) {
            return Poll::Ready(Ok(self.replay.swallow(bytes)));
        }
        match &mut self.stream {
            ChannelStream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            ChannelStream::Encrypted(stream) => {
                Pin::new(stream.as_mut()).poll_write(context, bytes)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            ChannelStream::Plain(stream) => Pin::new(stream).poll_flush(context),
            ChannelStream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            ChannelStream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            ChannelStream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}

struct PacketStream {
    tcp: TcpStream,
    is_wrapping: bool,
    pending: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    header: Vec<u8>,
    body: usize,
}

impl PacketStream {
    fn new(tcp: TcpStream) -> Self {
        Self {
            tcp,
            is_wrapping: true,
            pending: Vec::new(),
            out: Vec::new(),
            sent: 0,
            header: Vec::new(),
            body: 0,
        }
    }

    fn stop_wrapping(&mut self) {
        self.is_wrapping = false;
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            frame(&mut self.out, &pending);
        }
        while self.sent < self.out.len() {
            let rest = self.out.get(self.sent..).unwrap_or_default();
            let count = ready!(Pin::new(&mut self.tcp).poll_write(context, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
        }
        self.out.clear();
        self.sent = 0;
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_header(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.header.len() < HEADER {
            let mut bytes = [0; HEADER];
            let missing = HEADER - self.header.len();
            let mut buffer = ReadBuf::new(bytes.get_mut(..missing).unwrap_or_default());
            ready!(Pin::new(&mut self.tcp).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.header.extend_from_slice(buffer.filled());
        }
        if let [_, _, high, low, ..] = self.header.as_slice() {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            self.body = length.saturating_sub(HEADER);
        }
        self.header.clear();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for PacketStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_wrapping {
            return Pin::new(&mut self.tcp).poll_read(context, buffer);
        }
        ready!(self.poll_send(context))?;
        while self.body == 0 {
            ready!(self.poll_header(context))?;
        }
        let wanted = self.body.min(buffer.remaining());
        let mut bytes = vec![0; wanted];
        let mut part = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.tcp).poll_read(context, &mut part))?;
        let filled = part.filled();
        self.body -= filled.len();
        buffer.put_slice(filled);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PacketStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_wrapping {
            ready!(self.poll_send(context))?;
            return Pin::new(&mut self.tcp).poll_write(context, bytes);
        }
        self.pending.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_send(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
