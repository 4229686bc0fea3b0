//! File names.

use super::SourceFile;

#[test]
fn safe_names_are_file_names() {
    for name in ["orders", "a1_b", "0", "com10", "console"] {
        assert_eq!(SourceFile::name_for(name), format!("{name}.yaml"));
    }
}

#[test]
fn other_names_get_a_readable_form_and_a_hash() {
    let shape = |name: &str| -> (String, usize) {
        let file = SourceFile::name_for(name);
        let (slug, rest) = file.rsplit_once('-').expect("a hash");
        (slug.to_owned(), rest.len())
    };
    for (name, slug) in [
        ("Orders", "orders"),
        ("sales.orders", "sales_orders"),
        ("con", "con"),
        ("com1", "com1"),
        ("_x", "x"),
        ("é", "src"),
    ] {
        assert_eq!(
            shape(name),
            (slug.to_owned(), "01234567.yaml".len()),
            "{name}"
        );
    }
    assert_ne!(
        SourceFile::name_for("Orders"),
        SourceFile::name_for("ORDERS")
    );
}
