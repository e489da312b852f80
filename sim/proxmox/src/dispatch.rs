//! From a request that was found to the function that answers it: first who
//! may, then where it runs, then whether the parameters are right (facts §1).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::Caller;
use crate::call::{Call, Fail, Outcome, Upload};
use crate::pve::Pve;
use crate::schema::{self, Endpoint, Found, Given, Params};

/// What a client asked for.
pub(crate) struct Asked {
    /// The host it asked.
    pub host: String,
    /// The path as it was asked.
    pub path: String,
    /// None where nobody has to say who they are.
    pub who: Option<Caller>,
    /// Whether a token was given.
    pub by_token: bool,
    /// Parameters of query and body.
    pub given: BTreeMap<String, Given>,
    pub upload: Option<Upload>,
}

/// Calls that ask for a quorum before anything else.
const ASK_FIRST: [&str; 4] = [
    "/nodes/{node}/qemu",
    "/nodes/{node}/qemu/{vmid}/clone",
    "/nodes/{node}/qemu/{vmid}/migrate",
    "/nodes/{node}/qemu/{vmid}/status/start",
];

impl Pve {
    /// Refuses to write the configuration of a machine while most hosts are off (facts §9). What only stops it goes on.
    fn check_quorum(&self, endpoint: &Endpoint, params: &Params) -> Result<(), Fail> {
        let machine = endpoint.path.strip_prefix("/nodes/{node}/qemu");
        let Some(rest) = machine.filter(|_| endpoint.method != "GET" && !self.hosts.is_quorate()) else { return Ok(()) };
        if ASK_FIRST.contains(&endpoint.path) {
            return Err(Fail::die("cluster not ready - no quorum?\n"));
        }
        let Some(id) = params.vmid().filter(|_| !rest.contains("/status/") && !rest.contains("/agent")) else { return Ok(()) };
        let file = format!("/etc/pve/nodes/{}/qemu-server/{id}.conf", params.node());
        Err(Fail::die(format!("unable to open file '{file}.tmp.{}' - Permission denied\n", std::process::id())))
    }

    /// Answers a call.
    pub(crate) async fn dispatch(self: &Arc<Self>, found: Found, asked: Asked) -> Outcome {
        let endpoint = found.endpoint;
        let given = schema::merge(&found.path_params, asked.given)?;
        if asked.by_token && !endpoint.allow_token {
            let text = format!("Permission check failed (URI '{}' not available with API token, need proper ticket.\n)\n", asked.path);
            return Err(Fail::new(403, text));
        }
        self.permitted(endpoint, asked.who.as_ref(), &given)?;
        if endpoint.proxied
            && let Some(Given::Text(node)) = given.get("node")
            && node != "localhost"
            && *node != asked.host
        {
            self.hosts.reach(node)?;
        }
        let params = schema::check(self.release(), endpoint, given)?;
        let Some((_, _, handler)) = self.routes.get(&(endpoint.method, endpoint.path)) else {
            return Err(Fail::new(501, format!("Method '{} {}' not implemented", endpoint.method, asked.path)));
        };
        self.check_quorum(endpoint, &params)?;
        let who = asked.who.unwrap_or(Caller { id: String::new() });
        handler(Call { pve: Arc::clone(self), endpoint, who, asked: asked.host, params, upload: asked.upload }).await
    }
}
