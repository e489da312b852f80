//! Reading objects.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::Asked;
use crate::document::text;
use crate::failure::{Failure, Outcome};
use crate::objects::selectors::Selection;
use crate::world::World;

/// GET of one object.
pub(crate) fn get(world: &World, asked: &Asked) -> Outcome<Arc<Value>> {
    world.objects.get(&asked.key()).cloned().ok_or_else(|| Failure::not_found(&asked.resource, &asked.name))
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Value>>,
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// GET of a collection.
pub(crate) fn list(world: &World, asked: &Asked) -> Outcome<Page> {
    let selection = Selection::parse(asked.option("labelSelector"), asked.option("fieldSelector"))?;
    selection.known(&asked.resource)?;
    let revision = world.objects.revision();
    if let Ok(wanted) = asked.option("resourceVersion").parse::<u64>()
        && wanted > revision
    {
        return Err(Failure::new(504, "Timeout", format!("Too large resource version: {wanted}, current: {revision}")));
    }
    let namespace = (!asked.namespace.is_empty()).then_some(asked.namespace.as_str());
    let from = match asked.option("continue") {
        "" => None,
        token => Some(place_of(token).ok_or_else(|| Failure::bad_request("continue key is not valid: invalid token"))?),
    };
    let place = |object: &Value| (text(object, "/metadata/namespace").to_owned(), text(object, "/metadata/name").to_owned());
    let chosen = world.objects.list(&asked.resource.sort, namespace);
    let mut chosen =
        chosen.filter(|object| from.as_ref().is_none_or(|from| place(object) > *from)).filter(|object| selection.chooses(object));
    let limit = asked.option("limit").parse::<usize>().unwrap_or(0);
    if limit == 0 {
        return Ok(Page { items: chosen.cloned().collect(), revision, next: None, remaining: None });
    }
    let items: Vec<_> = chosen.by_ref().take(limit).cloned().collect();
    let left = chosen.count();
    let next = (left > 0).then(|| items.last().map(|last| token_of(&place(last)))).flatten();
    // The count is known only where everything is counted.
    let remaining = (left > 0 && selection.is_empty()).then_some(left);
    Ok(Page { items, revision, next, remaining })
}

fn token_of((namespace, name): &(String, String)) -> String {
    URL_SAFE_NO_PAD.encode(format!("{namespace}/{name}"))
}

fn place_of(token: &str) -> Option<(String, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (namespace, name) = text.split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}
