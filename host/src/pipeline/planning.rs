//! Makes the plan: looks at everything, asks every plugin what it would do, and says it in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::addons;
use super::configuration::{boot_source, configuration, contributions, settings};
use super::events::Event;
use super::images::Pin;
use super::job::{Job, Task, is_image, unplanned};
use super::leaving::leaves;
use super::order::order;
use super::plan::{Action, Change, Disruption, Intent, LAYOUT, Orphan, Plan, Planned, Purpose};
use super::quorum::{Cost, Quorum, Verdict};
use super::run::{Inputs, Run, Turn};
use super::unit::{Phase, UnitId};
use crate::bindings::emhost::plugin::types::Attribute;
use crate::bindings::exports::emhost::plugin::gpu::Assignment;
use crate::bindings::exports::emhost::plugin::provisioner::Machine;
use crate::diagnostic::{Diagnostic, Severity};
use crate::inventory::Node;
use crate::plugins::CallError;

/// A plan, and everything it takes to carry it out.
pub struct Prepared {
    /// What would happen.
    pub plan: Plan,
    /// How.
    pub jobs: Vec<Job>,
    /// Which accelerator belongs to which node from now on, if that changes.
    pub assignments: Option<Vec<Assignment>>,
    /// Machines of the cluster that belong to no node.
    pub orphans: Vec<Machine>,
}

pub(super) type Problems = Vec<Diagnostic>;

pub(super) fn problems(error: &CallError) -> Problems {
    error.diagnostics()
}

/// Adds where the inventory has the value that a plugin blames.
pub(super) fn placed(run: &Run, node: Option<&str>, mut problems: Problems) -> Problems {
    for problem in problems.iter_mut().filter(|problem| problem.place.is_none()) {
        let Some(pointer) = problem.pointer.as_deref() else { continue };
        let of_node = node.and_then(|node| run.sources.node(node, Some(pointer)));
        problem.place = of_node.or_else(|| run.sources.cluster(pointer));
        if problem.place.is_some() {
            problem.pointer = None;
        }
    }
    problems
}

/// Does the same for each of many, at once. What failed comes back all together.
pub(super) async fn each<I, T, F>(items: I, work: impl Fn(I::Item) -> F) -> Result<Vec<T>, Problems>
where
    I: IntoIterator,
    F: Future<Output = Result<T, Problems>> + Send + 'static,
    T: Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (index, item) in items.into_iter().enumerate() {
        let going = work(item);
        tasks.spawn(async move { (index, going.await) });
    }
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok((index, Ok(answer))) => done.push((index, answer)),
            Ok((index, Err(problems))) => failed.push((index, problems)),
            Err(panic) => failed.push((usize::MAX, vec![Diagnostic::error("host/bug", format!("planning panicked: {panic}"))])),
        }
    }
    if failed.is_empty() {
        done.sort_by_key(|(index, _)| *index);
        return Ok(done.into_iter().map(|(_, answer)| answer).collect());
    }
    failed.sort_by_key(|(index, _)| *index);
    Err(once(failed.into_iter().flat_map(|(_, problems)| problems)))
}

/// Every node that meets the same trouble says the same: it is told once.
fn once(problems: impl Iterator<Item = Diagnostic>) -> Problems {
    // The node stands between ` of ` and the colon, where there is one.
    let bare = |summary: &str| match (summary.find(" of `"), summary.find("`: ")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &summary[..start], &summary[end + 1..]),
        _ => summary.to_owned(),
    };
    let mut all: Vec<(String, Diagnostic, usize)> = Vec::new();
    for problem in problems {
        let words = bare(&problem.summary);
        let same = |(known, other, _): &&mut (String, Diagnostic, usize)| {
            *known == words && other.code == problem.code && other.help == problem.help
        };
        match all.iter_mut().find(same) {
            Some((_, _, more)) => *more += 1,
            None => all.push((words, problem, 0)),
        }
    }
    let told = all.into_iter().map(|(_, mut problem, more)| {
        if more > 0 && problem.severity == Severity::Error {
            let also = format!("the same for {more} more");
            problem.detail = Some(problem.detail.map_or_else(|| also.clone(), |detail| format!("{detail}\n{also}")));
        }
        problem
    });
    told.collect()
}

/// Plans an apply.
///
/// # Errors
/// Everything that keeps the plan from being made.
pub async fn plan_apply(run: &Arc<Run>) -> Result<Prepared, Problems> {
    let mut notes = settings(run).await?;
    let assignments = contributions(run, &mut notes).await?;
    let inputs = configuration(run).await?;
    if !run.options.reaches(Phase::Boot) {
        return Ok(Prepared { plan: empty(run, Purpose::Apply), jobs: Vec::new(), assignments, orphans: Vec::new() });
    }
    let jobs = node_jobs(run, &inputs).await?;
    let removals = removals(run).await?;
    let (orphans, _) = unclaimed(run).await?;

    let busy = |job: &Job| !job.planned.actions.is_empty();
    let fresh: BTreeSet<String> =
        jobs.iter().filter(|job| makes_machine(job)).filter_map(|job| job.planned.unit.node().map(str::to_owned)).collect();
    let mut all: Vec<Job> = removals;
    all.extend(boots(run, &jobs, &fresh)?);
    let (wanted, quiet): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| busy(job) || needs_wait(job, &fresh) || unremembered(run, job));
    all.extend(wanted);
    let mut unchanged = quiet.len();
    let made = |node: &Arc<Node>| run.votes(&node.name) && node.machine_identity.is_some();
    let cluster =
        if run.options.reaches(Phase::Cluster) || run.now.get().nodes.iter().any(made) { Some(cluster_job(run).await?) } else { None };
    if cluster.as_ref().is_some_and(|cluster| !busy(cluster)) {
        // It may be there and not be remembered: quorum counts all the same.
        let _ = run.there.set(());
    }
    if let Some(cluster) = cluster.filter(|_| run.options.reaches(Phase::Cluster)) {
        // One that is there and that nobody remembers is remembered from now on, because quorum counts then.
        if busy(&cluster) || !run.store.bootstrapped() {
            all.push(cluster);
        } else {
            unchanged += 1;
        }
        let unjoined = unjoined(run, &inputs, &fresh);
        all.extend(unjoined);
        if !all.is_empty() {
            all.push(health_job(run, UnitId::Ready, run.networking));
        }
    }
    all.retain(|job| run.options.reaches(job.planned.unit.phase()));
    let leaves = leaves(run, &all, &mut notes).await?;
    all.extend(leaves.into_iter().filter(|job| run.options.reaches(job.planned.unit.phase())));
    let silent = notes.iter().any(|note| note.code == "kubernetes/unreachable");
    let (addons, as_they_are) = addons::jobs(run, silent, &mut notes).await?;
    unchanged += as_they_are;
    // What came in may be what connects the pods.
    let health = addons.iter().any(|job| job.planned.intent == Intent::Present && busy(job));
    all.extend(addons);
    if health {
        all.push(health_job(run, UnitId::Health, true));
    }
    let quorum = quorum(run, &mut all, &mut notes).await;
    order(&mut all, run);
    let mut plan = empty(run, Purpose::Apply);
    plan.units = all.iter().map(|job| job.planned.clone()).collect();
    plan.unchanged = unchanged;
    plan.quorum = quorum;
    plan.notes = notes;
    plan.orphans = orphans.iter().map(orphan).collect();
    Ok(Prepared { plan, jobs: all, assignments, orphans })
}

/// Plans taking the whole cluster down. Quorum does not bind: all of it goes.
///
/// # Errors
/// Everything that keeps the plan from being made.
pub async fn plan_destroy(run: &Arc<Run>) -> Result<Prepared, Problems> {
    let names: BTreeSet<String> = run.now.get().nodes.iter().map(|node| node.name.clone()).chain(run.removed.keys().cloned()).collect();
    run.watch.event(Event::Planning { what: format!("looking at {} machines", names.len()) });
    if run.options.delete_images {
        let asks = Attribute { key: IMAGES.to_owned(), value: "true".to_owned() };
        run.now.change(|cluster| cluster.attributes.push(asks));
    }
    let provisioner = run.crew.provisioner.name().to_owned();
    let jobs = each(names, |name| {
        let (run, provisioner) = (Arc::clone(run), provisioner.clone());
        async move {
            let planned = unplanned(UnitId::Machine(name.clone()), &provisioner, Intent::Absent);
            propose(&run, Job { planned, task: Task::Machine { node: name, inputs: None } }).await
        }
    });
    let jobs = jobs.await?;
    let (orphans, images) = unclaimed(run).await?;
    let mut all: Vec<Job> = Vec::new();
    let mut unchanged = 0;
    // A run that was cut off after the last machine still has to forget the cluster.
    let unforgotten = run.store.bootstrapped() || !run.store.units().is_empty();
    for job in jobs {
        let remembered = unforgotten || job.planned.unit.node().is_some_and(|node| run.store.node(node).is_some());
        if job.planned.actions.is_empty() && !remembered {
            unchanged += 1;
        } else {
            all.push(job);
        }
    }
    for machine in &orphans {
        all.push(discard_job(run, machine).await?);
    }
    // A machine may still have one of them in its drive.
    let machines: Vec<UnitId> = all.iter().map(|job| job.planned.unit.clone()).collect();
    for image in images.iter().filter(|_| run.options.delete_images) {
        let mut job = discard_job(run, image).await?;
        job.planned.after.clone_from(&machines);
        all.push(job);
    }
    let mut plan = empty(run, Purpose::Destroy);
    plan.units = all.iter().map(|job| job.planned.clone()).collect();
    plan.unchanged = unchanged;
    plan.orphans = orphans.iter().map(orphan).collect();
    Ok(Prepared { plan, jobs: all, assignments: None, orphans })
}

/// The attribute of the cluster that asks a provisioner's `owned` for the images that machines were made from.
const IMAGES: &str = "destroy.images";

/// A job that removes a machine which no node claims, or an image, for whoever agreed to it.
///
/// # Errors
/// Never for now; proposals of the host itself need nobody.
pub async fn discard_job(run: &Run, machine: &Machine) -> Result<Job, Problems> {
    let unit = if is_image(machine) { UnitId::Image(machine.id.clone()) } else { UnitId::Orphan(machine.id.clone()) };
    let planned = unplanned(unit, run.crew.provisioner.name(), Intent::Absent);
    propose(run, Job { planned, task: Task::Discard { machine: Box::new(machine.clone()) } }).await
}

fn empty(run: &Run, purpose: Purpose) -> Plan {
    let cluster = run.now.get();
    Plan {
        version: LAYOUT,
        purpose,
        cluster: cluster.name.clone(),
        id: cluster.id.clone(),
        made: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        inventory: run.inventory.clone(),
        until: run.options.until,
        plugins: run.crew.answering.clone(),
        quorum: None,
        units: Vec::new(),
        unchanged: 0,
        orphans: Vec::new(),
        secrets: Vec::new(),
        notes: Vec::new(),
    }
}

fn orphan(machine: &Machine) -> Orphan {
    Orphan { id: machine.id.clone(), identity: machine.identity.clone(), node: machine.node.clone(), host: machine.host.clone() }
}

pub(super) async fn propose(run: &Run, mut job: Job) -> Result<Job, Problems> {
    let proposed = job.propose(run, Turn::Take).await;
    let proposed = proposed.map_err(|error| placed(run, job.planned.unit.node(), problems(&error)))?;
    job.planned.actions = proposed.actions;
    job.planned.holds = proposed.holds;
    place(run, &mut job);
    Ok(job)
}

/// Adds where the inventory says so.
fn place(run: &Run, job: &mut Job) {
    let unit = job.planned.unit.clone();
    for action in &mut job.planned.actions {
        for field in &mut action.fields {
            field.place = match unit.node() {
                Some(node) => run.sources.node(node, Some(&field.pointer)),
                None => run.sources.cluster(&field.pointer),
            };
        }
        let of_field = action.fields.iter().find_map(|field| field.place.clone());
        action.place = if action.change == Change::Update { of_field } else { None }.or_else(|| run.sources.node(unit.node()?, None));
    }
}

async fn node_jobs(run: &Arc<Run>, inputs: &BTreeMap<String, Inputs>) -> Result<Vec<Job>, Problems> {
    run.watch.event(Event::Planning { what: format!("looking at {} machines", inputs.len()) });
    let (provisioner, distro) = (run.crew.provisioner.name().to_owned(), run.crew.distro.name().to_owned());
    let pairs = each(inputs.clone(), |(name, inputs)| {
        let (run, provisioner, distro) = (Arc::clone(run), provisioner.clone(), distro.clone());
        async move {
            let mut jobs = Vec::new();
            if run.options.reaches(Phase::Machines) {
                let planned = unplanned(UnitId::Machine(name.clone()), &provisioner, Intent::Present);
                let task = Task::Machine { node: name.clone(), inputs: Some(inputs.clone()) };
                jobs.push(propose(&run, Job { planned, task }).await?);
            }
            if run.options.reaches(Phase::Os) {
                let planned = unplanned(UnitId::Os(name.clone()), &distro, Intent::Present);
                jobs.push(propose(&run, Job { planned, task: Task::Os { node: name, inputs: Some(inputs) } }).await?);
            }
            Ok(jobs)
        }
    });
    Ok(pairs.await?.into_iter().flatten().collect())
}

/// Whether a machine comes to be, so that whatever follows on it is new as well.
fn makes_machine(job: &Job) -> bool {
    let makes = |action: &Action| matches!(action.change, Change::Create | Change::Replace);
    matches!(job.task, Task::Machine { .. }) && job.planned.actions.iter().any(makes)
}

/// A system on a new machine is looked at even where nothing is planned for it.
fn needs_wait(job: &Job, fresh: &BTreeSet<String>) -> bool {
    matches!(&job.task, Task::Os { node, .. } if fresh.contains(node))
}

/// A machine that is there and that nobody remembers is remembered from now on: else nobody could take it down.
fn unremembered(run: &Run, job: &Job) -> bool {
    let Task::Machine { node, .. } = &job.task else { return false };
    run.store.node(node).is_none() && run.node(node).is_some_and(|node| node.machine_identity.is_some())
}

/// What new machines boot from, each thing once.
fn boots(run: &Run, jobs: &[Job], fresh: &BTreeSet<String>) -> Result<Vec<Job>, Problems> {
    let mut all: Vec<Job> = Vec::new();
    for job in jobs {
        let Task::Machine { node, inputs: Some(inputs) } = &job.task else { continue };
        if !fresh.contains(node) {
            continue;
        }
        let same = |other: &Job| matches!(&other.task, Task::Ensure { inputs: of, .. } if Arc::ptr_eq(&of.ensured, &inputs.ensured));
        let Ok(worker) = boot_source(run, node) else { continue };
        if !all.iter().any(same) {
            let pinned = match run.pin_of(inputs)? {
                Pin::Needless => String::new(),
                Pin::Known(digest) => format!("; its image is pinned as {digest}"),
                Pin::Missing => "; its image is read once and will be pinned in emhost.lock".to_owned(),
            };
            let taken = |name: &str| all.iter().any(|job| job.planned.unit == UnitId::Boot(name.to_owned()));
            let name = if taken(&inputs.boot.id) { format!("{}@{node}", inputs.boot.id) } else { inputs.boot.id.clone() };
            let mut planned = unplanned(UnitId::Boot(name), worker.name(), Intent::Present);
            planned.actions.push(Action {
                change: Change::Create,
                subject: format!("boot medium {}", inputs.boot.id),
                disruption: Disruption::None,
                reason: format!("machines start from it; nothing happens where it is there already{pinned}"),
                fields: Vec::new(),
                place: None,
                irreversible: false,
            });
            all.push(Job { planned, task: Task::Ensure { worker: worker.clone(), node: node.clone(), inputs: inputs.clone() } });
        }
    }
    Ok(all)
}

/// Nodes that are gone from the inventory leave the cluster, then their machines go.
async fn removals(run: &Arc<Run>) -> Result<Vec<Job>, Problems> {
    let (provisioner, distro) = (run.crew.provisioner.name().to_owned(), run.crew.distro.name().to_owned());
    let pairs = each(run.removed.keys().cloned().collect::<Vec<_>>(), |name| {
        let (run, provisioner, distro) = (Arc::clone(run), provisioner.clone(), distro.clone());
        async move {
            let machine = unplanned(UnitId::Machine(name.clone()), &provisioner, Intent::Absent);
            let machine = propose(&run, Job { planned: machine, task: Task::Machine { node: name.clone(), inputs: None } }).await?;
            let mut jobs = Vec::new();
            // A machine that is not there cannot be asked to leave.
            if !machine.planned.actions.is_empty() && run.options.reaches(Phase::Os) {
                let os = unplanned(UnitId::Os(name.clone()), &distro, Intent::Absent);
                jobs.push(propose(&run, Job { planned: os, task: Task::Os { node: name, inputs: None } }).await?);
            }
            jobs.push(machine);
            Ok(jobs)
        }
    });
    Ok(pairs.await?.into_iter().flatten().collect())
}

/// Machines with the cluster's mark that no node claims; and images that machines were made from, where they were asked for.
async fn unclaimed(run: &Run) -> Result<(Vec<Machine>, Vec<Machine>), Problems> {
    let provisioner = &run.crew.provisioner;
    let owned = run.look(Turn::Take, || async {
        let context = provisioner.looks(None);
        provisioner.plugin.owned(&context).await
    });
    let claimed: BTreeSet<String> = run.seen().into_iter().collect();
    let owned = owned.await.map_err(|error| problems(&error))?;
    let (images, machines): (Vec<Machine>, Vec<Machine>) = owned.into_iter().partition(is_image);
    Ok((machines.into_iter().filter(|machine| !claimed.contains(&machine.identity)).collect(), images))
}

async fn cluster_job(run: &Run) -> Result<Job, Problems> {
    let planned = unplanned(UnitId::Cluster, run.crew.distro.name(), Intent::Present);
    propose(run, Job { planned, task: Task::Cluster }).await
}

fn health_job(run: &Run, unit: UnitId, networking: bool) -> Job {
    Job { planned: unplanned(unit, run.crew.distro.name(), Intent::Present), task: Task::Health { networking } }
}

/// Nodes that will join in this run: what they needed for their first boot goes afterwards.
fn unjoined(run: &Run, inputs: &BTreeMap<String, Inputs>, fresh: &BTreeSet<String>) -> Vec<Job> {
    let mut all = Vec::new();
    for (name, inputs) in inputs {
        let Some(node) = run.node(name) else { continue };
        if run.joined(&node) && !fresh.contains(name) {
            continue;
        }
        let mut planned = unplanned(UnitId::Media(name.clone()), run.crew.provisioner.name(), Intent::Present);
        if !inputs.media.is_empty() {
            let labels: Vec<&str> = inputs.media.iter().map(|medium| medium.label.as_str()).collect();
            planned.actions.push(Action {
                change: Change::Update,
                subject: format!("first-boot media of {name} ({})", labels.join(", ")),
                disruption: Disruption::None,
                reason: "detached and deleted once the node has joined".to_owned(),
                fields: Vec::new(),
                place: None,
                irreversible: false,
            });
        }
        all.push(Job { planned, task: Task::Media { node: name.clone() } });
    }
    all
}

/// What the plan does to the control plane, step by step.
async fn quorum(run: &Run, jobs: &mut [Job], notes: &mut Vec<Diagnostic>) -> Option<Quorum> {
    if !run.bootstrapped() {
        return None;
    }
    if !jobs.iter().any(|job| costs(run, &job.planned).is_some()) {
        return None;
    }
    let quorum = match run.quorum().await {
        Ok(quorum) => quorum,
        Err(error) => {
            let summary = format!("the members of the control plane cannot be told now: {error}");
            let help = "steps that cost a member wait until they can be told";
            notes.push(Diagnostic::warning("quorum/unknown", summary).help(Some(help)));
            return None;
        }
    };
    // One after the other, so each is judged by what the ones before it leave.
    let mut left = quorum.clone();
    for job in jobs {
        let Some((node, cost)) = costs(run, &job.planned) else { continue };
        job.planned.quorum = match left.judge(&node, cost) {
            Verdict::Free => None,
            Verdict::Fine(words) | Verdict::Outage(words) => Some(words),
            Verdict::Wait(words) => Some(format!("waits for a healthy majority ({words})")),
        };
        if cost == Cost::Leaves {
            left.members.retain(|(member, _)| *member != node);
        }
    }
    if left.members.len() < quorum.members.len() && left.members.len() < 3 {
        let summary = format!(
            "{} of {} control-plane members stay: the cluster then survives the loss of none",
            left.members.len(),
            quorum.members.len()
        );
        notes.push(Diagnostic::warning("quorum/thin", summary));
    }
    Some(quorum)
}

/// The member a unit costs the control plane, if it does.
pub(super) fn costs(run: &Run, planned: &Planned) -> Option<(String, Cost)> {
    let node = planned.unit.node().filter(|node| run.votes(node))?;
    match planned.intent {
        // Its machine goes when the member has left.
        Intent::Absent if matches!(planned.unit, UnitId::Os(_)) => Some((node.to_owned(), Cost::Leaves)),
        Intent::Present if planned.disruption() >= Disruption::Restart => Some((node.to_owned(), Cost::Away)),
        Intent::Absent | Intent::Present => None,
    }
}
