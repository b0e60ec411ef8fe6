//! URLs and the environment.

use highwater_model::units::Seed;

use super::*;

fn options() -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: None,
        leases_directory: None,
        application_name: "test".to_owned(),
        seed: Seed(1),
        connect_timeout: Nanos::from_secs(10),
    }
}

fn open(url: &str, environment: &[(&str, &str)]) -> Result<Vec<Node>, UserError> {
    let environment = |name: &str| {
        let found = environment.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let url = TargetUrl::parse(url)?;
    nodes(&url, &options(), &environment, &Arc::default())
}

fn head(url: &str, environment: &[(&str, &str)]) -> String {
    let nodes = open(url, environment).unwrap();
    nodes[0].request.reveal().to_owned()
}

#[test]
fn hosts_have_ports_and_one_schema() {
    let nodes = open("crate://h1:4201,h2,[::1]:7/metrics", &[]).unwrap();
    let shown: Vec<&str> = nodes.iter().map(|node| node.shown.as_str()).collect();
    let expected = [
        "crate://crate@h1:4201/metrics",
        "crate://crate@h2:4200/metrics",
        "crate://crate@[::1]:7/metrics",
    ];
    assert_eq!(shown, expected);
    let nodes = open("crate://", &[]).unwrap();
    assert_eq!(nodes[0].shown, "crate://crate@localhost:4200/doc");
    let nodes = open("crate://h/?gzip=1&user=ann&password=pw&sslmode=require", &[]).unwrap();
    let shown = "crate://ann@h:4200/doc?gzip=1&sslmode=require";
    assert_eq!(nodes[0].shown, shown);
}

#[test]
fn requests_name_host_schema_and_login() {
    assert_eq!(
        head("crate://bench:secret@h/metrics", &[]),
        "POST /_sql HTTP/1.1\r\nHost: h:4200\r\nContent-Type: application/json\r\n\
         Default-Schema: metrics\r\nAuthorization: Basic YmVuY2g6c2VjcmV0\r\nContent-Length: "
    );
    // The default user is CrateDB's superuser, without a password.
    assert!(head("crate://h", &[]).contains("Basic Y3JhdGU6\r\n"));
    assert!(head("crate://h?gzip=1", &[]).contains("Content-Encoding: gzip\r\n"));
}

#[test]
fn a_password_comes_from_the_url_or_the_environment_and_is_never_shown() {
    let secret = "Basic YmVuY2g6c2VjcmV0";
    for (url, environment) in [
        ("crate://bench:secret@h", &[("CRATEDB_PASSWORD", "other")][..]),
        ("crate://bench@h?password=secret", &[]),
        ("crate://h?user=bench", &[("CRATEDB_PASSWORD", "secret")]),
    ] {
        assert!(head(url, environment).contains(secret), "{url}");
        let shown = format!("{:?}", open(url, environment).unwrap());
        assert!(!shown.contains("secret") && !shown.contains("YmVuY2g6"), "{shown}");
    }
}

#[test]
fn tls_follows_the_mode_the_scheme_and_the_host() {
    for (url, mode) in [
        ("crate://localhost", SslMode::Prefer),
        ("crate://127.0.0.1", SslMode::Prefer),
        ("crate://db.example", SslMode::VerifyFull),
        ("crate://db.example?sslmode=disable", SslMode::Disable),
        ("crate+https://localhost", SslMode::VerifyFull),
        ("crate+https://localhost?sslmode=require", SslMode::Require),
    ] {
        assert_eq!(open(url, &[]).unwrap()[0].tls.mode(), mode, "{url}");
    }
}

#[test]
fn mistakes_are_named_without_the_password() {
    for (url, cause) in [
        ("crate://a:geheim@h?slmode=on", "unknown parameter `slmode`"),
        ("crate://a:geheim@h?sslmode=on", "sslmode=on"),
        ("crate+https://a:geheim@h?sslmode=disable", "requires TLS"),
        ("crate://a:geheim@h?gzip=10", "gzip=10"),
        ("crate://a:geheim@h?connect_timeout=soon", "connect_timeout=soon"),
        ("crate://a:geheim@h/my%20schema", "`my schema`"),
        ("crate://a%3Ab:geheim@h", "`a:b`"),
    ] {
        let error = open(url, &[]).unwrap_err();
        assert!(error.message.contains(cause), "{url}: {error}");
        assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
    }
}
