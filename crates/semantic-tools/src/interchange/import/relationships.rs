//! Imports relationships as joins.

use super::super::Fate;
use super::super::extension::RelationshipRest;
use super::super::read::Node;
use super::model::{Building, declare};
use ktx_semantic_layer::authored::{Found, Join, Relationship};

const RELATIONSHIP: [&str; 7] = [
    "name",
    "from",
    "to",
    "from_columns",
    "to_columns",
    "ai_context",
    "custom_extensions",
];

impl Building<'_> {
    pub(super) fn relationships(&mut self, model: &Node<'_>) {
        for node in model.nodes("relationships", &RELATIONSHIP, self.losses) {
            self.foreign_extensions(&node);
            if node.value("ai_context").is_some() {
                self.losses.add(
                    node.place("ai_context"),
                    "ai_context",
                    Fate::Dropped,
                    "joins have no texts",
                );
            }
            if let Err(reason) = self.relationship(&node) {
                self.losses
                    .add(node.path, "relationship", Fate::Dropped, reason);
            }
        }
    }

    fn relationship(&mut self, node: &Node<'_>) -> Result<(), String> {
        let mut text = |key| node.text(key, self.losses);
        let (Some(from), Some(to)) = (text("from"), text("to")) else {
            return Err("a relationship needs `from` and `to`".to_owned());
        };
        let name = text("name").unwrap_or_default();
        let own = node.texts("from_columns", self.losses);
        let other = node.texts("to_columns", self.losses);
        if own.is_empty() || own.len() != other.len() {
            return Err("`from_columns` and `to_columns` must have the same length".to_owned());
        }
        if let Some(missing) = [&from, &to]
            .into_iter()
            .find(|name| !self.sources.contains_key(*name))
        {
            return Err(format!("there is no dataset `{missing}`"));
        }
        for (dataset, columns) in [(&from, &own), (&to, &other)] {
            if let Some(source) = self.sources.get_mut(dataset) {
                for column in columns {
                    if declare(&mut source.columns, column) {
                        self.losses.add(
                            &node.path,
                            "hidden_column",
                            Fate::Rewritten,
                            format!("`{dataset}.{column}` is read by a relationship and added as a hidden column"),
                        );
                    }
                }
            }
        }
        let rest = self
            .extension
            .as_mut()
            .and_then(|extension| extension.relationships.remove(&name))
            .filter(|rest| rest.declared_by == from || rest.declared_by == to)
            .unwrap_or_else(|| RelationshipRest {
                declared_by: from.clone(),
                relationship: Relationship::ManyToOne,
                both_sides: false,
                alias: None,
            });
        if rest.both_sides {
            let other_side = RelationshipRest {
                declared_by: if rest.declared_by == from {
                    to.clone()
                } else {
                    from.clone()
                },
                relationship: rest.relationship.inverted(),
                both_sides: false,
                alias: None,
            };
            self.join(
                (from.as_str(), to.as_str()),
                (own.as_slice(), other.as_slice()),
                other_side,
            );
        }
        self.join(
            (from.as_str(), to.as_str()),
            (own.as_slice(), other.as_slice()),
            rest,
        );
        Ok(())
    }

    fn join(
        &mut self,
        (from, to): (&str, &str),
        (own, other): (&[String], &[String]),
        rest: RelationshipRest,
    ) {
        let is_read_from_the_other_side = match rest.relationship {
            Relationship::OneToMany => true,
            Relationship::ManyToOne => false,
            Relationship::OneToOne => rest.declared_by == to && from != to,
        };
        let (declaring, target, left, right) = if is_read_from_the_other_side {
            (to, from, other, own)
        } else {
            (from, to, own, other)
        };
        let dialect = self.into.dialect();
        let quoted = |name: &str| ktx_semantic_layer::sql::sql_text::identifier(dialect, name);
        let conditions: Vec<String> = left
            .iter()
            .zip(right)
            .map(|(left, right)| format!("{} = {}.{}", quoted(left), quoted(target), quoted(right)))
            .collect();
        let join = Join {
            to: target.to_owned(),
            on: conditions.join(" AND "),
            relationship: rest.relationship,
            alias: rest.alias,
            source: None,
            weight: None,
            found: Found::default(),
        };
        if let Some(source) = self.sources.get_mut(declaring) {
            source.joins.push(join);
        }
    }
}
