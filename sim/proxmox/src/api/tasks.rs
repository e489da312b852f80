//! Tasks: lists, status, log, and stopping them.

use std::fs;
use std::io;

use serde_json::{Value, json};

use crate::Release;
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};
use crate::schema::upid::{self, Upid};
use crate::tasks::Record;

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/tasks", always!(list)),
    ("GET", "/nodes/{node}/tasks/{upid}", always!(index)),
    ("DELETE", "/nodes/{node}/tasks/{upid}", at_once!(stop)),
    ("GET", "/nodes/{node}/tasks/{upid}/log", at_once!(log)),
    ("GET", "/nodes/{node}/tasks/{upid}/status", at_once!(status)),
    ("GET", "/cluster/tasks", always!(cluster)),
];

/// How many finished tasks of each host the whole cluster shows.
const RECENT: usize = 25;

/// A token sees what it started; a user also what their tokens started.
fn owns(who: &Caller, task_user: &str) -> bool {
    who.id == task_user || task_user.split_once('!').is_some_and(|(user, _)| user == who.id)
}

/// The owner, with the name of a token apart.
fn with_owner(mut entry: Value, user: &str) -> Value {
    let (user, token) = user.split_once('!').map_or((user, None), |(user, token)| (user, Some(token)));
    entry["user"] = json!(user);
    if let Some(token) = token {
        entry["tokenid"] = json!(token);
    }
    entry
}

fn entry(record: &Record) -> Value {
    let entry = json!({
        "upid": record.upid,
        "node": record.node,
        "pid": record.pid,
        "pstart": record.pstart,
        "starttime": record.starttime,
        "type": record.kind,
        "id": record.id,
    });
    let mut entry = with_owner(entry, &record.user);
    if let Some(time) = record.endtime {
        entry["endtime"] = json!(time);
    }
    if let Some(status) = &record.status {
        entry["status"] = json!(status);
    }
    entry
}

fn list(call: &Call) -> Answer {
    let params = &call.params;
    let number = |name: &str| params.int(name);
    let start = number("start").and_then(|start| usize::try_from(start).ok()).unwrap_or(0);
    let limit = number("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(50);
    let source = params.text("source").unwrap_or("archive");
    let errors = params.flag("errors").unwrap_or(false);
    let wanted = params.list("statusfilter");
    let auditor = call.pve.state().access.allows(&call.who, &format!("/nodes/{}", call.node()), &["Sys.Audit"]);
    let shown = |record: &Record| {
        let running = record.endtime.is_none();
        let kind = upid::status_kind(record.status.as_deref().unwrap_or_default());
        let status_fits = match (errors, wanted.is_empty()) {
            (true, _) => kind != "ok",
            (false, true) => true,
            (false, false) => wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind)),
        };
        let time = i64::try_from(record.starttime).unwrap_or(i64::MAX);
        (match source {
            "active" => running,
            "archive" => !running,
            _ => true,
        }) && (auditor || owns(&call.who, &record.user))
            && params.text("userfilter").is_none_or(|text| record.user.to_lowercase().contains(&text.to_lowercase()))
            && params.text("typefilter").is_none_or(|kind| record.kind == kind)
            && params.text("vmid").is_none_or(|id| record.id == id)
            && number("since").is_none_or(|since| time >= since)
            && number("until").is_none_or(|until| time <= until)
            && status_fits
    };
    let mut records: Vec<Record> = call.pve.tasks.list(Some(call.node())).into_iter().filter(shown).collect();
    // Those that run come first.
    records.sort_by_key(|record| record.endtime.is_some());
    let total = records.len();
    let page = records.iter().skip(start).take(limit).map(|record| {
        let mut entry = entry(record);
        if record.endtime.is_none() {
            entry["status"] = json!("RUNNING");
        }
        entry
    });
    let mut answer = Answer::data(page.collect::<Vec<_>>());
    answer.extra.insert("total", json!(total));
    answer
}

fn cluster(call: &Call) -> Answer {
    let all = call.pve.state().access.allows(&call.who, "/", &["Sys.Audit"]);
    let mut found: Vec<Value> = Vec::new();
    for host in &call.pve.spec.hosts {
        let mut finished = 0;
        for record in call.pve.tasks.list(Some(&host.name)) {
            finished += usize::from(record.endtime.is_some());
            if record.endtime.is_some() && finished > RECENT || !(all || owns(&call.who, &record.user)) {
                continue;
            }
            let mut entry = entry(&record);
            if record.endtime.is_some() {
                entry["saved"] = json!("1");
            }
            found.push(entry);
        }
    }
    Answer::data(found)
}

fn index(_: &Call) -> Answer {
    Answer::data(json!([{ "name": "log" }, { "name": "status" }]))
}

/// The task that is asked for, and the text of its log where there is one.
fn read(call: &Call) -> Result<(Upid, io::Result<String>), Fail> {
    let text = call.params.text("upid").unwrap_or_default();
    let task = upid::decode(text).map_err(|_| Fail::param("upid", "unable to parse worker upid"))?;
    // Each host has only the logs of its own tasks.
    if task.node != call.node() {
        return Ok((task, Err(io::ErrorKind::NotFound.into())));
    }
    let log = call.pve.tasks.log_file(text).and_then(fs::read);
    Ok((task, log.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())))
}

fn check(call: &Call, task: &Upid, privilege: &str) -> Result<(), Fail> {
    if owns(&call.who, &task.user) {
        return Ok(());
    }
    call.pve.state().access.check(&call.who, &format!("/nodes/{}", call.node()), &[privilege])
}

fn no_such_task() -> Fail {
    Fail::param("upid", "no such task")
}

fn stop(call: &Call) -> Outcome {
    let (task, log) = read(call)?;
    log.map_err(|_| no_such_task())?;
    check(call, &task, "Sys.Modify")?;
    let text = call.params.text("upid").unwrap_or_default();
    call.pve.tasks.stop(text);
    Ok(Answer::done(format!("task {text} stopped")))
}

fn status(call: &Call) -> Outcome {
    let text = call.params.text("upid").unwrap_or_default();
    // Asked before the log is read: a task that ends in between would seem to have ended without a last line.
    let running = call.pve.tasks.is_running(text);
    let (task, log) = read(call)?;
    let log = log.map_err(|_| no_such_task())?;
    check(call, &task, "Sys.Audit")?;
    let entry = json!({
        "upid": text,
        "node": task.node,
        "pid": task.pid,
        "pstart": task.pstart,
        "starttime": task.starttime,
        "type": task.kind,
        "id": task.id,
    });
    let mut entry = with_owner(entry, &task.user);
    if running {
        entry["status"] = json!("running");
    } else {
        entry["status"] = json!("stopped");
        entry["exitstatus"] = json!(upid::read_status(call.pve.release(), &log));
    }
    Ok(Answer::data(entry))
}

fn log(call: &Call) -> Outcome {
    let (task, log) = read(call)?;
    check(call, &task, "Sys.Audit")?;
    let number = |name: &str| call.params.int(name).and_then(|number| usize::try_from(number).ok());
    let start = number("start").unwrap_or(0);
    let limit = match number("limit").unwrap_or(50) {
        0 => usize::MAX,
        limit => limit,
    };
    let line = |number: usize, text: &str| json!({ "n": number, "t": text });
    let (data, total) = match log {
        Err(_) => {
            let only = line(1, "unable to open file - No such file or directory");
            let data = if call.pve.release() == Release::V8 { only } else { json!([only]) };
            (data, 1)
        }
        Ok(log) if log.is_empty() => (json!([line(1, "no content")]), 1),
        Ok(log) => {
            let lines: Vec<&str> = log.strip_suffix('\n').unwrap_or(&log).split('\n').collect();
            let page = lines.iter().enumerate().skip(start).take(limit).map(|(index, text)| line(index + 1, text));
            (page.collect(), lines.len())
        }
    };
    let mut answer = Answer::data(data);
    answer.extra.insert("total", json!(total));
    Ok(answer)
}
