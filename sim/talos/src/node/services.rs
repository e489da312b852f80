//! The services of a node: which there are, in which state they are, and what
//! happened to them.

use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

use emhost_talos_api::machine;

/// Events a service remembers.
const REMEMBERED: usize = 64;

/// In which state a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceState {
    Preparing,
    Waiting,
    Starting,
    Running,
    Stopping,
    Finished,
    Failed,
}

impl ServiceState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Preparing => "Preparing",
            Self::Waiting => "Waiting",
            Self::Starting => "Starting",
            Self::Running => "Running",
            Self::Stopping => "Stopping",
            Self::Finished => "Finished",
            Self::Failed => "Failed",
        }
    }

    pub fn action(self) -> machine::ServiceStateEventAction {
        match self {
            Self::Preparing => machine::ServiceStateEventAction::Preparing,
            Self::Waiting => machine::ServiceStateEventAction::Waiting,
            Self::Starting => machine::ServiceStateEventAction::Starting,
            Self::Running => machine::ServiceStateEventAction::Running,
            Self::Stopping => machine::ServiceStateEventAction::Stopping,
            Self::Finished => machine::ServiceStateEventAction::Finished,
            Self::Failed => machine::ServiceStateEventAction::Failed,
        }
    }
}

/// One service.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub state: ServiceState,
    /// What its health check says; none before the first, and for services without one.
    pub healthy: Option<bool>,
    last_message: String,
    last_change: SystemTime,
    events: VecDeque<(SystemTime, ServiceState, String)>,
}

impl Service {
    fn new() -> Self {
        Self {
            state: ServiceState::Starting,
            healthy: None,
            last_message: String::new(),
            last_change: SystemTime::now(),
            events: VecDeque::new(),
        }
    }

    fn push(&mut self, message: &str) {
        if self.events.len() == REMEMBERED {
            self.events.pop_front();
        }
        self.events.push_back((SystemTime::now(), self.state, message.to_owned()));
    }

    /// Whether others may count on it.
    pub fn up(&self) -> bool {
        self.state == ServiceState::Running && self.healthy != Some(false)
    }

    fn health(&self) -> machine::ServiceHealth {
        machine::ServiceHealth {
            unknown: self.healthy.is_none(),
            healthy: self.healthy == Some(true),
            last_message: self.last_message.clone(),
            last_change: Some(self.last_change.into()),
        }
    }
}

/// All services of a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Services(BTreeMap<String, Service>);

impl Services {
    pub fn get(&self, id: &str) -> Option<&Service> {
        self.0.get(id)
    }

    pub fn ids(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub fn up(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(Service::up)
    }

    pub fn running(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|service| service.state == ServiceState::Running)
    }

    /// Puts a service into a state. Gives what to tell, or nothing where it was so already.
    pub fn set(&mut self, id: &str, state: ServiceState, message: &str) -> Option<machine::ServiceStateEvent> {
        let known = self.0.contains_key(id);
        let service = self.0.entry(id.to_owned()).or_insert_with(Service::new);
        let same = known && service.state == state && service.events.back().is_some_and(|event| event.2 == message);
        if same {
            return None;
        }
        service.state = state;
        if state != ServiceState::Running {
            service.healthy = None;
        }
        service.push(message);
        Some(machine::ServiceStateEvent {
            service: id.to_owned(),
            action: state.action() as i32,
            message: message.to_owned(),
            health: None,
        })
    }

    /// The result of a health check. Gives what to tell, or nothing where it was so already.
    pub fn check(&mut self, id: &str, problem: Option<&str>) -> Option<machine::ServiceStateEvent> {
        let service = self.0.get_mut(id).filter(|service| service.state == ServiceState::Running)?;
        let healthy = problem.is_none();
        if service.healthy == Some(healthy) {
            return None;
        }
        service.healthy = Some(healthy);
        problem.unwrap_or_default().clone_into(&mut service.last_message);
        service.last_change = SystemTime::now();
        let message = problem.map_or_else(|| "Health check successful".to_owned(), |text| format!("Health check failed: {text}"));
        service.push(&message);
        Some(machine::ServiceStateEvent {
            service: id.to_owned(),
            action: ServiceState::Running.action() as i32,
            message,
            health: Some(service.health()),
        })
    }

    /// As the API lists them.
    pub fn list(&self) -> Vec<machine::ServiceInfo> {
        let event = |event: &(SystemTime, ServiceState, String)| machine::ServiceEvent {
            msg: event.2.clone(),
            state: event.1.name().to_owned(),
            ts: Some(event.0.into()),
        };
        let info = |(id, service): (&String, &Service)| machine::ServiceInfo {
            id: id.clone(),
            state: service.state.name().to_owned(),
            events: Some(machine::ServiceEvents { events: service.events.iter().map(event).collect() }),
            health: Some(service.health()),
        };
        self.0.iter().map(info).collect()
    }
}

/// Services whose health nobody checks.
pub(crate) fn unchecked(id: &str) -> bool {
    id == "dashboard" || id.starts_with("ext-")
}

/// The services of a node, in the order they start. The first ones run before there is a configuration.
pub(crate) fn early() -> &'static [&'static str] {
    &["machined", "auditd", "syslogd", "containerd", "udevd", "dashboard"]
}

/// The service of an extension, where it has one.
pub(crate) fn of_extension(name: &str) -> Option<String> {
    const WITH_SERVICE: [&str; 6] = ["qemu-guest-agent", "tailscale", "cloudflared", "nvidia-persistenced", "newt", "vmtoolsd-guest-agent"];
    let short = name.rsplit('/').next().unwrap_or(name);
    match short {
        "iscsi-tools" => Some("ext-iscsid".to_owned()),
        _ if short.starts_with("nvidia-container-toolkit") => Some("ext-nvidia-persistenced".to_owned()),
        _ => WITH_SERVICE.contains(&short).then(|| format!("ext-{short}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_service_tells_each_change_once() {
        let mut services = Services::default();
        assert!(services.check("etcd", None).is_none(), "not there yet");
        assert!(services.set("etcd", ServiceState::Running, "Started task etcd").is_some());
        assert!(services.set("etcd", ServiceState::Running, "Started task etcd").is_none());
        assert!(services.up("etcd"), "a service that is not checked counts as up");
        assert_eq!(
            services.check("etcd", Some("context deadline exceeded")).unwrap().message,
            "Health check failed: context deadline exceeded"
        );
        assert!(!services.up("etcd"));
        assert!(services.check("etcd", None).unwrap().health.unwrap().healthy);
        assert!(services.check("etcd", None).is_none());
        let info = &services.list()[0];
        assert_eq!((info.state.as_str(), info.events.as_ref().unwrap().events.len()), ("Running", 3));
        services.set("etcd", ServiceState::Stopping, "Sending SIGTERM");
        assert!(services.list()[0].health.as_ref().unwrap().unknown);
    }

    #[test]
    fn extensions_bring_services() {
        assert_eq!(of_extension("siderolabs/qemu-guest-agent").unwrap(), "ext-qemu-guest-agent");
        assert_eq!(of_extension("siderolabs/iscsi-tools").unwrap(), "ext-iscsid");
        assert_eq!(of_extension("siderolabs/util-linux-tools"), None);
    }
}
