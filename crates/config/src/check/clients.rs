//! Rules of `clients` that involve more than one key.

use std::collections::BTreeMap;

use ktx_diagnostics::{Code, Diagnostic, nearest};
use serde_json::{Map, Value};

use super::Checker;
use crate::spec::DEFAULT_CLIENT;

impl Checker<'_> {
    pub(super) fn clients(&mut self, root: &Map<String, Value>) {
        let clients = root.get("clients").and_then(Value::as_object);
        let connections = root.get("connections").and_then(Value::as_object);
        let ids = || connections.into_iter().flatten().map(|(id, _)| id.as_str());
        let mut tokens: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, client) in clients.into_iter().flatten() {
            let token = client.get("token").and_then(Value::as_str);
            let place: Vec<String> = ["clients", name].map(str::to_owned).to_vec();
            match token {
                None if name != DEFAULT_CLIENT => self.client_problem(
                    &place,
                    format!(
                        "the client `{name}` has no `token`, so no one can connect as this client"
                    ),
                    "add `token: env:NAME`, or call the client `default`",
                ),
                Some(_) if name == DEFAULT_CLIENT => self.client_problem(
                    &with(&place, "token"),
                    "the client `default` is everyone without a token of a client".to_owned(),
                    "remove the token, or give the client another name",
                ),
                Some(token) => {
                    if let Some(other) = tokens.insert(token, name) {
                        self.client_problem(
                            &with(&place, "token"),
                            format!("the clients `{other}` and `{name}` have the same token"),
                            "give each client its own token",
                        );
                    }
                }
                None => {}
            }
            let warehouses = client.get("warehouses").and_then(Value::as_object);
            for id in warehouses.into_iter().flatten().map(|(id, _)| id) {
                if !ids().any(|known| known == id) {
                    let mut place = with(&place, "warehouses");
                    place.push(id.clone());
                    let hint = match nearest(id, ids()).first() {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "name a connection of `connections`".to_owned(),
                    };
                    self.client_problem(&place, format!("there is no connection `{id}`"), &hint);
                }
            }
        }
    }

    fn client_problem(&mut self, path: &[String], message: String, hint: &str) {
        self.path = path.to_vec();
        let error = Diagnostic::error(Code::BadValue, message).hint(hint);
        let place = self.key_place();
        self.report(error.at(place));
        self.path.clear();
    }
}

fn with(path: &[String], key: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(key.to_owned());
    path
}
