//! Naming styles of generated databases.

use crate::databases::generator::{NamingStyle, Values};

fn camel(text: &str) -> String {
    let mut words = text.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &capital(word))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn pascal(text: &str) -> String {
    text.split('_').map(capital).collect()
}

fn with_role(role: Option<&str>, rest: &str) -> String {
    role.map_or_else(|| rest.to_owned(), |role| format!("{role}_{rest}"))
}

/// Initials and one more letter.
fn prefix(singular: &str) -> String {
    let words: Vec<&str> = singular.split('_').collect();
    match words.as_slice() {
        [word] => word.chars().take(2).collect(),
        words => words
            .iter()
            .filter_map(|word| word.chars().next())
            .collect(),
    }
}

fn meaningless(text: &str) -> u64 {
    text.bytes()
        .fold(7, |number, byte| (number * 31 + u64::from(byte)) % 9973)
}

pub const PLAIN: NamingStyle = NamingStyle {
    label: "customer_id -> customers.id",
    language: 0,
    tables: |_, many| many.to_owned(),
    key: |_| "id".to_owned(),
    reference: |role, one| with_role(role, &format!("{one}_id")),
    column: |_, name| name.to_owned(),
    values: Values::Numbers,
    orphans: 0,
    size: 70,
    layers: &[],
};

fn role_after(role: Option<&str>, one: &str) -> String {
    role.map_or_else(|| one.to_owned(), |role| format!("{one}_{role}"))
}

fn pascal_but(name: &str) -> String {
    if name.ends_with("ID") {
        name.to_owned()
    } else {
        pascal(name)
    }
}

fn cut(name: &str) -> String {
    let words: Vec<String> = name
        .split('_')
        .map(|word| word.chars().take(4).collect())
        .collect();
    words.join("_")
}

pub fn styles() -> Vec<NamingStyle> {
    [endings(), words_and_values(), dirt_and_layers()].concat()
}

pub fn endings() -> Vec<NamingStyle> {
    vec![
        PLAIN,
        NamingStyle {
            label: "customer_id -> customer.customer_id",
            tables: |one, _| one.to_owned(),
            key: |one| format!("{one}_id"),
            ..PLAIN
        },
        NamingStyle {
            label: "customerId -> Customer.id",
            tables: |one, _| pascal(one),
            reference: |role, one| camel(&with_role(role, &format!("{one}_id"))),
            column: |_, name| camel(name),
            ..PLAIN
        },
        NamingStyle {
            label: "fk_cust -> customers.id",
            language: 0,
            reference: |role, one| with_role(Some("fk"), &with_role(role, &cut(one))),
            ..PLAIN
        },
        NamingStyle {
            label: "custNo -> cust.custNo",
            language: 5,
            tables: |one, _| one.to_owned(),
            key: |one| format!("{one}No"),
            reference: |role, one| camel(&with_role(role, &format!("{one}No"))),
            column: |_, name| camel(name),
            ..PLAIN
        },
        NamingStyle {
            label: "cu_citykey -> city.ci_citykey",
            tables: |one, _| one.to_owned(),
            key: |one| format!("{}key", one.replace('_', "")),
            reference: |role, one| with_role(role, &format!("{}key", one.replace('_', ""))),
            column: |one, name| format!("{}_{name}", prefix(one)),
            ..PLAIN
        },
        NamingStyle {
            label: "idCliente (es)",
            language: 1,
            key: |one| camel(&format!("id_{one}")),
            reference: |role, one| camel(&format!("id_{}", role_after(role, one))),
            ..PLAIN
        },
        NamingStyle {
            label: "kunde_nr (de)",
            language: 2,
            key: |_| "nr".to_owned(),
            reference: |role, one| with_role(role, &format!("{one}_nr")),
            ..PLAIN
        },
        NamingStyle {
            label: "KundeID (de)",
            language: 2,
            tables: |one, _| pascal(one),
            key: |one| format!("{}ID", pascal(one)),
            reference: |role, one| format!("{}ID", pascal(&with_role(role, one))),
            column: |_, name| pascal_but(name),
            ..PLAIN
        },
    ]
}

pub fn words_and_values() -> Vec<NamingStyle> {
    vec![
        NamingStyle {
            label: "client_id (fr)",
            language: 3,
            ..PLAIN
        },
        NamingStyle {
            label: "cod_cliente (pt)",
            language: 4,
            key: |one| format!("cod_{one}"),
            reference: |role, one| format!("cod_{}", role_after(role, one)),
            ..PLAIN
        },
        NamingStyle {
            label: "customerid, glued",
            tables: |one, _| one.replace('_', ""),
            key: |one| format!("{}id", one.replace('_', "")),
            reference: |role, one| {
                with_role(role, &format!("{}id", one.replace('_', ""))).replace('_', "")
            },
            ..PLAIN
        },
        NamingStyle {
            label: "customer -> customers.id, no ending",
            reference: |role, one| with_role(role, one),
            ..PLAIN
        },
        NamingStyle {
            label: "crm_customers, tbl prefix",
            tables: |one, _| format!("tbl_{one}"),
            ..PLAIN
        },
        NamingStyle {
            label: "codes as keys",
            values: Values::Codes,
            reference: |role, one| with_role(role, &format!("{one}_code")),
            key: |_| "code".to_owned(),
            ..PLAIN
        },
        NamingStyle {
            label: "uuids, no ending",
            values: Values::Uuids,
            reference: |role, one| with_role(role, one),
            ..PLAIN
        },
        NamingStyle {
            label: "c17 -> t3.c4, offsets",
            values: Values::Offsets,
            tables: |one, _| format!("t{}", meaningless(one)),
            column: |one, name| format!("c{}", meaningless(&format!("{one}.{name}"))),
            ..PLAIN
        },
        NamingStyle {
            label: "c17 -> t3.c4, uuids",
            values: Values::Uuids,
            tables: |one, _| format!("t{}", meaningless(one)),
            column: |one, name| format!("c{}", meaningless(&format!("{one}.{name}"))),
            ..PLAIN
        },
        NamingStyle {
            label: "5 % orphans",
            orphans: 5,
            ..PLAIN
        },
    ]
}

pub fn dirt_and_layers() -> Vec<NamingStyle> {
    vec![
        NamingStyle {
            label: "10 % orphans, custNo",
            orphans: 10,
            language: 5,
            tables: |one, _| one.to_owned(),
            key: |one| format!("{one}No"),
            reference: |role, one| camel(&with_role(role, &format!("{one}No"))),
            column: |_, name| camel(name),
            ..PLAIN
        },
        NamingStyle {
            label: "10 % orphans, codes",
            orphans: 9,
            values: Values::Codes,
            ..PLAIN
        },
        NamingStyle {
            label: "CUST_ID, upper case, cut short",
            language: 5,
            tables: |one, _| format!("T_{}", one.to_uppercase()),
            key: |one| format!("{}_ID", one.to_uppercase()),
            reference: |role, one| with_role(role, &format!("{one}_id")).to_uppercase(),
            column: |_, name| name.to_uppercase(),
            ..PLAIN
        },
        NamingStyle {
            label: "numbers kept as text",
            values: Values::TextNumbers,
            ..PLAIN
        },
        NamingStyle {
            label: "few rows",
            size: 12,
            ..PLAIN
        },
        NamingStyle {
            label: "many rows",
            size: 250,
            ..PLAIN
        },
        NamingStyle {
            label: "few rows, cod_cliente",
            size: 15,
            language: 4,
            key: |one| format!("cod_{one}"),
            reference: |role, one| format!("cod_{}", role_after(role, one)),
            ..PLAIN
        },
        NamingStyle {
            label: "three applications",
            layers: &["crm_", "erp_", "hr2_"],
            ..PLAIN
        },
        NamingStyle {
            label: "layers raw_ stg_",
            layers: &["raw_", "stg_"],
            ..PLAIN
        },
        NamingStyle {
            label: "layers raw_ dim_, uuids",
            layers: &["raw_", "dim_"],
            values: Values::Uuids,
            key: |one| format!("{one}_id"),
            ..PLAIN
        },
    ]
}
