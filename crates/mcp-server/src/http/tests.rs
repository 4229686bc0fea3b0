//! Socket options of an accepted connection.

use tokio::net::{TcpListener, TcpStream};

use super::without_delay;

#[tokio::test]
async fn no_part_of_an_answer_is_held_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let client = TcpStream::connect(address);
    let (client, accepted) = tokio::join!(client, listener.accept());
    let (accepted, _) = accepted.expect("a connection");
    assert!(!accepted.nodelay().expect("it is open"));
    assert!(without_delay(accepted).nodelay().expect("it is open"));
    drop(client);
}
