//! `/nodes/{node}/execute`: several calls of root in one.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::call::{Answer, Call, Fail, Outcome, Route};
use crate::dispatch::Asked;
use crate::schema::{self, Given};

pub(super) const ROUTES: &[Route] = &[("POST", "/nodes/{node}/execute", execute)];

fn execute(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let wrong = |text: String| Fail::param("commands", text);
        let text = call.params.text("commands").unwrap_or_default();
        let Ok(Value::Array(commands)) = serde_json::from_str(text) else {
            return Err(wrong("could not decode commands from JSON - not an array".to_owned()));
        };
        let mut answers: Vec<Value> = Vec::new();
        let mut changed = Vec::new();
        for command in commands {
            match single(&call, &command).await {
                Ok(answer) => {
                    changed.extend(answer.changed);
                    answers.push(json!({ "status": 200, "data": answer.data }));
                }
                Err(fail) => answers.push(json!({ "status": fail.status, "message": fail.message })),
            }
        }
        Ok(Answer { data: json!(answers), changed, ..Answer::default() })
    })
}

async fn single(call: &Call, command: &Value) -> Outcome {
    let text = |key: &str| command[key].as_str().unwrap_or_default().to_owned();
    let path = format!("/nodes/{}/{}", call.node(), text("path").trim_start_matches('/'));
    let found = schema::find(call.pve.release(), &text("method"), &path)?;
    let given: BTreeMap<String, Given> = match &command["args"] {
        Value::Object(args) => args.iter().map(|(name, value)| (name.clone(), Given::from(value.clone()))).collect(),
        _ => BTreeMap::new(),
    };
    let asked = Asked { host: call.asked.clone(), path, who: Some(call.who.clone()), by_token: false, given, upload: None };
    call.pve.dispatch(found, asked).await
}
