//! Accelerators: which there are, which node gets which, and whether the hypervisor can hand them over.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::crew::Worker;
use super::events::Event;
use super::planning::{Problems, each, placed, problems};
use super::run::{Run, Turn};
use crate::bindings::exports::emhost::plugin::gpu::{Assignment, Device};
use crate::diagnostic::{Diagnostic, Severity};
use crate::inventory::Node;

/// Who gets what.
pub(super) struct Given {
    /// Which device belongs to which node from now on.
    pub assignments: Vec<Assignment>,
    /// The devices of each node that has some, with the attributes of their assignments.
    pub devices: BTreeMap<String, Vec<Device>>,
    /// What the plugin finds about them.
    pub findings: Vec<Diagnostic>,
}

impl Given {
    /// What keeps devices from their nodes, and what should be known all the same. How things are is for those who ask for it.
    ///
    /// # Errors
    /// Everything that is in the way.
    pub fn judged(&self) -> Result<Vec<Diagnostic>, Problems> {
        let of = |severity| self.findings.iter().filter(move |found| found.severity == severity).cloned().collect::<Vec<_>>();
        let errors = of(Severity::Error);
        if errors.is_empty() { Ok(of(Severity::Warning)) } else { Err(errors) }
    }
}

/// Finds devices, gives them out and has each looked at. Nothing where no node asks for one.
///
/// # Errors
/// Why devices cannot be found, or not be given out.
pub(super) async fn give(run: &Arc<Run>) -> Result<Option<Given>, Problems> {
    let Some(gpu) = &run.crew.gpu else { return Ok(None) };
    run.watch.event(Event::Planning { what: "looking for accelerators".to_owned() });
    let found = run.look(Turn::Take, || async {
        let context = gpu.looks(None);
        gpu.plugin.discover(&context).await
    });
    let found = found.await.map_err(|error| problems(&error))?;
    let kept = run.store.assignments();
    let assigned = run.look(Turn::Take, || async {
        let context = gpu.looks(None);
        gpu.plugin.assign(&context, &found, &kept).await
    });
    let assignments = assigned.await.map_err(|error| problems(&error))?;
    let devices = handed(gpu.name(), &run.now.get().nodes, &found, &assignments)?;
    let all = devices.iter().flat_map(|(node, devices)| devices.iter().map(|device| (node.clone(), device.clone())));
    let findings = each(all.collect::<Vec<_>>(), |(node, device)| {
        let (run, gpu) = (Arc::clone(run), gpu.clone());
        async move { looked_at(&run, &gpu, &node, &device).await }
    });
    let mut told: Vec<Diagnostic> = Vec::new();
    for finding in findings.await?.into_iter().flatten() {
        // What is wrong with a host is wrong for each of its devices.
        if !told.iter().any(|known| known.code == finding.code && known.summary == finding.summary) {
            told.push(finding);
        }
    }
    Ok(Some(Given { assignments, devices, findings: told }))
}

async fn looked_at(run: &Run, gpu: &Worker, node: &str, device: &Device) -> Result<Vec<Diagnostic>, Problems> {
    let context = gpu.looks(None);
    let said = run.look(Turn::Take, || async { gpu.plugin.check_device(&context, device).await });
    let said = said.await.map_err(|error| problems(&error))?;
    let said = said.iter().map(|said| Diagnostic::from_plugin(said, &context.redactor)).collect();
    Ok(placed(run, Some(node), said))
}

/// The devices of each node, as the plugin gave them out; one that gives out what is not there, or twice, is not believed.
fn handed(
    plugin: &str,
    nodes: &[Arc<Node>],
    found: &[Device],
    assignments: &[Assignment],
) -> Result<BTreeMap<String, Vec<Device>>, Problems> {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    let mut devices: BTreeMap<String, Vec<Device>> = BTreeMap::new();
    for Assignment { node, device, attributes } in assignments {
        let wrong = |code: &str, what: String| vec![Diagnostic::error(code, format!("plugin `{plugin}` gives device {device} to {what}"))];
        if let Some(other) = taken.insert(device, node) {
            return Err(wrong("gpu/twice", format!("{other} and to {node}")));
        }
        if !nodes.iter().any(|known| known.name == *node && !known.gpus.is_empty()) {
            return Err(wrong("gpu/stranger", format!("{node}, which asks for none")));
        }
        let Some(known) = found.iter().find(|known| known.id == *device) else {
            return Err(wrong("gpu/stranger", format!("{node}, and did not find such a device")));
        };
        let mut known = known.clone();
        known.attributes.extend(attributes.iter().cloned());
        devices.entry(node.clone()).or_default().push(known);
    }
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::emhost::plugin::inventory::{GpuRequest, NodeRole};
    use crate::bindings::emhost::plugin::types::Attribute;

    fn nodes() -> Vec<Arc<Node>> {
        let mut asks = Node::new("gpu-1", NodeRole::Worker);
        asks.gpus.push(GpuRequest { selector: "vendor=nvidia".to_owned(), count: 1, attributes: Vec::new() });
        vec![Arc::new(asks), Arc::new(Node::new("wk-1", NodeRole::Worker))]
    }

    fn attribute(key: &str) -> Attribute {
        Attribute { key: key.to_owned(), value: String::new() }
    }

    fn device() -> Device {
        Device {
            id: "pve1/0000:01:00.0".to_owned(),
            host: "pve1".to_owned(),
            address: "0000:01:00.0".to_owned(),
            vendor_id: 0x10de,
            device_id: 0x2204,
            model: String::new(),
            iommu_group: None,
            attributes: vec![attribute("facts")],
        }
    }

    fn given(node: &str, device: &str) -> Assignment {
        Assignment { node: node.to_owned(), device: device.to_owned(), attributes: vec![attribute("claim")] }
    }

    #[test]
    fn a_device_comes_with_the_attributes_of_its_assignment() {
        let handed = handed("gpu", &nodes(), &[device()], &[given("gpu-1", "pve1/0000:01:00.0")]).expect("fits");
        let keys: Vec<&str> = handed["gpu-1"][0].attributes.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["facts", "claim"]);
    }

    #[test]
    fn a_plugin_that_gives_out_what_it_does_not_have_is_not_believed() {
        let one = || given("gpu-1", "pve1/0000:01:00.0");
        for (assignments, summary) in [
            (vec![one(), one()], "plugin `gpu` gives device pve1/0000:01:00.0 to gpu-1 and to gpu-1"),
            (vec![given("wk-1", "pve1/0000:01:00.0")], "plugin `gpu` gives device pve1/0000:01:00.0 to wk-1, which asks for none"),
            (vec![given("gpu-1", "pve1/x")], "plugin `gpu` gives device pve1/x to gpu-1, and did not find such a device"),
        ] {
            assert_eq!(handed("gpu", &nodes(), &[device()], &assignments).expect_err("refused")[0].summary, summary);
        }
    }
}
