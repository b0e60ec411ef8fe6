//! URLs and the environment, as a table of what they mean.

use highwater_model::units::{Nanos, Seed};

use super::*;

fn options() -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: None,
        application_name: "highwater".to_owned(),
        seed: Seed(1),
        connect_timeout: Nanos::from_secs(10),
    }
}

fn open(url: &str, environment: &[(&str, &str)]) -> Result<Vec<Node>, TargetError> {
    let look_up = |name: &str| {
        environment
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    };
    nodes(&TargetUrl::parse(url).unwrap(), &options(), &look_up)
}

#[test]
fn urls_name_hosts_user_and_database() {
    for (url, shown) in [
        (
            "postgres://ann:pw@h/bench",
            vec!["postgres://ann@h:5432/bench"],
        ),
        (
            "postgresql://ann@h1:1,h2,[::1]:3/b",
            vec![
                "postgresql://ann@h1:1/b",
                "postgresql://ann@h2:5432/b",
                "postgresql://ann@[::1]:3/b",
            ],
        ),
        ("cockroach://root@h", vec!["cockroach://root@h:26257"]),
        (
            "postgres://root@h:26257?sslmode=disable",
            vec!["postgres://root@h:26257?sslmode=disable"],
        ),
        (
            "postgres://ann@?host=/run/pg",
            vec!["postgres://ann@/?host=/run/pg&port=5432"],
        ),
        (
            "postgres://ann@/b?host=/run/pg&port=7",
            vec!["postgres://ann@/b?host=/run/pg&port=7"],
        ),
        (
            "postgres://ann@%2Frun%2Fpg:7/b",
            vec!["postgres://ann@/b?host=/run/pg&port=7"],
        ),
        (
            "postgres://?user=ann&dbname=b",
            vec!["postgres://ann@localhost:5432/b"],
        ),
        (
            "postgres://ann@h1,h2/b?sslmode=require&application_name=a b&password=pw",
            vec![
                "postgres://ann@h1:5432/b?application_name=a%20b&sslmode=require",
                "postgres://ann@h2:5432/b?application_name=a%20b&sslmode=require",
            ],
        ),
        (
            "postgres://ann@/b?host=/run/pg&connect_timeout=3",
            vec!["postgres://ann@/b?host=/run/pg&port=5432&connect_timeout=3"],
        ),
    ] {
        let nodes = open(url, &[]).unwrap();
        let urls: Vec<&str> = nodes.iter().map(|node| node.shown.as_str()).collect();
        assert_eq!(urls, shown, "{url}");
    }
}

#[test]
fn the_environment_fills_what_the_url_leaves_open() {
    let environment = [
        ("PGHOST", "/run/pg"),
        ("PGPORT", "6000"),
        ("PGUSER", "ann"),
        ("PGDATABASE", "b"),
        ("PGPASSWORD", "geheim"),
        ("PGPASSFILE", "/x"),
    ];
    let node = &open("postgres://", &environment).unwrap()[0];
    assert_eq!(
        node.address,
        Address::Socket(PathBuf::from("/run/pg"), 6000)
    );
    assert_eq!(node.login.user, "ann");
    assert_eq!(node.login.database.as_deref(), Some("b"));
    assert_eq!(node.login.password.as_ref().unwrap().reveal(), "geheim");
    assert_eq!(node.login.passfile, Some(PathBuf::from("/x")));
    assert!(!format!("{node:?}").contains("geheim"));
    let node = &open("postgres://bob:own@h:1/c", &environment).unwrap()[0];
    assert_eq!(node.shown, "postgres://bob@h:1/c");
    assert_eq!(node.login.password.as_ref().unwrap().reveal(), "own");
}

#[test]
fn tls_is_preferred_on_loopback_and_verified_elsewhere() {
    for (url, mode) in [
        ("postgres://a@localhost/b", SslMode::Prefer),
        ("postgres://a@127.0.0.1/b", SslMode::Prefer),
        ("postgres://a@[::1]/b", SslMode::Prefer),
        ("postgres://a@db.example/b", SslMode::VerifyFull),
        ("postgres://a@10.0.0.1/b", SslMode::VerifyFull),
        (
            "postgres://a@db.example/b?sslmode=disable",
            SslMode::Disable,
        ),
        ("postgres://a@db.example/b?sslmode=allow", SslMode::Allow),
        ("postgres://a@localhost/b?sslmode=require", SslMode::Require),
        (
            "postgres://a@localhost/b?sslmode=verify-ca",
            SslMode::VerifyCa,
        ),
        (
            "postgres://a@/b?host=/run/pg&sslmode=require",
            SslMode::Disable,
        ),
    ] {
        assert_eq!(open(url, &[]).unwrap()[0].tls.mode(), mode, "{url}");
    }
}

#[test]
fn mistakes_are_usage_errors_with_a_hint_and_without_secrets() {
    for (url, word) in [
        ("postgres://a:geheim@h/b?ssl=1", "`ssl`"),
        ("postgres://a:geheim@h/b?sslmode=on", "sslmode=on"),
        (
            "postgres://a:geheim@h/b?connect_timeout=soon",
            "connect_timeout=soon",
        ),
        ("postgres://a:geheim@/b?port=70000", "70000"),
        ("postgres://a:geheim@h/b?host=g", "twice"),
    ] {
        let error = open(url, &[]).unwrap_err();
        assert_eq!(error.kind, highwater_driver::TargetErrorKind::Usage);
        assert!(error.message.contains(word), "{}", error.message);
        assert!(error.hint.is_some());
        assert!(!format!("{error:?}").contains("geheim"));
    }
    let hint = open("postgres://h/?x=1", &[]).unwrap_err().hint.unwrap();
    assert!(hint.contains("sslmode") && hint.contains("application_name"));
}

#[test]
fn a_timeout_of_the_url_replaces_the_default_and_zero_does_not() {
    for (text, seconds) in [("3", 3), ("0", 10)] {
        let url = format!("postgres://a@h/b?connect_timeout={text}");
        let node = &open(&url, &[]).unwrap()[0];
        assert_eq!(node.login.connect_timeout, Nanos::from_secs(seconds));
    }
}
