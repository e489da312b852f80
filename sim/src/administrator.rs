//! Somebody with every right at the API of a running site.

use std::time::Duration;

use serde_json::Value;

use crate::Access;

/// The longest pause between two looks at a task.
const LONGEST: Duration = Duration::from_millis(500);
/// How often a task is looked at before it counts as stuck.
const LOOKS: u32 = 6000;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The connection failed.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    /// The other side said no.
    #[error("{what}: {reason}")]
    Refused {
        /// The request.
        what: String,
        /// What it answered.
        reason: String,
    },
}

impl ApiError {
    pub(crate) fn refused(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), reason: reason.into() }
    }
}

/// Somebody with every right at the API of a running site.
#[derive(Debug, Clone)]
pub struct Administrator {
    access: Access,
    client: reqwest::Client,
}

impl Administrator {
    /// Comes to the site that is reached so.
    ///
    /// # Errors
    /// Its authority cannot be read.
    pub fn new(access: Access) -> Result<Self, ApiError> {
        emhost_sim_kit::tls::provider();
        let authorities = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes())?;
        // Proxmox closes connections that nobody used for five seconds: one that is about to be closed is not used again.
        let idle = Duration::from_secs(2);
        let client = reqwest::Client::builder().tls_certs_only(authorities).no_proxy().pool_idle_timeout(idle).build()?;
        Ok(Self { access, client })
    }

    /// How the site is reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    async fn send(&self, method: &str, path: &str, form: Option<&[(&str, &str)]>) -> Result<Value, ApiError> {
        let what = format!("{method} {path}");
        let url = format!("{}/api2/json{path}", self.access.pve);
        let request = match method {
            "POST" => self.client.post(url),
            "PUT" => self.client.put(url),
            "DELETE" => self.client.delete(url),
            _ => self.client.get(url),
        };
        let request = request.header("Authorization", format!("PVEAPIToken={}", self.access.token));
        let request = if let Some(form) = form { request.form(form) } else { request };
        let answer = request.send().await?;
        let status = answer.status();
        let mut body: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        if status.is_success() { Ok(body["data"].take()) } else { Err(ApiError::refused(what, format!("{status} {body}"))) }
    }

    /// Reads.
    ///
    /// # Errors
    /// Proxmox said no.
    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.send("GET", path, None).await
    }

    /// Makes or does.
    ///
    /// # Errors
    /// Proxmox said no.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Value, ApiError> {
        self.send("POST", path, Some(form)).await
    }

    /// Changes.
    ///
    /// # Errors
    /// Proxmox said no.
    pub async fn put(&self, path: &str, form: &[(&str, &str)]) -> Result<Value, ApiError> {
        self.send("PUT", path, Some(form)).await
    }

    /// Removes.
    ///
    /// # Errors
    /// Proxmox said no.
    pub async fn delete(&self, path: &str) -> Result<Value, ApiError> {
        self.send("DELETE", path, None).await
    }

    /// Waits for the task that a request answered with, which has to end well.
    ///
    /// # Errors
    /// It did not, or there is none.
    pub async fn finish(&self, task: &Value) -> Result<(), ApiError> {
        let upid = task.as_str().unwrap_or_default();
        // `UPID:NODE:…`: where it runs is where it is asked about.
        let node = upid.split(':').nth(1).ok_or_else(|| ApiError::refused(task.to_string(), "this is no task"))?;
        let mut pause = Duration::from_millis(5);
        for _ in 0..LOOKS {
            let task = self.get(&format!("/nodes/{node}/tasks/{upid}/status")).await?;
            match (task["status"].as_str(), task["exitstatus"].as_str()) {
                (Some("stopped"), Some("OK")) => return Ok(()),
                (Some("stopped"), exit) => return Err(ApiError::refused(upid, exit.unwrap_or_default())),
                _ => tokio::time::sleep(pause).await,
            }
            // Soon where nothing takes time, and without noise where much does.
            pause = (pause * 2).min(LONGEST);
        }
        Err(ApiError::refused(upid, "the task does not end"))
    }

    /// Starts a task with a POST, and waits for it.
    ///
    /// # Errors
    /// Proxmox said no, or the task did not end well.
    pub async fn run(&self, path: &str, form: &[(&str, &str)]) -> Result<(), ApiError> {
        self.finish(&self.post(path, form).await?).await
    }

    /// The id of a schematic at the site's Image Factory.
    ///
    /// # Errors
    /// It takes no such schematic.
    pub async fn schematic(&self, text: &str) -> Result<String, ApiError> {
        let answer = self.client.post(format!("{}/schematics", self.access.factory)).body(text.to_owned()).send().await?;
        let created = answer.status() == reqwest::StatusCode::CREATED;
        let answer: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        let id = answer["id"].as_str().filter(|_| created).map(str::to_owned);
        id.ok_or_else(|| ApiError::refused("POST /schematics", "the Image Factory takes no such schematic"))
    }
}
