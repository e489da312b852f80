//! What names a chart: a folder of the cluster, an archive that is served, or a chart of a repository or a registry. Pure.

use reqwest::Url;

use super::error::ChartError;
use crate::redact::one_line;

/// Where a chart is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    /// A folder, relative to the cluster's.
    Folder(String),
    /// An archive.
    Archive(Url),
    /// A chart of a repository, which has a list of its charts.
    Listed(Listed),
    /// A repository of a registry.
    Registry(Repository),
}

/// A chart of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// The repository's address.
    pub base: Url,
    /// The chart's name in it.
    pub chart: String,
    /// Its version.
    pub version: String,
}

/// A chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The registry's own address.
    pub base: Url,
    /// The repository in it.
    pub path: String,
    /// The tag, or the digest of the manifest.
    pub version: String,
}

impl Reference {
    /// Reads it as people write it.
    pub fn parse(reference: &str, version: &str) -> Result<Self, ChartError> {
        let fail = |why: &str| {
            let help = "write oci://REGISTRY/CHART or https://REPOSITORY/CHART with a version, https://….tgz, or a folder of the cluster's folder such as ./charts/mine";
            ChartError::new("chart/reference", format!("`{}` names no chart: {why}", one_line(reference, 200)), help)
        };
        if let Some(rest) = reference.strip_prefix("oci://") {
            return Repository::parse(rest, version).map(Self::Registry).map_err(|why| fail(&why));
        }
        if !reference.contains("://") {
            return if reference.is_empty() || reference.contains('\0') {
                Err(fail("it is empty"))
            } else {
                Ok(Self::Folder(reference.to_owned()))
            };
        }
        let url = Url::parse(reference).map_err(|error| fail(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ChartError::new(
                "chart/reference",
                "a chart's address has a user in it",
                "charts are fetched without a credential: leave it out",
            ));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_here(&url) => {}
            "http" => return Err(fail("over http:// anybody on the way could change it; use https://")),
            other => return Err(fail(&format!("{other}:// is not known"))),
        }
        if [".tgz", ".tar.gz"].iter().any(|end| url.path().ends_with(end)) {
            return Ok(Self::Archive(url));
        }
        Listed::parse(url, version).map(Self::Listed).map_err(|why| fail(&why))
    }

    /// What it is called in the lock file: none for a folder, which is kept beside it.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Folder(_) => None,
            Self::Archive(url) => Some(url.to_string()),
            Self::Listed(listed) => Some(listed.to_string()),
            Self::Registry(repository) => Some(repository.to_string()),
        }
    }
}

impl Listed {
    fn parse(url: Url, version: &str) -> Result<Self, String> {
        let chart = url.path_segments().and_then(|mut pieces| pieces.next_back()).unwrap_or_default().to_owned();
        if chart.is_empty() || url.query().is_some() || url.fragment().is_some() {
            return Err("behind the repository's address comes the chart's name, as in https://REPOSITORY/CHART".to_owned());
        }
        if version.is_empty() {
            return Err("a chart of a repository needs a version".to_owned());
        }
        let mut base = url;
        // The repository is a folder, so that what its list names is beside the list.
        let folder = base.path().strip_suffix(chart.as_str()).unwrap_or("/").to_owned();
        base.set_path(&folder);
        Ok(Self { base, chart, version: version.to_owned() })
    }
}

impl std::fmt::Display for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}:{}", self.base, self.chart, self.version)
    }
}

impl Repository {
    fn parse(rest: &str, version: &str) -> Result<Self, String> {
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest)),
            Some(_) => return Err("behind the @ is no sha256: digest".to_owned()),
            None => (rest, None),
        };
        let (host, path) = rest.split_once('/').ok_or("there is no repository in it")?;
        let piece = |piece: &str| {
            piece.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
                && piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if let Some((_, tag)) = path.rsplit_once(':') {
            return Err(format!("write the version apart, as `version: {tag}`"));
        }
        if path.len() > 255 || !path.split('/').all(piece) {
            return Err("the repository has characters that no repository has".to_owned());
        }
        let base = |scheme: &str| Url::parse(&format!("{scheme}://{host}/")).map_err(|error| error.to_string());
        let mut url = base("https")?;
        if url.host_str().is_none() || !url.username().is_empty() || url.password().is_some() || url.path() != "/" {
            return Err("there is no registry in it".to_owned());
        }
        if is_here(&url) {
            // As every client of registries does.
            url = base("http")?;
        }
        // A tag has no plus; Helm writes it so.
        let tag = version.replace('+', "_");
        let version = match digest {
            Some(digest) => digest.to_owned(),
            None if tag.len() <= 128
                && tag.bytes().next().is_some_and(|first| first != b'.' && first != b'-')
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) =>
            {
                tag
            }
            None if tag.is_empty() => return Err("a chart of a registry needs a version".to_owned()),
            None => return Err(format!("`{}` is no version", one_line(version, 80))),
        };
        Ok(Self { base: url, path: path.to_owned(), version })
    }

    /// The address of a manifest or a blob.
    pub fn url(&self, kind: &str, reference: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{kind}/{reference}", self.path));
        url
    }
}

impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = self.base.host_str().unwrap_or_default();
        let port = self.base.port().map_or_else(String::new, |port| format!(":{port}"));
        let between = if is_digest(&self.version) { '@' } else { ':' };
        write!(f, "oci://{host}{port}/{}{between}{}", self.path, self.version)
    }
}

/// Whether it is `sha256:` and a digest.
pub(super) fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether it leads to this machine, by its address or its one name.
pub(super) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_named_as_people_write_them() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let key = |reference: &str, version: &str| {
            Reference::parse(reference, version).map(|reference| reference.key()).map_err(|error| error.to_string())
        };
        assert_eq!(key("./charts/mine", ""), Ok(None));
        assert_eq!(key("https://example.com/a-1.tgz", "1"), Ok(Some("https://example.com/a-1.tgz".to_owned())));
        assert_eq!(key("https://example.com/charts/a", "1.2.3"), Ok(Some("https://example.com/charts/a:1.2.3".to_owned())));
        assert!(
            matches!(Reference::parse("https://example.com/a", "1"), Ok(Reference::Listed(listed)) if listed.base.as_str() == "https://example.com/")
        );
        assert_eq!(key("oci://example.com/a/b", "1.2.3+x"), Ok(Some("oci://example.com/a/b:1.2.3_x".to_owned())));
        assert_eq!(key(&format!("oci://example.com/a/b@{digest}"), ""), Ok(Some(format!("oci://example.com/a/b@{digest}"))));
        assert!(matches!(Reference::parse("oci://localhost:5000/a", "1"), Ok(Reference::Registry(here)) if here.base.scheme() == "http"));
        assert!(
            matches!(Reference::parse("oci://registry.example:5000/a", "1"), Ok(Reference::Registry(there)) if there.base.scheme() == "https")
        );
        for (reference, version, part) in [
            ("http://example.com/a.tgz", "1", "anybody on the way"),
            ("https://user:pw@example.com/a.tgz", "1", "has a user in it"),
            ("ftp://example.com/a.tgz", "1", "ftp:// is not known"),
            ("https://example.com/", "1", "comes the chart's name"),
            ("https://example.com/a", "", "needs a version"),
            ("oci://example.com", "1", "no repository"),
            ("oci://example.com/a:1", "1", "write the version apart, as `version: 1`"),
            ("oci://example.com/a", "", "needs a version"),
            ("oci://example.com/a", "1/../2", "is no version"),
            ("oci://example.com/../a", "1", "no repository has"),
            ("oci://u@example.com/a", "1", "no sha256"),
            ("", "1", "it is empty"),
        ] {
            let error = key(reference, version).expect_err(reference);
            assert!(error.contains(part), "{reference}: {error}");
        }
    }
}
