//! Proxies that break or stall.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Forwards to a loopback port.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
}

impl Proxy {
    /// Cuts after this many server bytes.
    pub(crate) fn cutting(server: u16, bytes: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
                pass_on(client, server, bytes);
            }
        });
        Self { port }
    }

    /// After `mark`, accepts all bytes but sends none.
    pub(crate) fn silencing(server: u16, mark: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let silent = Arc::new(AtomicBool::new(false));
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
                let (from_client, to_client) = (client.try_clone().expect("a copy"), client);
                let (from_server, to_server) = (server.try_clone().expect("a copy"), server);
                let (ours, theirs) = (Arc::clone(&silent), Arc::clone(&silent));
                std::thread::spawn(move || {
                    copy_while(&from_client, to_server, |bytes| {
                        if String::from_utf8_lossy(bytes).contains(mark) {
                            ours.store(true, Ordering::SeqCst);
                        }
                        !ours.load(Ordering::SeqCst)
                    });
                });
                std::thread::spawn(move || {
                    copy_while(&from_server, to_client, |_| !theirs.load(Ordering::SeqCst));
                });
            }
        });
        Self { port }
    }

    /// Holds the first connection's bytes after `mark` until the server has closed another
    /// connection. Notifies the receiver.
    pub(crate) fn holding(server: u16, mark: &'static str) -> (Self, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (held, is_held) = channel();
        std::thread::spawn(move || {
            let connect = || TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
            let mut clients = listener.incoming().map_while(Result::ok);
            let (Some(client), mut to_server) = (clients.next(), connect()) else {
                return;
            };
            let from_server = to_server.try_clone().expect("a copy");
            let to_client = client.try_clone().expect("a copy");
            std::thread::spawn(move || copy(&from_server, to_client, u64::MAX));
            let (passed, has_passed) = channel();
            std::thread::spawn(move || {
                copy_until(&client, &mut to_server, mark);
                let next = read_some(&client);
                hold(&held, &has_passed);
                to_server.write_all(&next).expect("the server listens");
                copy(&client, to_server, u64::MAX);
            });
            for client in clients {
                let server = connect();
                let (from_client, to_server) = (client.try_clone(), server.try_clone());
                let (from_client, to_server) =
                    (from_client.expect("a copy"), to_server.expect("a copy"));
                std::thread::spawn(move || copy(&from_client, to_server, u64::MAX));
                copy(&server, client, u64::MAX);
                let _late = passed.send(());
            }
        });
        (Self { port }, is_held)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

fn hold(held: &Sender<()>, has_passed: &Receiver<()>) {
    held.send(()).expect("the test waits");
    has_passed.recv().expect("another connection comes");
}

fn copy_until(from: &TcpStream, to: &mut TcpStream, mark: &str) {
    loop {
        let some = read_some(from);
        to.write_all(&some).expect("the server listens");
        if String::from_utf8_lossy(&some).contains(mark) {
            return;
        }
    }
}

/// Forwards what `passes` accepts; closes both ends together.
fn copy_while(mut from: &TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..count];
        if passes(bytes) && to.write_all(bytes).is_err() {
            break;
        }
    }
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn read_some(mut from: &TcpStream) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let count = from.read(&mut buffer).expect("the client sends");
    buffer.truncate(count);
    buffer
}

fn pass_on(client: TcpStream, server: TcpStream, bytes: u64) {
    let (from_client, to_client) = (client.try_clone().expect("a copy"), client);
    let (from_server, to_server) = (server.try_clone().expect("a copy"), server);
    std::thread::spawn(move || copy(&from_client, to_server, u64::MAX));
    std::thread::spawn(move || copy(&from_server, to_client, bytes));
}

/// Closes both ends at the end or after `bytes`.
fn copy(from: &TcpStream, mut to: TcpStream, bytes: u64) {
    let mut left = from.try_clone().expect("a copy").take(bytes);
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = left.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
