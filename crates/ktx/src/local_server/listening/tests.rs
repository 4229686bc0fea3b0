//! Tests of shared sockets.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use super::{bind_socket, remove_socket};

fn begin(path: &Path, servers: usize) -> Vec<Result<(), String>> {
    let (start, end) = (Barrier::new(servers), Barrier::new(servers));
    let serve = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(|error| error.to_string())?;
        let _inside = runtime.enter();
        start.wait();
        let bound = bind_socket(path);
        end.wait();
        bound.map(drop).map_err(|failure| failure.message)
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..servers).map(|_| scope.spawn(serve)).collect();
        let ended = running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|_| Err("panicked".to_owned())));
        ended.collect()
    })
}

#[test]
fn of_servers_that_begin_at_once_one_listens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ktx.sock");
    for _ in 0..40 {
        drop(UnixListener::bind(&path).expect("a socket"));
        let ended = begin(&path, 8);
        let others: Vec<&String> = ended.iter().filter_map(|one| one.as_ref().err()).collect();
        assert_eq!(others.len(), 7, "{others:?}");
        let in_use = format!("another program listens on the socket `{}`", path.display());
        assert!(others.iter().all(|one| **one == in_use), "{others:?}");
        remove_socket(&path).expect("removed");
        assert!(!path.exists());
    }
}

#[test]
fn a_socket_in_use_is_not_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ktx.sock");
    let next = UnixListener::bind(&path).expect("a socket");
    remove_socket(&path).expect("removed");
    assert!(UnixStream::connect(&path).is_ok());
    drop(next);
    remove_socket(&path).expect("removed");
    assert!(!path.exists());
    remove_socket(&path).expect("removed");
}
