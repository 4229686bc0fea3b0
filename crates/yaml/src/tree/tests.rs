//! Positions in a text.

use super::*;

fn outline(text: &str) -> Vec<String> {
    fn walk(text: &str, path: &str, node: &Node, lines: &mut Vec<String>) {
        let said = |range: &Range<usize>| text.get(range.clone()).unwrap_or("?").to_owned();
        match &node.content {
            Content::Scalar => lines.push(format!("{path} = {}", said(&node.range))),
            Content::Mapping { entries, .. } => {
                for entry in entries {
                    let name = entry.name.as_deref().unwrap_or("?");
                    let path = format!("{path}/{name}");
                    match &entry.value {
                        Some(value) => walk(text, &path, value, lines),
                        None => lines.push(format!("{path} nothing")),
                    }
                }
            }
            Content::Sequence { items, .. } => {
                for (at, item) in items.iter().enumerate() {
                    walk(text, &format!("{path}/{at}"), item, lines);
                }
            }
        }
    }
    let mut lines = Vec::new();
    if let Some(root) = tree(text) {
        walk(text, "", &root, &mut lines);
    }
    lines
}

#[test]
fn blocks_are_read_by_indentation() {
    let text = "\
# top
a:
  b: 1 # one
  'c d': \"x # y\"
list:
- 1
-
- k: v
  l:
  - m
  -   - n
      - o
e: two
  lines
f: |
  # text
  key: text

  more
g:
h: &x !t
  i: *x
? j
: k
http://x: y:z
last: a:b
";
    assert_eq!(
        outline(text),
        [
            "/a/b = 1",
            "/a/c d = \"x # y\"",
            "/list/0 = 1",
            "/list/1 = ",
            "/list/2/k = v",
            "/list/2/l/0 = m",
            "/list/2/l/1/0 = n",
            "/list/2/l/1/1 = o",
            "/e = two\n  lines",
            "/f = |\n  # text\n  key: text\n\n  more",
            "/g nothing",
            "/h/i = *x",
            "/j = k",
            "/http://x = y:z",
            "/last = a:b",
        ]
    );
}

#[test]
fn brackets_are_read_over_lines() {
    let text = "\
a: {b: 1, \"c\":2, d, e: , 'f': [x y, {g: h}, i: j]} # end
k: [ # list
  'it''s', \"a \\\" ]\",
  *l, !t m,
]
n: {o: http://x:1, p: q:r}
";
    assert_eq!(
        outline(text),
        [
            "/a/b = 1",
            "/a/c = 2",
            "/a/d nothing",
            "/a/e nothing",
            "/a/f/0 = x y",
            "/a/f/1/g = h",
            "/a/f/2/i = j",
            "/k/0 = 'it''s'",
            "/k/1 = \"a \\\" ]\"",
            "/k/2 = *l",
            "/k/3 = !t m",
            "/n/o = http://x:1",
            "/n/p = q:r",
        ]
    );
}

#[test]
fn only_the_first_document_is_read() {
    assert_eq!(outline("%YAML 1.2\n---\na: 1\n...\nb: 2\n"), ["/a = 1"]);
    assert_eq!(outline("--- {a: 1}\n---\nb: 2\n"), ["/a = 1"]);
    assert_eq!(outline("# c\n"), [""; 0]);
    assert_eq!(second_document("# c\n---\na: 1\n---\nb: 2\n"), Some(13));
    assert_eq!(second_document("a: 1\n...\n# c\nb: 2\n"), Some(13));
    assert_eq!(second_document("a: 1\n...\n"), None);
}

#[test]
fn windows_line_ends_are_not_part_of_a_value() {
    assert_eq!(
        outline("a: x\r\nb:\r\n  - 'y'\r\n  - z\r\n"),
        ["/a = x", "/b/0 = 'y'", "/b/1 = z"]
    );
}

#[test]
fn wrong_texts_end() {
    for text in [
        "a: [",
        "{",
        "a: {b: [}",
        "- - - a: 'x",
        "a: \"\\",
        "? ",
        ": x",
        "a: b: c",
        "&a &b",
        "[:]",
        "a:\n\t- b",
        "!",
        "*",
        "'",
        "a: |",
        "- |\n-",
        "{a: b}: c\n",
        "%\n%",
    ] {
        drop(tree(text));
        drop(tree(&text.repeat(50)));
    }
}
