//! Which resources somebody wants: by label and by id.

use std::collections::BTreeMap;

use emhost_talos_api::cosi::{self, LabelTermOperation};
use regex::Regex;

use crate::wire::Status;

/// What a list or a watch is narrowed to.
#[derive(Default)]
pub(super) struct Query {
    /// One of them has to match, if there are any.
    labels: Vec<cosi::LabelQuery>,
    id: Option<Regex>,
}

impl Query {
    pub(super) fn new(labels: Vec<cosi::LabelQuery>, id: Option<&cosi::IdQuery>) -> Result<Self, Status> {
        let regexp = id.map(|id| id.regexp.as_str()).filter(|text| !text.is_empty());
        let id = match regexp.map(Regex::new) {
            None => None,
            Some(Ok(regex)) => Some(regex),
            Some(Err(error)) => return Err(Status::invalid(format!("failed to compile regexp: {error}"))),
        };
        for term in labels.iter().flat_map(|query| &query.terms) {
            if LabelTermOperation::try_from(term.op).is_err() {
                return Err(Status::unimplemented(format!("unsupported label query operator: {}", term.op)));
            }
        }
        Ok(Self { labels, id })
    }

    pub(super) fn matches(&self, resource: &cosi::Resource) -> bool {
        let Some(metadata) = &resource.metadata else { return false };
        let by_label = self.labels.is_empty() || self.labels.iter().any(|query| all(&query.terms, &metadata.labels));
        by_label && self.id.as_ref().is_none_or(|regex| regex.is_match(&metadata.id))
    }
}

fn all(terms: &[cosi::LabelTerm], labels: &BTreeMap<String, String>) -> bool {
    terms.iter().all(|term| {
        let op = LabelTermOperation::try_from(term.op).unwrap_or(LabelTermOperation::Exists);
        let invert = term.invert || op == LabelTermOperation::NotExists;
        term_matches(op, term, labels).is_some_and(|matches| matches != invert)
    })
}

/// None where two things cannot be compared: that matches nothing, inverted or not.
fn term_matches(op: LabelTermOperation, term: &cosi::LabelTerm, labels: &BTreeMap<String, String>) -> Option<bool> {
    use LabelTermOperation as Op;
    let comparison = matches!(op, Op::Lt | Op::Lte | Op::LtNumeric | Op::LteNumeric);
    let Some(value) = labels.get(&term.key) else { return (!comparison).then_some(false) };
    if matches!(op, Op::Exists | Op::NotExists) {
        return Some(true);
    }
    let Some(wanted) = term.value.first() else { return Some(false) };
    let numbers = || Some((value.trim().parse::<i64>().ok()?, wanted.trim().parse::<i64>().ok()?));
    match op {
        Op::Exists | Op::NotExists => Some(true),
        Op::Equal => Some(value == wanted),
        Op::In => Some(term.value.contains(value)),
        Op::Lt => Some(value < wanted),
        Op::Lte => Some(value <= wanted),
        Op::LtNumeric => numbers().map(|(left, right)| left < right),
        Op::LteNumeric => numbers().map(|(left, right)| left <= right),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(op: LabelTermOperation, key: &str, value: &[&str], invert: bool) -> bool {
        let labels = BTreeMap::from([("a".to_owned(), "5".to_owned())]);
        let metadata = cosi::Metadata { id: "one".to_owned(), labels, ..cosi::Metadata::default() };
        let value = value.iter().map(|text| (*text).to_owned()).collect();
        let term = cosi::LabelTerm { key: key.to_owned(), op: op.into(), value, invert };
        let query = Query::new(vec![cosi::LabelQuery { terms: vec![term] }], None).unwrap();
        query.matches(&cosi::Resource { metadata: Some(metadata), spec: None })
    }

    #[test]
    fn labels_are_compared_as_asked() {
        use LabelTermOperation as Op;
        assert!(matches(Op::Exists, "a", &[], false) && !matches(Op::Exists, "b", &[], false) && matches(Op::Exists, "b", &[], true));
        assert!(matches(Op::NotExists, "b", &[], false) && !matches(Op::NotExists, "a", &[], false));
        assert!(matches(Op::In, "a", &["4", "5"], false) && !matches(Op::Equal, "a", &["4"], false));
        assert!(matches(Op::LtNumeric, "a", &["10"], false) && !matches(Op::Lt, "a", &["10"], false));
        assert!(!matches(Op::LtNumeric, "a", &["x"], false) && !matches(Op::LtNumeric, "a", &["x"], true));
    }

    #[test]
    fn ids_match_by_expression() {
        let query = Query::new(Vec::new(), Some(&cosi::IdQuery { regexp: "^o.e$".to_owned() })).unwrap();
        let named =
            |id: &str| cosi::Resource { metadata: Some(cosi::Metadata { id: id.to_owned(), ..cosi::Metadata::default() }), spec: None };
        assert!(query.matches(&named("one")) && !query.matches(&named("two")));
        assert!(Query::new(Vec::new(), Some(&cosi::IdQuery { regexp: "(".to_owned() })).is_err());
    }
}
