//! The sample warehouse of an online coffee shop, from a fixed seed.
//!
//! Its traps: several facts per dimension, refunds, test accounts, tax in `orders.net_amount`,
//! undeclared keys, a second system with similar names, and two time zones.

use std::path::Path;

use rusqlite::{Connection, Transaction, params};

use super::random::Random;

const SEED: u64 = 20_250_601;
const CUSTOMERS: i64 = 6_000;
const ORDERS: i64 = 24_000;
const PRODUCTS: i64 = 240;
const TICKETS: i64 = 5_000;
const SESSIONS: i64 = 30_000;
const CRM_ACCOUNTS: i64 = 1_500;
const CRM_DEALS: i64 = 4_000;

const REGIONS: [(&str, &str); 8] = [
    ("North", "USD"),
    ("South", "USD"),
    ("East", "USD"),
    ("West", "USD"),
    ("Iberia", "EUR"),
    ("Nordics", "EUR"),
    ("Benelux", "EUR"),
    ("Islands", "GBP"),
];
const CATEGORIES: [&str; 12] = [
    "Espresso",
    "Filter",
    "Decaf",
    "Single origin",
    "Capsules",
    "Grinders",
    "Kettles",
    "Brewers",
    "Cups",
    "Cleaning",
    "Gifts",
    "Subscriptions",
];
const FIRST: [&str; 12] = [
    "Ada", "Ben", "Cleo", "Dag", "Eve", "Finn", "Gia", "Hugo", "Iris", "Jon", "Kaia", "Leo",
];
const LAST: [&str; 10] = [
    "Abel", "Brandt", "Costa", "Dahl", "Engel", "Fuchs", "Garcia", "Holm", "Ito", "Jansen",
];

/// Creates a new file and returns its row count.
pub(crate) fn create(path: &Path) -> rusqlite::Result<i64> {
    let mut database = Connection::open(path)?;
    // Rebuilt after a failure, so it needs no journal.
    database.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let transaction = database.transaction()?;
    // Orders follow their items; keys are checked at the end.
    transaction.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    let mut random = Random::new(SEED);
    dimensions(&transaction, &mut random)?;
    shop(&transaction, &mut random)?;
    service(&transaction, &mut random)?;
    crm(&transaction, &mut random)?;
    let mut rows = 0;
    for table in tables(&transaction)? {
        let quoted = table.replace('"', "\"\"");
        rows +=
            transaction.query_row(&format!("SELECT count(*) FROM \"{quoted}\""), [], |row| {
                row.get::<_, i64>(0)
            })?;
    }
    transaction.commit()?;
    Ok(rows)
}

fn tables(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        transaction.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

fn dimensions(transaction: &Transaction<'_>, random: &mut Random) -> rusqlite::Result<()> {
    for (id, (name, currency)) in (1_i64..).zip(REGIONS) {
        transaction.execute(
            "INSERT INTO regions VALUES (?1, ?2, ?3)",
            params![id, name, currency],
        )?;
    }
    for (id, name) in (1_i64..).zip(CATEGORIES) {
        transaction.execute(
            "INSERT INTO product_categories VALUES (?1, ?2)",
            params![id, name],
        )?;
    }
    let mut insert = transaction.prepare("INSERT INTO products VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for id in 1..=PRODUCTS {
        let category = random.between(1, 12);
        let price = random.between(6, 180) * 50;
        insert.execute(params![
            id,
            format!("SKU-{id:05}"),
            format!("Product {id}"),
            category,
            price
        ])?;
    }
    let mut insert =
        transaction.prepare("INSERT INTO customers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for number in 1..=CUSTOMERS {
        let id = customer(number);
        let name = format!("{} {}", random.pick(&FIRST), random.pick(&LAST));
        // The last region has customers but no sales; answers must include it.
        let region = if random.chance(2) {
            8
        } else {
            random.between(1, 7)
        };
        let segment = random.pick(&["consumer", "consumer", "consumer", "cafe", "office"]);
        let is_test = number % 40 == 0;
        let email = if is_test {
            format!("qa{id}@shop.test")
        } else {
            format!("c{id}@mail.example")
        };
        insert.execute(params![
            id,
            email,
            name,
            region,
            segment,
            is_test,
            moment(random, 2023, 2024)
        ])?;
    }
    Ok(())
}

/// Ids have gaps, as in a migrated shop.
const fn customer(number: i64) -> i64 {
    40_000 + number * 13
}

fn moment(random: &mut Random, first: i64, last: i64) -> String {
    let (year, month) = (random.between(first, last), random.between(1, 12));
    let (day, hour) = (random.between(1, 28), random.between(0, 23));
    let (minute, second) = (random.between(0, 59), random.between(0, 59));
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

fn shop(transaction: &Transaction<'_>, random: &mut Random) -> rusqlite::Result<()> {
    let mut order =
        transaction.prepare("INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    let mut item = transaction.prepare("INSERT INTO order_items VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    let mut payment = transaction.prepare("INSERT INTO payments VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    let mut refund = transaction.prepare("INSERT INTO refunds VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    let mut shipment =
        transaction.prepare("INSERT INTO shipments VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    let mut region =
        transaction.prepare("SELECT region_id, is_test FROM customers WHERE id = ?1")?;
    for id in 1..=ORDERS {
        let (customer, is_test) = buyer(&mut region, random)?;
        let placed = moment(random, 2024, 2025);
        let status = random.pick(&[
            "completed",
            "completed",
            "completed",
            "completed",
            "cancelled",
        ]);
        let mut goods = 0;
        for _ in 0..random.between(1, 4) {
            let product = random.between(1, PRODUCTS);
            let (quantity, price) = (random.between(1, 5), random.between(6, 180) * 50);
            // Test orders are absurdly large.
            let quantity = if is_test { quantity * 40 } else { quantity };
            goods += quantity * price;
            item.execute(params![id, product, quantity, price])?;
        }
        let tax = goods / 5;
        let channel = random.pick(&["web", "web", "app", "phone"]);
        order.execute(params![
            id,
            customer,
            status,
            channel,
            placed,
            goods + tax,
            tax
        ])?;
        if status == "cancelled" {
            continue;
        }
        let parts = if random.chance(15) { 2 } else { 1 };
        for part in 0..parts {
            let amount = if part == 0 {
                (goods + tax) / parts
            } else {
                (goods + tax) - (goods + tax) / parts
            };
            let method = random.pick(&["card", "card", "invoice", "wallet"]);
            payment.execute(params![id, method, amount, new_york(&placed)])?;
        }
        if random.chance(10) {
            for _ in 0..random.between(1, 2) {
                let reason = random.pick(&["damaged", "late", "changed mind"]);
                refund.execute(params![id, reason, goods / 3, moment(random, 2025, 2025)])?;
            }
        }
        if random.chance(92) {
            let carrier = random.pick(&["Albatros", "Bison", "Condor"]);
            shipment.execute(params![id, carrier, placed, random.between(200, 9_000)])?;
        }
    }
    Ok(())
}

/// Never in the last region.
fn buyer(
    statement: &mut rusqlite::Statement<'_>,
    random: &mut Random,
) -> rusqlite::Result<(i64, bool)> {
    loop {
        let customer = customer(random.between(1, CUSTOMERS));
        let (region, is_test): (i64, bool) =
            statement.query_row([customer], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if region != 8 {
            return Ok((customer, is_test));
        }
    }
}

/// The payment provider uses New York time: UTC−5, without summer time.
fn new_york(utc: &str) -> String {
    let hour: i64 = utc
        .get(11..13)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let day: i64 = utc
        .get(8..10)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let (day, hour) = if hour >= 5 {
        (day, hour - 5)
    } else {
        ((day - 1).max(1), hour + 19)
    };
    let (month, rest) = (
        utc.get(..8).unwrap_or_default(),
        utc.get(13..).unwrap_or_default(),
    );
    format!("{month}{day:02} {hour:02}{rest}")
}

fn service(transaction: &Transaction<'_>, random: &mut Random) -> rusqlite::Result<()> {
    let mut ticket =
        transaction.prepare("INSERT INTO support_tickets VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    for _ in 0..TICKETS {
        let account = (!random.chance(3)).then(|| customer(random.between(1, CUSTOMERS)));
        let topic = random.pick(&["delivery", "refund", "brewing", "billing"]);
        let answered = (!random.chance(8)).then(|| random.between(2, 900));
        ticket.execute(params![
            account,
            topic,
            moment(random, 2024, 2025),
            answered
        ])?;
    }
    let mut invocation =
        transaction.prepare("INSERT INTO web_sessions VALUES (NULL, ?1, ?2, ?3, ?4)")?;
    for _ in 0..SESSIONS {
        let visitor = (!random.chance(40)).then(|| customer(random.between(1, CUSTOMERS)));
        let source = random.pick(&["search", "mail", "direct", "social", "ads"]);
        invocation.execute(params![
            visitor,
            source,
            moment(random, 2024, 2025),
            random.between(1, 30)
        ])?;
    }
    Ok(())
}

fn crm(transaction: &Transaction<'_>, random: &mut Random) -> rusqlite::Result<()> {
    let mut account = transaction.prepare("INSERT INTO crm_accounts VALUES (?1, ?2, ?3)")?;
    for id in 1..=CRM_ACCOUNTS {
        let name = format!(
            "{} {}",
            random.pick(&LAST),
            random.pick(&["Ltd", "GmbH", "SA", "Inc"])
        );
        account.execute(params![format!("AC-{id:05}"), name, random.pick(&FIRST)])?;
    }
    let mut deal = transaction.prepare("INSERT INTO crm_orders VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for id in 1..=CRM_DEALS {
        let account = format!("AC-{:05}", random.between(1, CRM_ACCOUNTS));
        let stage = random.pick(&["won", "lost", "open"]);
        let closed = (stage != "open")
            .then(|| moment(random, 2024, 2025))
            .map(|text| text.chars().take(10).collect::<String>());
        deal.execute(params![
            id,
            account,
            stage,
            random.between(100, 90_000),
            closed
        ])?;
    }
    Ok(())
}
