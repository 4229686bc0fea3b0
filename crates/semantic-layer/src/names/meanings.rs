//! Finds columns by meaning: `title` for `name`, `placed_at` for `date`.

use std::cmp::Reverse;

/// A word can be in several groups.
const GROUPS: [&[&str]; 16] = [
    &["name", "title", "label", "caption", "subject", "headline"],
    &[
        "description",
        "summary",
        "details",
        "note",
        "comment",
        "text",
    ],
    &[
        "date",
        "day",
        "time",
        "timestamp",
        "at",
        "on",
        "when",
        "datetime",
    ],
    &[
        "created",
        "opened",
        "placed",
        "registered",
        "started",
        "added",
        "booked",
    ],
    &["closed", "ended", "finished", "completed", "resolved"],
    &["updated", "changed", "modified"],
    &[
        "amount", "total", "value", "sum", "price", "revenue", "sales",
    ],
    &["cost", "expense", "price", "fee"],
    &["quantity", "qty", "units", "pieces", "count", "number"],
    &["id", "key", "code", "number", "no", "nr"],
    &["type", "kind", "category", "class", "group", "segment"],
    &["status", "state", "stage", "phase"],
    &["customer", "client", "account", "buyer"],
    &["employee", "staff", "worker", "person", "user"],
    &["country", "nation", "region", "state", "area"],
    &["email", "mail"],
];

pub(super) fn alike<'a>(wanted: &str, columns: &[&'a str]) -> Vec<&'a str> {
    let wanted = words(wanted);
    let shared = |column: &str| {
        let words = words(column);
        let is_met = |one: &&String| words.iter().any(|other| mean_the_same(one, other));
        wanted.iter().filter(is_met).count()
    };
    let counted = columns.iter().map(|column| (shared(column), *column));
    let mut met: Vec<(usize, &str)> = counted.filter(|(shared, _)| *shared > 0).collect();
    met.sort_by_key(|(shared, _)| Reverse(*shared));
    met.into_iter().map(|(_, column)| column).collect()
}

fn mean_the_same(one: &str, other: &str) -> bool {
    let has_both = |group: &&[&str]| group.contains(&one) && group.contains(&other);
    one == other || GROUPS.iter().any(has_both)
}

/// Splits `full_name`, `fullName` and `full name`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let is_new = !letter.is_alphanumeric() || (was_lower && letter.is_uppercase());
        if is_new {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && letter.is_alphanumeric()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::alike;

    #[test]
    fn a_column_is_found_by_what_its_words_mean() {
        let columns = [
            "id",
            "sku",
            "title",
            "category_id",
            "listPriceCents",
            "placed_at",
        ];
        let asked = ["name", "price", "order_date", "product code", "weight", ""];
        let lines = asked.map(|wanted| format!("{wanted}: {:?}", alike(wanted, &columns)));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        name: ["title"]
        price: ["listPriceCents"]
        order_date: ["placed_at"]
        product code: ["id", "category_id"]
        weight: []
        : []
        "#);
    }
}
