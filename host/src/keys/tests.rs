use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, LazyLock},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
    PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SigningKey as _, date_time_ymd,
};
use rustls::{
    RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _},
    server::WebPkiClientVerifier,
    sign::CertifiedKey,
};

use super::*;

const DAY: Duration = Duration::from_hours(24);

/// 2026-01-01, well within every authority of these tests.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(490_896)
}

fn request() -> ClientRequest {
    ClientRequest { organizations: ["os:reader", "os:admin", "os:reader"].map(String::from).into(), common_name: None, valid: DAY }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "talos");
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2035, 1, 1);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// An authority made by rcgen: certificate in PEM, key in PKCS#8.
struct Authority {
    certificate: String,
    pkcs8: Vec<u8>,
}

impl Authority {
    fn new(key: &rcgen::KeyPair, params: &CertificateParams) -> Self {
        Self { certificate: params.self_signed(key).unwrap().pem(), pkcs8: key.serialize_der() }
    }

    fn of(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        Self::new(&rcgen::KeyPair::generate_for(algorithm).unwrap(), &authority_params())
    }

    fn rsa() -> &'static Self {
        static RSA: LazyLock<Authority> = LazyLock::new(|| {
            let key = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa2048).unwrap()).unwrap();
            Authority::new(&key, &authority_params())
        });
        &RSA
    }

    /// The key as it is inside of PKCS#8: SEC1, PKCS#1, or an Ed25519 seed.
    fn inner(&self) -> &[u8] {
        unwrap_pkcs8(&self.pkcs8).unwrap().1
    }

    fn pem(&self) -> String {
        self.pem_with("PRIVATE KEY", &self.pkcs8)
    }

    fn pem_with(&self, label: &str, key: &[u8]) -> String {
        format!("{}{}", self.certificate, &*pem::write(label, key))
    }

    /// As in Talos's secrets: version 1, 48 bytes, a label of its own.
    fn talos_pem(&self) -> String {
        let key = wrap_pkcs8(&der::algorithm(der::ED25519, &[]), self.inner());
        assert_eq!(key.len(), 48);
        self.pem_with("ED25519 PRIVATE KEY", &key)
    }
}

fn der_of(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// What rustls says about the identity at `at`.
fn verify(identity: &ClientIdentity, at: SystemTime) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(der_of(identity.authority.as_ref().unwrap())).unwrap();
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let at = UnixTime::since_unix_epoch(at.duration_since(UNIX_EPOCH).unwrap());
    verifier.verify_client_cert(&der_of(&identity.certificate), &[], at)?;
    Ok(())
}

/// Everything `facts/talos.md §1` says about a client certificate.
fn check_identity(identity: &ClientIdentity) {
    verify(identity, now()).unwrap();
    verify(identity, now() - Duration::from_mins(1)).unwrap();
    verify(identity, now() - Duration::from_secs(61)).unwrap_err();
    verify(identity, now() + DAY).unwrap();
    verify(identity, now() + DAY + Duration::from_secs(1)).unwrap_err();

    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let key = default_provider().key_provider.load_private_key(key).unwrap();
    CertifiedKey::new(vec![der_of(&identity.certificate)], key).keys_match().unwrap();

    let (der, authority) = (der_of(&identity.certificate), der_of(identity.authority.as_ref().unwrap()));
    let (certificate, authority) = (parse_certificate(&der).unwrap(), parse_certificate(&authority).unwrap());
    assert_eq!(certificate.subject().to_string(), "O=os:admin, O=os:reader");
    assert_eq!(certificate.issuer().as_raw(), authority.subject().as_raw());
    assert_eq!(certificate.raw_serial().len(), 16);
    assert_eq!(certificate.version().0, 2);

    let usage = certificate.key_usage().unwrap().unwrap();
    assert!(usage.critical);
    assert_eq!(usage.value.flags, 1, "digitalSignature and nothing else");
    let extended = certificate.extended_key_usage().unwrap().unwrap().value;
    assert!(extended.client_auth && !extended.server_auth && !extended.any);
    assert!(extended.other.is_empty());
    assert!(certificate.basic_constraints().unwrap().is_none());
    assert!(certificate.subject_alternative_name().unwrap().is_none());

    let subject_key = authority.iter_extensions().find_map(|e| match e.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.clone()),
        _ => None,
    });
    let issuer_key = certificate.iter_extensions().find_map(|e| match e.parsed_extension() {
        ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.clone(),
        _ => None,
    });
    assert!(subject_key.is_some());
    assert_eq!(issuer_key, subject_key);
}

fn issue(ca: &str) -> Result<ClientIdentity, KeyError> {
    issue_client(ca.as_bytes(), &request(), now())
}

fn key_algorithm(identity: &ClientIdentity) -> Vec<u8> {
    let der = der_of(&identity.certificate);
    let certificate = parse_certificate(&der).unwrap();
    certificate.public_key().algorithm.algorithm.as_bytes().to_vec()
}

#[test]
fn generated_keys_are_read_back() {
    for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256, KeyKind::Rsa2048] {
        let pem = generate(kind).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{kind:?}");
        let key = rcgen::KeyPair::from_pem(&pem).unwrap();
        key.sign(b"message").unwrap();
        assert_ne!(pem, generate(kind).unwrap(), "{kind:?} is not random");
    }
}

#[test]
#[ignore = "takes many seconds"]
fn generated_rsa_4096_is_read_back() {
    let key = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa4096).unwrap()).unwrap();
    assert_eq!(key.sign(b"message").unwrap().len(), 512);
}

#[test]
fn generated_ed25519_is_what_talos_has_under_its_label() {
    let pem = generate(KeyKind::Ed25519).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let der = key.secret_der();
    assert_eq!(der.len(), 48);
    assert!(der.starts_with(b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"));
}

#[test]
fn ed25519_authority_issues() {
    let authority = Authority::of(&PKCS_ED25519);
    for ca in [authority.pem(), authority.talos_pem()] {
        let identity = issue(&ca).unwrap();
        check_identity(&identity);
        assert_eq!(key_algorithm(&identity), der::ED25519);
    }
}

#[test]
fn p256_authority_issues() {
    let authority = Authority::of(&PKCS_ECDSA_P256_SHA256);
    // Without the public key, which SEC1 makes optional.
    let scalar = der::write(der::OCTET_STRING, &[unwrap_sec1(authority.inner()).unwrap()]);
    let bare = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar]);
    for ca in [authority.pem(), authority.pem_with("EC PRIVATE KEY", authority.inner()), authority.pem_with("EC PRIVATE KEY", &bare)] {
        let identity = issue(&ca).unwrap();
        check_identity(&identity);
        assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
    }
}

#[test]
fn p384_authority_issues() {
    let identity = issue(&Authority::of(&PKCS_ECDSA_P384_SHA384).pem()).unwrap();
    check_identity(&identity);
    assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
}

#[test]
fn rsa_authority_issues() {
    let authority = Authority::rsa();
    for ca in [authority.pem(), authority.pem_with("RSA PRIVATE KEY", authority.inner())] {
        let identity = issue(&ca).unwrap();
        check_identity(&identity);
        assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
    }
}

#[test]
fn order_text_between_and_line_ends_do_not_matter() {
    let authority = Authority::of(&PKCS_ED25519);
    let key = pem::write("PRIVATE KEY", &authority.pkcs8);
    let ca = format!(
        "Bag Attributes\n{}subject: O = talos\n-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n\
         -----END EC PARAMETERS-----\n  {}",
        &*key, authority.certificate,
    );
    check_identity(&issue(&ca).unwrap());
    check_identity(&issue(&ca.replace('\n', "\r\n")).unwrap());
}

#[test]
fn subject_carries_the_common_name_last() {
    let request =
        ClientRequest { organizations: vec!["system:masters".into()], common_name: Some("Jürgen".into()), valid: Duration::from_secs(1) };
    let ca = Authority::of(&PKCS_ED25519).pem();
    let identity = issue_client(ca.as_bytes(), &request, now()).unwrap();
    verify(&identity, now() + Duration::from_secs(1)).unwrap();
    verify(&identity, now() + Duration::from_secs(2)).unwrap_err();
    let der = der_of(&identity.certificate);
    let certificate = parse_certificate(&der).unwrap();
    assert_eq!(certificate.subject().to_string(), "O=system:masters, CN=Jürgen");
}

#[test]
fn every_identity_is_new() {
    let ca = Authority::of(&PKCS_ED25519).pem();
    let (one, two) = (issue(&ca).unwrap(), issue(&ca).unwrap());
    assert_ne!(one.key, two.key);
    let (one, two) = (der_of(&one.certificate), der_of(&two.certificate));
    let (one, two) = (parse_certificate(&one).unwrap(), parse_certificate(&two).unwrap());
    assert_ne!(one.raw_serial(), two.raw_serial());
}

#[test]
fn validity_passes_2050() {
    let mut params = authority_params();
    params.not_after = date_time_ymd(2090, 1, 1);
    let key = rcgen::KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let ca = Authority::new(&key, &params).pem();
    let mut request = request();
    request.valid = MAX_VALID;
    // 2045-01-01
    let at = UNIX_EPOCH + Duration::from_hours(657_456);
    let identity = issue_client(ca.as_bytes(), &request, at).unwrap();
    verify(&identity, at + MAX_VALID).unwrap();
    verify(&identity, at + MAX_VALID + Duration::from_secs(1)).unwrap_err();
}

#[test]
fn lifetimes_outside_of_the_bounds_are_refused() {
    let ca = Authority::of(&PKCS_ED25519).pem();
    for valid in [Duration::ZERO, Duration::from_millis(999), MAX_VALID + Duration::from_nanos(1), Duration::MAX] {
        let request = ClientRequest { valid, ..request() };
        let error = issue_client(ca.as_bytes(), &request, now()).unwrap_err();
        assert_eq!(error, KeyError::InvalidLifetime, "{valid:?}");
    }
}

#[test]
fn unusable_names_are_refused() {
    let ca = Authority::of(&PKCS_ED25519).pem();
    let issue = |organizations: Vec<String>, common_name: Option<&str>| {
        let request = ClientRequest { organizations, common_name: common_name.map(String::from), valid: DAY };
        issue_client(ca.as_bytes(), &request, now()).map(drop)
    };
    assert_eq!(issue(vec![], None), Err(KeyError::NoSubject));
    let long = "ü".repeat(64);
    assert_eq!(issue(vec![], Some(&long)), Ok(()));
    for name in ["", "a\0b", "a\nb", "\u{85}", &format!("{long}x")] {
        assert_eq!(issue(vec![name.into()], None), Err(KeyError::InvalidName), "{name:?}");
        assert_eq!(issue(vec![], Some(name)), Err(KeyError::InvalidName), "{name:?}");
    }
    let many = |count| (0..count).map(|n| format!("{n}{}", "ü".repeat(60))).collect();
    assert_eq!(issue(many(64), None), Ok(()));
    assert_eq!(issue(many(65), None), Err(KeyError::InvalidName));
}

#[test]
fn times_that_no_certificate_carries_are_refused() {
    let ca = Authority::of(&PKCS_ED25519).pem();
    for at in [
        UNIX_EPOCH - Duration::from_secs(1),
        UNIX_EPOCH + Duration::from_hours(70_389_528), // the year 10000
        UNIX_EPOCH + Duration::from_secs(i64::MAX as u64 - 1),
    ] {
        let error = issue_client(ca.as_bytes(), &request(), at).unwrap_err();
        assert_eq!(error, KeyError::InvalidTime, "{at:?}");
    }
    let error = issue_client(ca.as_bytes(), &request(), UNIX_EPOCH).unwrap_err();
    assert_eq!(error, KeyError::AuthorityNotYetValid { date: "2025-01-01".into() });
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let ed25519 = [&PKCS_ED25519; 2].map(Authority::of);
    let p256 = [&PKCS_ECDSA_P256_SHA256; 2].map(Authority::of);
    let p384 = Authority::of(&PKCS_ECDSA_P384_SHA384);
    let other_rsa = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa2048).unwrap()).unwrap();
    let other_rsa = Authority::new(&other_rsa, &authority_params());
    let all = [&ed25519[0], &ed25519[1], &p256[0], &p256[1], &p384, Authority::rsa(), &other_rsa];
    for (i, certificate) in all.iter().enumerate() {
        for (j, key) in all.iter().enumerate() {
            let ca = certificate.pem_with("PRIVATE KEY", &key.pkcs8);
            let issued = issue(&ca).map(drop);
            let read = ClientIdentity::from_pem(ca.as_bytes()).map(drop);
            let expected = if i == j { Ok(()) } else { Err(KeyError::KeyMismatch) };
            assert_eq!(issued, expected, "{i} {j}");
            assert_eq!(read, expected, "{i} {j}");
        }
    }
}

#[test]
fn an_authority_out_of_its_time_is_refused() {
    let ca = Authority::of(&PKCS_ED25519).pem();
    let issue = |seconds| {
        let at = UNIX_EPOCH + Duration::from_secs(seconds);
        issue_client(ca.as_bytes(), &request(), at).map(drop)
    };
    let (from, until) = (1_735_689_600, 2_051_222_400); // 2025-01-01, 2035-01-01
    assert_eq!(issue(until), Ok(()));
    let expired = KeyError::AuthorityExpired { date: "2035-01-01".into() };
    assert_eq!(expired.to_string(), "the authority expired on 2035-01-01: renew it, or correct the clock");
    assert_eq!(issue(until + 1), Err(expired));
    assert_eq!(issue(from - 60), Ok(()));
    let early = KeyError::AuthorityNotYetValid { date: "2025-01-01".into() };
    assert_eq!(issue(from - 61), Err(early));
}

#[test]
fn a_certificate_that_may_not_sign_is_refused() {
    let key = rcgen::KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let mut no_ca = authority_params();
    no_ca.is_ca = IsCa::NoCa;
    let mut explicit = authority_params();
    explicit.is_ca = IsCa::ExplicitNoCa;
    let mut usage = authority_params();
    usage.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    for params in [no_ca, explicit, usage] {
        let error = issue(&Authority::new(&key, &params).pem()).unwrap_err();
        assert_eq!(error, KeyError::NotAnAuthority);
    }
    let mut silent = authority_params();
    silent.key_usages = Vec::new();
    check_identity(&issue(&Authority::new(&key, &silent).pem()).unwrap());
}

#[test]
fn issued_identities_do_not_issue() {
    let identity = issue(&Authority::of(&PKCS_ED25519).pem()).unwrap();
    let ca = format!("{}{}", identity.certificate, &*identity.key);
    assert_eq!(issue(&ca).unwrap_err(), KeyError::NotAnAuthority);
}

#[test]
fn identities_survive_pem() {
    for ca in [Authority::of(&PKCS_ED25519).pem(), Authority::of(&PKCS_ECDSA_P256_SHA256).pem()] {
        let identity = issue(&ca).unwrap();
        let pem = identity.to_pem();
        let read = ClientIdentity::from_pem(pem.as_bytes()).unwrap();
        assert_eq!(read.certificate, identity.certificate);
        assert_eq!(read.key.len(), identity.key.len());
        assert_eq!(read.key, identity.key);
        assert_eq!(read.authority, identity.authority);
        assert_eq!(read.to_pem(), pem);
        check_identity(&read);

        let alone = format!("{}{}", &*identity.key, identity.certificate);
        let alone = ClientIdentity::from_pem(alone.as_bytes()).unwrap();
        assert_eq!(alone.authority, None);
        let again = ClientIdentity::from_pem(alone.to_pem().as_bytes()).unwrap();
        assert_eq!((again.key, again.authority), (identity.key, None));
    }
}

/// tonic and rustls know neither Talos's label nor a key without its public half.
#[test]
fn identities_of_any_label_become_pkcs8() {
    let (ed25519, p256) = (Authority::of(&PKCS_ED25519), Authority::of(&PKCS_ECDSA_P256_SHA256));
    let scalar = der::write(der::OCTET_STRING, &[unwrap_sec1(p256.inner()).unwrap()]);
    let bare = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar]);
    let rsa = Authority::rsa();
    for bundle in [
        ed25519.pem(),
        ed25519.talos_pem(),
        p256.pem_with("EC PRIVATE KEY", &bare),
        Authority::of(&PKCS_ECDSA_P384_SHA384).pem(),
        rsa.pem(),
        rsa.pem_with("RSA PRIVATE KEY", rsa.inner()),
    ] {
        let identity = ClientIdentity::from_pem(bundle.as_bytes()).unwrap();
        assert!(identity.key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let key = default_provider().key_provider.load_private_key(key).unwrap();
        CertifiedKey::new(vec![der_of(&identity.certificate)], key).keys_match().unwrap();
    }
}

#[test]
fn several_authorities_verify_the_server() {
    let (old, new) = (Authority::of(&PKCS_ED25519), Authority::of(&PKCS_ED25519));
    let identity = issue(&old.pem()).unwrap();
    let bundle = format!("{}{}", &*identity.to_pem(), new.certificate);
    let read = ClientIdentity::from_pem(bundle.as_bytes()).unwrap();
    let roots = read.authority.unwrap();
    let roots: Vec<_> = CertificateDer::pem_slice_iter(roots.as_bytes()).map(Result::unwrap).collect();
    assert_eq!(roots, [der_of(&old.certificate), der_of(&new.certificate)]);
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    let authority = Authority::of(&PKCS_ED25519);
    let (certificate, key) = (authority.certificate.as_str(), &*pem::write("PRIVATE KEY", &authority.pkcs8));
    let block = |label: &str| pem::write(label, b"not a key").to_string();
    let bare = |label: &str, body: &str| format!("{certificate}-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let truncated = &certificate[..certificate.len() / 2];
    let cases = [
        (String::new(), KeyError::Empty),
        (" \n\t\r\n".into(), KeyError::Empty),
        ("hello".into(), KeyError::MissingCertificate),
        (key.into(), KeyError::MissingCertificate),
        (certificate.into(), KeyError::MissingKey),
        (format!("{certificate}{key}{key}"), KeyError::SeveralKeys),
        (" ".repeat(64 * 1024 + 1), KeyError::TooLarge),
        (format!("{certificate}{key}{}", " ".repeat(64 * 1024)), KeyError::TooLarge),
        (truncated.into(), KeyError::MalformedPem),
        (format!("{truncated}\n{key}"), KeyError::MalformedPem),
        (format!("{key}{truncated}"), KeyError::MalformedPem),
        (bare("PRIVATE KEY", "?"), KeyError::MalformedPem),
        (bare("PRIVATE KEY", "MC4"), KeyError::MalformedPem),
        (bare("PRIVATE KEY", ""), KeyError::MalformedKey),
        (bare("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\nAAAA"), KeyError::EncryptedKey),
        (bare("ENCRYPTED PRIVATE KEY", "AAAA"), KeyError::EncryptedKey),
        (bare("OPENSSH PRIVATE KEY", "AAAA"), KeyError::UnsupportedKey),
        (format!("{certificate}{}", block("PRIVATE KEY")), KeyError::MalformedKey),
        (format!("{certificate}{}", block("EC PRIVATE KEY")), KeyError::MalformedKey),
        (format!("{certificate}{}", block("ED25519 PRIVATE KEY")), KeyError::MalformedKey),
        (format!("{}{key}", block("CERTIFICATE")), KeyError::MalformedCertificate),
        (bare("X25519 PRIVATE KEY", "AAAA"), KeyError::UnsupportedKey),
    ];
    for (text, expected) in cases {
        assert_eq!(issue(&text).unwrap_err(), expected, "{text}");
        let read = ClientIdentity::from_pem(text.as_bytes()).unwrap_err();
        assert_eq!(read, expected, "{text}");
    }
    let two = format!("{certificate}{certificate}{key}");
    assert_eq!(issue(&two).unwrap_err(), KeyError::SeveralCertificates);

    let rsa = Authority::rsa().pem_with("RSA PRIVATE KEY", b"not a key");
    assert_eq!(issue(&rsa).unwrap_err(), KeyError::MalformedKey);
    let x25519 = wrap_pkcs8(&der::algorithm(b"\x2b\x65\x6e", &[]), authority.inner());
    let x25519 = authority.pem_with("PRIVATE KEY", &x25519);
    assert_eq!(issue(&x25519).unwrap_err(), KeyError::UnsupportedKey);
    let binary = [authority.pem().as_bytes(), &[0xff]].concat();
    let error = issue_client(&binary, &request(), now()).unwrap_err();
    assert_eq!(error, KeyError::MalformedPem);
}

#[test]
fn a_subject_that_is_no_name_is_refused() {
    let authority = Authority::of(&PKCS_ED25519);
    let mut der = der_of(&authority.certificate).to_vec();
    let name = b"\x31\x0e\x30\x0c\x06\x03\x55\x04\x0a\x0c\x05talos";
    let subject = der.windows(name.len()).rposition(|part| part == name).unwrap();
    der[subject] = der::SEQUENCE;
    let ca = Authority { certificate: pem::certificate(&der), ..authority }.pem();
    assert_eq!(issue(&ca).unwrap_err(), KeyError::MalformedCertificate);
}

/// Every byte changed, every length cut: an identity that can be read back or an error that
/// says nothing of the input, and never a panic.
#[test]
fn damaged_input_is_survived() {
    let survive = |ca: &str, secret: &str| {
        match issue(ca) {
            // Whether the authority's own signature holds is for those who trust it to say.
            Ok(identity) => {
                let read = ClientIdentity::from_pem(identity.to_pem().as_bytes()).map(drop);
                assert_eq!(read, Ok(()), "{ca}{}", identity.certificate);
            }
            Err(error) => assert_silent(&format!("{error} {error:?}"), secret),
        }
        if let Err(error) = ClientIdentity::from_pem(ca.as_bytes()) {
            assert_silent(&format!("{error} {error:?}"), secret);
        }
    };
    for (authority, step) in [(&Authority::of(&PKCS_ED25519), 1), (&Authority::of(&PKCS_ECDSA_P256_SHA256), 3), (Authority::rsa(), 37)] {
        let whole = authority.pem();
        let certificate = der_of(&authority.certificate);
        for change in [0x01, 0x80, 0xff] {
            for position in (0..certificate.len()).step_by(step) {
                let mut damaged = certificate.to_vec();
                damaged[position] ^= change;
                let damaged = Authority { certificate: pem::certificate(&damaged), pkcs8: authority.pkcs8.clone() };
                survive(&damaged.pem(), &whole);
            }
            for position in (0..authority.pkcs8.len()).step_by(step) {
                let mut damaged = authority.pkcs8.clone();
                damaged[position] ^= change;
                survive(&authority.pem_with("PRIVATE KEY", &damaged), &whole);
            }
        }
        for length in (0..whole.len()).step_by(step) {
            survive(&whole[..length], &whole);
            survive(&whole[length..], &whole);
        }
    }
}

/// Fails when `text` holds eight characters in a row from the base64 of `secret`.
fn assert_silent(text: &str, secret: &str) {
    let lines = secret.lines().filter(|line| !line.starts_with("-----"));
    for piece in lines.flat_map(|line| line.as_bytes().windows(8)) {
        let piece = str::from_utf8(piece).unwrap();
        assert!(!text.contains(piece), "{text}");
    }
}

#[test]
fn nothing_shows_key_material() {
    let authority = Authority::of(&PKCS_ED25519);
    let identity = issue(&authority.pem()).unwrap();
    assert_eq!(format!("{identity:?}"), "ClientIdentity { .. }");
    assert_eq!(format!("{identity:#?}"), "ClientIdentity { .. }");

    // A label is text from the input, too.
    let key = pem::write("PRIVATE KEY", &authority.pkcs8);
    let body = key.lines().nth(1).unwrap();
    for label in [format!("{body} PRIVATE KEY"), body.into()] {
        let text = format!("{}{}", authority.certificate, &*pem::write(&label, b"x"));
        let error = issue(&text).unwrap_err();
        assert_silent(&format!("{error} {error:?}"), &key);
    }
}

/// `openssl` with its input, or nothing where it is not installed.
fn openssl(arguments: &[&str], input: &str) -> Option<String> {
    let child = Command::new("openssl").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            // Not with `eprintln!`, which the test runner swallows.
            writeln!(std::io::stderr(), "SKIPPED: openssl cannot be started: {error}").unwrap();
            return None;
        }
    };
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "openssl {arguments:?}\n{out}{err}");
    Some(out.into_owned())
}

/// A file for the arguments of `openssl` that take no standard input.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("emhost-keys-{}-{name}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Authorities made by OpenSSL, identities verified by it.
#[test]
fn openssl_agrees() {
    let keys: [(&str, &[&str]); 6] = [
        ("ed25519", &["genpkey", "-algorithm", "ed25519"]),
        ("sec1", &["ecparam", "-name", "prime256v1", "-genkey"]),
        ("p256", &["genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
        ("p384", &["genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]),
        ("pkcs1", &["genrsa", "-traditional", "2048"]),
        ("rsa", &["genrsa", "3072"]),
    ];
    for (name, arguments) in keys {
        let Some(key) = openssl(arguments, "") else {
            return;
        };
        let key_file = File::new(&format!("{name}-key"), &key);
        let self_sign = ["req", "-x509", "-days", "3650", "-subj", "/O=talos/O=two/CN=ca"];
        let usage = ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"];
        let self_sign = [&self_sign[..], &usage, &["-key", key_file.path()]].concat();
        let certificate = openssl(&self_sign, "").unwrap();
        let now = SystemTime::now();
        let ca = format!("{key}{certificate}");
        let identity = issue_client(ca.as_bytes(), &request(), now).unwrap();
        verify(&identity, now).unwrap();
        if name == "ed25519" {
            let ca = ca.replace("PRIVATE KEY", "ED25519 PRIVATE KEY");
            verify(&issue_client(ca.as_bytes(), &request(), now).unwrap(), now).unwrap();
        }

        let root = File::new(name, identity.authority.as_ref().unwrap());
        let arguments = ["verify", "-x509_strict", "-purpose", "sslclient", "-CAfile"];
        let arguments = [&arguments[..], &[root.path()]].concat();
        let verdict = openssl(&arguments, &identity.certificate).unwrap();
        assert_eq!(verdict, "stdin: OK\n", "{name}");

        let text = openssl(&["x509", "-noout", "-text"], &identity.certificate).unwrap();
        // Newer versions put their spaces elsewhere.
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let text = lines.join("\n").replace(" = ", "=");
        for expected in [
            "Version: 3 (0x2)",
            "Issuer: O=talos, O=two, CN=ca\n",
            "Subject: O=os:admin, O=os:reader\n",
            "X509v3 Key Usage: critical\nDigital Signature\n",
            "X509v3 Extended Key Usage:\nTLS Web Client Authentication\n",
            "X509v3 Authority Key Identifier:\n",
        ] {
            assert!(text.contains(expected), "{name}: {expected}\n{text}");
        }
        assert!(!text.contains("Basic Constraints") && !text.contains("Alternative"), "{text}");

        // The key is the certificate's, and OpenSSL can read it.
        let public = openssl(&["pkey", "-pubout"], &identity.key).unwrap();
        let certified = openssl(&["x509", "-noout", "-pubkey"], &identity.certificate).unwrap();
        assert_eq!(public, certified, "{name}");
        let read = ClientIdentity::from_pem(ca.as_bytes()).unwrap();
        assert_eq!(openssl(&["pkey", "-pubout"], &read.key).unwrap(), openssl(&["pkey", "-pubout"], &key).unwrap(), "{name}");
    }
    for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256, KeyKind::Rsa2048] {
        openssl(&["pkey", "-noout", "-check"], &generate(kind).unwrap()).unwrap();
    }
}
