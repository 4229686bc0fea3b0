//! PostgreSQL over a Unix socket.

use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use super::server::{Postgres, Server as _};
use crate::support::{project, run, write};

fn pass(mut from: impl std::io::Read, mut to: impl std::io::Write, end: impl FnOnce()) {
    std::io::copy(&mut from, &mut to).unwrap_or_default();
    to.flush().unwrap_or_default();
    end();
}

fn serve(client: UnixStream, port: u16) {
    let server = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    let (ours, theirs) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let answers = std::thread::spawn(move || {
        let done = ours.try_clone().unwrap();
        pass(theirs, ours, || {
            done.shutdown(Shutdown::Both).unwrap_or_default();
        });
    });
    let done = server.try_clone().unwrap();
    pass(client, server, || {
        done.shutdown(Shutdown::Both).unwrap_or_default();
    });
    answers.join().unwrap();
}

#[test]
fn postgres_is_reached_over_a_socket() {
    let Some(server) = Postgres::new("ktx_it_socket") else {
        return;
    };
    let mut sandbox = project();
    let port = server.port();
    let listener = UnixListener::bind(sandbox.work().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            std::thread::spawn(move || serve(client.unwrap(), port));
        }
    });
    let login = server.login();
    sandbox.set("KTX_IT_PASSWORD", login.password.clone());
    let folder = sandbox.work().display().to_string();
    let user = &login.user;
    for place in [
        format!(
            "    host: {folder}\n    database: ktx_it_socket\n    username: {user}\n    password: env:KTX_IT_PASSWORD\n"
        ),
        format!(
            "    url: postgres:///ktx_it_socket?host={folder}&user={user}\n    password: env:KTX_IT_PASSWORD\n"
        ),
        format!(
            "    url: postgres://{user}@{}/ktx_it_socket\n    password: env:KTX_IT_PASSWORD\n",
            folder.replace('/', "%2F")
        ),
    ] {
        let config = format!("connections:\n  warehouse:\n    driver: postgres\n{place}");
        write(&sandbox, "ktx.yaml", &config);
        let printed = run(&sandbox, "sql 'select current_database() as name'");
        assert_eq!(printed.code, Some(0), "{place}{printed}");
        assert_eq!(printed.stdout, "name\nktx_it_socket\n", "{place}");
    }
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse:\n    driver: postgres\n    host: /nowhere\n    username: u\n",
    );
    let printed = run(&sandbox, "sql 'select 1'");
    assert_eq!(printed.code, Some(4), "{printed}");
    assert!(
        printed.stderr.contains("no PostgreSQL at /nowhere"),
        "{printed}"
    );
}
