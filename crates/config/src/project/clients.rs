//! The clients of the server, and what each may use and read.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ktx_secrets::SecretRef;
use serde_json::Value;

use crate::defaults::EffectiveObject;
use crate::spec::CLIENT;

/// One entry of `clients`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Client {
    pub name: String,
    /// The token by which the server knows the client.
    pub token: Option<SecretRef>,
    /// The tool profile, as written; that of the server when absent.
    pub tools: Option<String>,
    /// The only tools that it is offered.
    pub allowed_tools: Option<Vec<String>>,
    /// Keys of pages that it does not see, with `*`.
    pub hidden_pages: Vec<String>,
    pub max_rows: Option<u64>,
    pub max_seconds: Option<u64>,
    pub max_bytes: Option<u64>,
    /// What it may read, by connection id.
    pub warehouses: BTreeMap<String, WarehouseRules>,
}

/// What a client may read of one warehouse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarehouseRules {
    /// The only tables that it sees; `None` for all.
    pub tables: Option<Vec<String>>,
    pub hidden_tables: Vec<String>,
    /// `table.column`.
    pub hidden_columns: Vec<String>,
    /// The condition of each table, in the order of the file.
    pub row_filters: IndexMap<String, String>,
    /// The expression of each column, in the order of the file.
    pub masked_columns: IndexMap<String, String>,
}

pub(super) fn read(value: &Value) -> Vec<Client> {
    let clients = value.get("clients").and_then(Value::as_object);
    let clients = clients.into_iter().flatten();
    clients.map(|(name, client)| one(name, client)).collect()
}

fn one(name: &str, value: &Value) -> Client {
    let client = EffectiveObject::new(value, CLIENT);
    let warehouses = client.map("warehouses").iter();
    let warehouses = warehouses.map(|(id, rules)| (id.clone(), rules_of(rules)));
    Client {
        name: name.to_owned(),
        token: client.text("token").map(|text| SecretRef::parse(&text)),
        tools: client.text("tools"),
        allowed_tools: client.texts("allowed_tools"),
        hidden_pages: client.texts("hidden_pages").unwrap_or_default(),
        max_rows: client.count("max_rows"),
        max_seconds: client.count("max_seconds"),
        max_bytes: client.count("max_bytes"),
        warehouses: warehouses.collect(),
    }
}

fn rules_of(value: &Value) -> WarehouseRules {
    let rules = EffectiveObject::new(value, &[]);
    let texts = |key: &str| {
        let map = rules.map(key).iter();
        map.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
            .collect()
    };
    WarehouseRules {
        tables: rules.texts("tables"),
        hidden_tables: rules.texts("hidden_tables").unwrap_or_default(),
        hidden_columns: rules.texts("hidden_columns").unwrap_or_default(),
        row_filters: texts("row_filters"),
        masked_columns: texts("masked_columns"),
    }
}
