//! The API of Proxmox VE: requests, answers, refusals and tasks.

pub mod answers;
mod refusal;
pub mod site;
mod upload;

use emhost_sdk::Failure;
use emhost_sdk::http::{Body, Client, Response, encode, query};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use answers::{Interfaces, Line, Listed, ListedTask, Pending, Status, TaskStatus, Volume};
pub use refusal::{Meaning, Refusal, UNEXPLAINED, is_busy, task as task_failure};
pub use upload::multipart;

/// Parameters of a request.
pub type Form = Vec<(String, String)>;

/// How many lines of a failed task's log are shown.
const TAIL: usize = 12;

/// Why a request came to nothing.
#[derive(Debug)]
pub enum Trouble {
    /// Proxmox said no.
    Refused(Refusal),
    /// There is no answer, or none that can be read.
    Failed(Failure),
}

/// An answer, or why there is none.
pub type Answer<T> = Result<T, Trouble>;

impl Trouble {
    /// As a failure. `what` is the end of `could not …`.
    pub fn failure(self, what: &str) -> Failure {
        match self {
            Self::Refused(refusal) => refusal.failure(what),
            Self::Failed(mut failure) => {
                if let Some(first) = failure.diagnostics.first_mut() {
                    first.summary = format!("could not {what}: {}", first.summary);
                    if first.help.is_none() {
                        first.help = Some("see that Proxmox answers at the URL of slot `pve` in site.yaml".to_owned());
                    }
                }
                failure
            }
        }
    }

    /// What Proxmox means, if it said anything.
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            Self::Refused(refusal) => Some(refusal.meaning()),
            Self::Failed(_) => None,
        }
    }
}

/// A client of Proxmox, through slot `pve`.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
}

impl Default for Api {
    fn default() -> Self {
        Self { client: Client::new("pve", "/api2/json") }
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: Option<T>,
}

/// How a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It runs.
    Running,
    /// It ended well, or nobody knows it any more.
    Ended,
    /// It failed.
    Failed(String),
}

impl Api {
    fn read<T: DeserializeOwned>(answer: Result<Response, Failure>) -> Answer<Option<T>> {
        let response = answer.map_err(Trouble::Failed)?;
        if !(200..300).contains(&response.status) {
            return Err(Trouble::Refused(Refusal::read(response.status, &response.reason, &response.body)));
        }
        response.json::<Envelope<T>>().map(|envelope| envelope.data).map_err(Trouble::Failed)
    }

    fn whole<T: DeserializeOwned>(answer: Result<Response, Failure>) -> Answer<T> {
        let nothing = || Trouble::Failed(Failure::unavailable("http/json", "the answer has no data"));
        Self::read(answer)?.ok_or_else(nothing)
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Answer<T> {
        Self::whole(self.client.get(path))
    }

    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, form: &Form) -> Answer<Option<T>> {
        Self::read(self.client.post(path, Body::form(form)))
    }

    pub(crate) fn put<T: DeserializeOwned>(&self, path: &str, form: &Form) -> Answer<Option<T>> {
        Self::read(self.client.put(path, Body::form(form)))
    }

    pub(crate) fn delete<T: DeserializeOwned>(&self, path: &str) -> Answer<Option<T>> {
        Self::read(self.client.delete(path))
    }

    // ---- machines -----------------------------------------------------------------------------

    /// Every machine and container of the Proxmox cluster that we may see.
    ///
    /// # Errors
    /// No answer.
    pub fn machines(&self) -> Answer<Vec<Listed>> {
        self.get("/cluster/resources?type=vm")
    }

    /// The options of a machine, with what waits for its next start.
    ///
    /// # Errors
    /// No answer.
    pub fn options(&self, host: &str, vmid: u32) -> Answer<Vec<Pending>> {
        self.get(&format!("{}/pending", machine(host, vmid)))
    }

    /// Whether a machine runs, now.
    ///
    /// # Errors
    /// No answer.
    pub fn runs(&self, host: &str, vmid: u32) -> Answer<bool> {
        let status: Status = self.get(&format!("{}/status/current", machine(host, vmid)))?;
        Ok(status.status == "running")
    }

    /// Makes a machine; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn create(&self, host: &str, form: &Form) -> Answer<String> {
        Self::whole(self.client.post(&format!("/nodes/{}/qemu", encode(host)), Body::form(form)))
    }

    /// Copies a template; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn clone_machine(&self, host: &str, template: u32, form: &Form) -> Answer<String> {
        Self::whole(self.client.post(&format!("{}/clone", machine(host, template)), Body::form(form)))
    }

    /// Sets options at once.
    ///
    /// # Errors
    /// A refusal.
    pub fn set(&self, host: &str, vmid: u32, form: &Form) -> Answer<()> {
        self.put::<serde_json::Value>(&format!("{}/config", machine(host, vmid)), form).map(drop)
    }

    /// Sets options that take time; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn set_slowly(&self, host: &str, vmid: u32, form: &Form) -> Answer<Option<String>> {
        self.post(&format!("{}/config", machine(host, vmid)), form)
    }

    /// Lets a disk grow; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn resize(&self, host: &str, vmid: u32, form: &Form) -> Answer<Option<String>> {
        self.put(&format!("{}/resize", machine(host, vmid)), form)
    }

    /// `start`, `stop` or `reboot`; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn power(&self, host: &str, vmid: u32, word: &str, form: &Form) -> Answer<String> {
        Self::whole(self.client.post(&format!("{}/status/{word}", machine(host, vmid)), Body::form(form)))
    }

    /// Removes a machine with its disks; answers with a task. Whatever only carries its number stays.
    ///
    /// # Errors
    /// A refusal.
    pub fn remove(&self, host: &str, vmid: u32) -> Answer<String> {
        let options = query(&[("purge", "1"), ("destroy-unreferenced-disks", "0")]);
        Self::whole(self.client.delete(&format!("{}?{options}", machine(host, vmid))))
    }

    /// What the guest agent says about network cards.
    ///
    /// # Errors
    /// No answer, or no agent.
    pub fn interfaces(&self, host: &str, vmid: u32) -> Answer<Interfaces> {
        self.get(&format!("{}/agent/network-get-interfaces", machine(host, vmid)))
    }

    // ---- storages -----------------------------------------------------------------------------

    /// The names of a storage's volumes of one content.
    ///
    /// # Errors
    /// No answer.
    pub fn volumes(&self, host: &str, storage: &str, content: &str) -> Answer<Vec<String>> {
        let volumes: Vec<Volume> = self.get(&format!("{}/content?{}", store(host, storage), query(&[("content", content)])))?;
        Ok(volumes.into_iter().map(|volume| volume.volid).collect())
    }

    /// Lets a host fetch a file; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn download(&self, host: &str, storage: &str, form: &Form) -> Answer<String> {
        Self::whole(self.client.post(&format!("{}/download-url", store(host, storage)), Body::form(form)))
    }

    /// Brings a medium to a storage; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn upload(&self, host: &str, storage: &str, name: &str, bytes: &[u8]) -> Answer<String> {
        let (content_type, body) = multipart(name, bytes);
        Self::whole(self.client.post(&format!("{}/upload", store(host, storage)), Body::bytes(content_type, body)))
    }

    /// Deletes a volume; answers with a task.
    ///
    /// # Errors
    /// A refusal.
    pub fn delete_volume(&self, host: &str, volume: &str) -> Answer<Option<String>> {
        let storage = volume.split(':').next().unwrap_or_default();
        Self::read(self.client.delete(&format!("{}/content/{}", store(host, storage), encode(volume))))
    }

    // ---- tasks --------------------------------------------------------------------------------

    /// How a task is.
    ///
    /// # Errors
    /// No answer.
    pub fn progress(&self, upid: &str) -> Answer<Progress> {
        let status: TaskStatus = match self.get(&format!("{}/status", task_path(upid))) {
            Err(trouble) if trouble.meaning() == Some(Meaning::Gone) => return Ok(Progress::Ended),
            answer => answer?,
        };
        if status.status == "running" {
            return Ok(Progress::Running);
        }
        let exit = status.exitstatus.unwrap_or_default();
        // Warnings are not failures (facts §4).
        let fine = exit == "OK" || exit.strip_prefix("WARNINGS: ").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        Ok(if fine { Progress::Ended } else { Progress::Failed(exit) })
    }

    /// The end of a task's log; empty where it cannot be had.
    pub fn tail(&self, upid: &str) -> Vec<String> {
        let lines: Vec<Line> = self.get(&format!("{}/log?start=0&limit=500", task_path(upid))).unwrap_or_default();
        let skipped = lines.len().saturating_sub(TAIL);
        lines.into_iter().skip(skipped).map(|line| line.t).collect()
    }

    /// Tasks that run on a host.
    ///
    /// # Errors
    /// No answer.
    pub fn running(&self, host: &str) -> Answer<Vec<ListedTask>> {
        self.get(&format!("/nodes/{}/tasks?{}", encode(host), query(&[("source", "active")])))
    }
}

fn machine(host: &str, vmid: u32) -> String {
    format!("/nodes/{}/qemu/{vmid}", encode(host))
}

fn store(host: &str, storage: &str) -> String {
    format!("/nodes/{}/storage/{}", encode(host), encode(storage))
}

/// A task is asked about where it runs.
fn task_path(upid: &str) -> String {
    let host = upid.split(':').nth(1).unwrap_or_default();
    format!("/nodes/{}/tasks/{}", encode(host), encode(upid))
}
