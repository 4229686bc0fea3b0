//! Clients of the server and their permissions.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ktx_secrets::SecretRef;
use serde_json::Value;

use crate::defaults::EffectiveObject;
use crate::spec::CLIENT;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Client {
    pub name: String,
    pub token: Option<SecretRef>,
    /// The tool profile; `None` means the server's.
    pub tools: Option<String>,
    pub allowed_tools: Option<Vec<String>>,
    /// Keys of hidden pages; can contain `*`.
    pub hidden_pages: Vec<String>,
    pub max_rows: Option<u64>,
    pub max_seconds: Option<u64>,
    pub max_bytes: Option<u64>,
    pub warehouses: BTreeMap<String, WarehouseRules>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarehouseRules {
    /// Visible tables; `None` means all.
    pub tables: Option<Vec<String>>,
    pub hidden_tables: Vec<String>,
    pub hidden_columns: Vec<String>,
    /// Conditions by table, in file order.
    pub row_filters: IndexMap<String, String>,
    /// Expressions by column, in file order.
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
