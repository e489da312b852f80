//! Nodes that go leave Kubernetes too: their pods find another place first, and nothing of them is left behind.
//!
//! The host does this itself, in the steps that plugins take too: one change at most, written down before it goes out, and a look at
//! the cluster instead of a memory of what was done.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::job::{Job, Proposed, Task, unplanned};
use super::kubernetes::{HOST, again, trouble};
use super::plan::{Action, Change, Disruption, Intent};
use super::planning::{Problems, propose};
use super::run::{Run, Turn};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::Step;
use crate::diagnostic::Diagnostic;
use crate::kube::drain::{Evicted, Node, Pod, evicted, leaving};
use crate::kube::{Body, Client};
use crate::plugins::CallError;

/// How many pods are listed at a time.
const PAGE: usize = 500;

fn path(node: &str) -> String {
    format!("/api/v1/nodes/{node}")
}

impl Run {
    /// A node as Kubernetes has it.
    async fn kubernetes_node(&self, unit: &UnitId, turn: Turn, node: &str) -> Result<Option<(Arc<Client>, Node)>, CallError> {
        let client = self.kubernetes(unit, turn).await?;
        let found = client.get(&path(node)).await.map_err(|error| trouble(unit, &error))?;
        Ok(found.map(|found| (client, Node::of(&found))))
    }

    /// The pods that have to leave a node. On one that does not answer, nobody ends a pod that was told to go.
    async fn pods(client: &Client, unit: &UnitId, node: &str, ready: bool) -> Result<Vec<Pod>, CallError> {
        let mut pods = Vec::new();
        let mut next = String::new();
        loop {
            let on = if next.is_empty() { String::new() } else { format!("&continue={next}") };
            let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&limit={PAGE}{on}");
            let list = client.get(&path).await.map_err(|error| trouble(unit, &error))?.unwrap_or_default();
            pods.extend(leaving(&list).into_iter().filter(|pod| ready || !pod.leaving));
            list.pointer("/metadata/continue").and_then(serde_json::Value::as_str).unwrap_or_default().clone_into(&mut next);
            if next.is_empty() {
                return Ok(pods);
            }
        }
    }

    /// What a drain would do: none where the node is unknown, or empty and closed.
    pub(super) async fn plan_drain(&self, unit: &UnitId, turn: Turn, node: &str) -> Result<Proposed, CallError> {
        let nothing = Proposed::default();
        let Some((client, found)) = self.kubernetes_node(unit, turn, node).await? else { return Ok(nothing) };
        let pods = Self::pods(&client, unit, node, found.ready).await?;
        if found.unschedulable && pods.is_empty() {
            return Ok(nothing);
        }
        let bare: Vec<String> = pods.iter().filter(|pod| !pod.replaced).map(Pod::title).collect();
        let lost = match bare.as_slice() {
            [] => String::new(),
            [only] => format!("; nothing makes {only} anew"),
            [first, rest @ ..] => format!("; nothing makes {first} and {} more anew", rest.len()),
        };
        let many = if pods.len() == 1 { "1 pod finds".to_owned() } else { format!("{} pods find", pods.len()) };
        let action = Action {
            change: Change::Update,
            subject: format!("pods of {node}"),
            disruption: Disruption::Restart,
            reason: format!("{many} another place first, as disruption budgets allow{lost}"),
            fields: Vec::new(),
            place: None,
            irreversible: false,
        };
        Ok(Proposed { actions: vec![action], ..Proposed::default() })
    }

    /// What taking a node out of Kubernetes would do.
    pub(super) async fn plan_forget(&self, unit: &UnitId, turn: Turn, node: &str) -> Result<Proposed, CallError> {
        let found = self.kubernetes_node(unit, turn, node).await?;
        let action = found.map(|_| Action {
            change: Change::Destroy,
            subject: format!("Kubernetes node {node}"),
            disruption: Disruption::None,
            reason: "its machine is gone by then".to_owned(),
            fields: Vec::new(),
            place: None,
            irreversible: true,
        });
        Ok(Proposed { actions: action.into_iter().collect(), ..Proposed::default() })
    }

    /// One step of a drain.
    pub(super) async fn drain(&self, unit: &UnitId, node: &str) -> Result<Step, CallError> {
        let Some((client, found)) = self.kubernetes_node(unit, Turn::Have, node).await? else { return Ok(Step::Done(None)) };
        if !found.unschedulable {
            let closed = json!({"metadata": {"uid": found.uid}, "spec": {"unschedulable": true}});
            let answer = self.change(&client, unit, (Method::PATCH, &path(node), Body::Merge(&closed))).await?;
            answer.map_err(|error| trouble(unit, &error))?;
            return Ok(again(Duration::ZERO, "no pod is put on it any more"));
        }
        let pods = Self::pods(&client, unit, node, found.ready).await?;
        let next = {
            let mut held = self.kubernetes.held();
            let held = held.entry(node.to_owned()).or_default();
            pods.iter().find(|pod| !pod.leaving && !held.why.contains_key(&pod.uid))
        };
        let Some(pod) = next else { return Ok(self.drained(node, &pods)) };
        let answer = self.change(&client, unit, (Method::POST, &pod.path(), Body::Json(&pod.eviction()))).await?;
        match evicted(pod, answer).map_err(|error| trouble(unit, &error))? {
            Evicted::Goes => Ok(again(Duration::ZERO, &format!("pod {} goes", pod.title()))),
            Evicted::Held(why) => {
                let step = again(Duration::ZERO, &why);
                self.kubernetes.held().entry(node.to_owned()).or_default().why.insert(pod.uid.clone(), why);
                Ok(step)
            }
        }
    }

    /// Every pod was asked to go: done once there is none, else what is waited for, and then all are asked again.
    fn drained(&self, node: &str, pods: &[Pod]) -> Step {
        let mut held = self.kubernetes.held();
        if pods.is_empty() {
            held.remove(node);
            return Step::Done(None);
        }
        let held = held.entry(node.to_owned()).or_default();
        let kept = std::mem::take(&mut held.why);
        held.rounds += 1;
        let pause = Duration::from_millis((100 << held.rounds.min(4)).min(1000));
        let stays = pods.iter().find_map(|pod| kept.get(&pod.uid).cloned());
        let ends = || pods.iter().find(|pod| pod.leaving).map_or_else(String::new, |pod| format!("pod {} to end", pod.title()));
        again(pause, &stays.unwrap_or_else(ends))
    }

    /// One step of taking a node out of Kubernetes.
    pub(super) async fn forget(&self, unit: &UnitId, node: &str) -> Result<Step, CallError> {
        let Some((client, found)) = self.kubernetes_node(unit, Turn::Have, node).await? else { return Ok(Step::Done(None)) };
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": found.uid}});
        let answer = self.change(&client, unit, (Method::DELETE, &path(node), Body::Json(&options))).await?;
        match answer {
            Ok(_) => Ok(again(Duration::from_millis(50), "it is taken out")),
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(again(Duration::from_millis(50), "it is looked at again")),
            Err(error) => Err(trouble(unit, &error)),
        }
    }
}

/// What nodes that go have to do with Kubernetes, beside their removal. Where it does not answer, workers go without it.
pub(super) async fn leaves(run: &Arc<Run>, planned: &[Job], notes: &mut Vec<Diagnostic>) -> Result<Vec<Job>, Problems> {
    let mut jobs = Vec::new();
    let machines = planned.iter().filter_map(|job| match (&job.task, job.planned.intent) {
        (Task::Machine { node, .. }, Intent::Absent) => Some((node.clone(), !job.planned.actions.is_empty())),
        _ => None,
    });
    // Who does not answer for one does not answer for the next.
    let mut silent: Option<Problems> = None;
    for (node, there) in machines.filter(|_| run.bootstrapped()) {
        let nothing = unplanned(UnitId::Node(node.clone()), HOST, Intent::Absent);
        let forget = match silent.take() {
            Some(why) => Err(why),
            None => propose(run, Job { planned: nothing, task: Task::Forget { node: node.clone() } }).await,
        };
        let forget = match forget {
            Ok(forget) => forget,
            Err(why) => {
                // Whatever becomes of its machine, there is something left to do for the next run.
                run.kept().insert(node.clone());
                unanswered(run, &node, there, &why, notes)?;
                silent = Some(why);
                continue;
            }
        };
        if forget.planned.actions.is_empty() {
            continue;
        }
        run.kept().insert(node.clone());
        if there {
            let nothing = unplanned(UnitId::Drain(node.clone()), HOST, Intent::Absent);
            let drain = propose(run, Job { planned: nothing, task: Task::Drain { node } }).await?;
            jobs.extend(Some(drain).filter(|drain| !drain.planned.actions.is_empty()));
        }
        jobs.push(forget);
    }
    Ok(jobs)
}

/// A control plane is not taken away from a cluster that cannot be asked; a worker may be dead for the same reason as the API.
fn unanswered(run: &Run, node: &str, there: bool, why: &[Diagnostic], notes: &mut Vec<Diagnostic>) -> Result<(), Problems> {
    let cause = why.first().map_or_else(String::new, |first| first.summary.clone());
    if there && run.votes(node) {
        let summary = format!("control plane {node} is not taken out while Kubernetes cannot be asked: {cause}");
        let help = "see how the control plane is with `emhost status` and mend it, or put the node back into nodes.yaml";
        return Err(vec![Diagnostic::error("kubernetes/unreachable", summary).help(Some(help))]);
    }
    let summary = if there {
        format!("worker {node} goes without being drained, because Kubernetes cannot be asked: {cause}")
    } else {
        format!("{node} may still be a node of Kubernetes, which cannot be asked: {cause}")
    };
    let help = "the next apply to which Kubernetes answers takes it out there; to drain it first, stop here and mend the API";
    notes.push(Diagnostic::warning("kubernetes/unreachable", summary).help(Some(help)));
    Ok(())
}
