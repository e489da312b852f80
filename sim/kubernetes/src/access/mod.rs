//! Who asks, and whether they may.

pub(crate) mod rbac;
pub(crate) mod reviews;
pub(crate) mod tokens;

use rustls::pki_types::CertificateDer;

/// Somebody who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
}

impl User {
    /// Out of a client's certificate: the common name is the user, organizations are groups.
    pub(crate) fn of_certificate(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let name = parsed.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
        let mut groups: Vec<String> = parsed.subject().iter_organization().filter_map(|one| one.as_str().ok()).map(str::to_owned).collect();
        groups.push("system:authenticated".to_owned());
        Some(Self { name, uid: String::new(), groups })
    }

    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }
}

/// What somebody wants to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempt {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// A path that is no resource.
    pub(crate) path: Option<String>,
}

impl Attempt {
    /// Why it is refused, in the words of the server.
    pub(crate) fn refusal(&self, user: &User) -> String {
        if let Some(path) = &self.path {
            return format!("forbidden: User \"{}\" cannot {} path \"{path}\"", user.name, self.verb);
        }
        let slash = if self.subresource.is_empty() { String::new() } else { format!("/{}", self.subresource) };
        let resource = format!("{}{slash}", self.resource);
        let place =
            if self.namespace.is_empty() { "at the cluster scope".to_owned() } else { format!("in the namespace \"{}\"", self.namespace) };
        let qualified = if self.group.is_empty() { self.resource.clone() } else { format!("{}.{}", self.resource, self.group) };
        let subject = if self.name.is_empty() { qualified } else { format!("{qualified} \"{}\"", self.name) };
        format!(
            "{subject} is forbidden: User \"{}\" cannot {} resource \"{resource}\" in API group \"{}\" {place}",
            user.name, self.verb, self.group
        )
    }
}
