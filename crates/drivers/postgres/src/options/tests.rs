//! URLs and the environment, as a table of their meanings.

use highwater_model::units::{Nanos, Seed};

use super::*;

fn options() -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: None,
        leases_directory: None,
        application_name: "highwater".to_owned(),
        seed: Seed(1),
        connect_timeout: Nanos::from_secs(10),
    }
}

fn open(url: &str, environment: &[(&str, &str)]) -> Result<Vec<Node>, UserError> {
    let look_up = |name: &str| {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    nodes(&TargetUrl::parse(url).unwrap(), &options(), &look_up)
}

#[test]
fn urls_name_hosts_user_and_database() {
    for (url, shown) in [
        ("postgres://ann:pw@h/bench", vec!["postgres://ann@h:5432/bench"]),
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
        ("postgres://ann@?host=/run/pg", vec!["postgres://ann@/?host=/run/pg&port=5432"]),
        ("postgres://ann@/b?host=/run/pg&port=7", vec!["postgres://ann@/b?host=/run/pg&port=7"]),
        ("postgres://ann@%2Frun%2Fpg:7/b", vec!["postgres://ann@/b?host=/run/pg&port=7"]),
        ("postgres://?user=ann&dbname=b", vec!["postgres://ann@localhost:5432/b"]),
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
fn the_environment_provides_parameters_missing_in_the_url() {
    let environment = [
        ("PGHOST", "/run/pg"),
        ("PGPORT", "6000"),
        ("PGUSER", "ann"),
        ("PGDATABASE", "b"),
        ("PGPASSWORD", "geheim"),
        ("PGPASSFILE", "/x"),
    ];
    let node = &open("postgres://", &environment).unwrap()[0];
    assert_eq!(node.address, Address::Socket(PathBuf::from("/run/pg"), 6000));
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
        ("postgres://a@db.example/b?sslmode=disable", SslMode::Disable),
        ("postgres://a@db.example/b?sslmode=allow", SslMode::Allow),
        ("postgres://a@localhost/b?sslmode=require", SslMode::Require),
        ("postgres://a@localhost/b?sslmode=verify-ca", SslMode::VerifyCa),
        ("postgres://a@/b?host=/run/pg&sslmode=require", SslMode::Disable),
    ] {
        assert_eq!(open(url, &[]).unwrap()[0].tls.mode(), mode, "{url}");
    }
}

#[test]
fn mistakes_are_usage_errors_with_a_hint_and_without_secrets() {
    for (url, word) in [
        ("postgres://a:geheim@h/b?ssl=1", "`ssl=1`"),
        ("postgres://a:geheim@h/b?sslmode=on", "sslmode=on"),
        ("postgres://a:geheim@h/b?connect_timeout=soon", "connect_timeout=soon"),
        ("postgres://a:geheim@/b?port=70000", "70000"),
        ("postgres://a:geheim@h/b?host=g", "twice"),
    ] {
        let error = open(url, &[]).unwrap_err();
        assert_eq!(error.kind, highwater_model::user_error::UserErrorKind::Usage);
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

#[test]
fn parameters_of_libpq_are_applied_or_rejected_with_a_reason_from_every_source() {
    for (parameter, variable, reason) in [
        ("gssencmode=require", ("PGGSSENCMODE", "require"), "GSSAPI"),
        ("client_encoding=LATIN1", ("PGCLIENTENCODING", "LATIN1"), "UTF-8"),
        ("sslcrl=/x", ("PGSSLCRL", "/x"), "revocation"),
        ("sslsni=0", ("PGSSLSNI", "0"), "host name"),
        ("requirepeer=ann", ("PGREQUIREPEER", "ann"), "socket"),
        ("ssl_min_protocol_version=TLSv1.3", ("PGSSLMINPROTOCOLVERSION", "TLSv1.3"), "TLS"),
        ("sslnegotiation=direct", ("PGSSLNEGOTIATION", "direct"), "TLS"),
    ] {
        let of_url = open(&format!("postgres://a:geheim@h/b?{parameter}"), &[]).unwrap_err();
        let of_environment = open("postgres://a:geheim@h/b", &[variable]).unwrap_err();
        assert!(of_environment.message.contains(variable.0), "{of_environment}");
        for error in [of_url, of_environment] {
            assert_eq!(error.kind, highwater_model::user_error::UserErrorKind::Usage);
            assert!(error.message.contains(reason), "{parameter}: {error}");
            assert!(!format!("{error:?}").contains("geheim"));
        }
    }
    let error = open("postgres://a@h/b", &[("PGTZ", "Europe/Berlin")]).unwrap_err();
    assert!(error.message.contains("PGTZ") && error.message.contains("UTC"), "{error}");
    let error = open("postgres://a@h/b?sslpassword=geheim", &[]).unwrap_err();
    assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
    for taken in [
        "gssencmode=prefer",
        "client_encoding=utf8",
        "keepalives=0&keepalives_idle=5",
        "ssl=true",
        "tcp_user_timeout=1000",
        "sslsni=1",
        "replication=off",
        "ssl_min_protocol_version=TLSv1.2",
        "connect_timeout=-1",
        "channel_binding=require",
        "require_auth=password",
        "krbsrvname=postgres",
    ] {
        open(&format!("postgres://a@h/b?{taken}"), &[]).unwrap();
    }
    let environment = [("PGTZ", "UTC"), ("PGDATESTYLE", "ISO, DMY"), ("PGGEQO", "off")];
    let node = &open("postgres://a@h/b", &environment).unwrap()[0];
    assert_eq!(node.login.geqo.as_deref(), Some("off"));
}

#[test]
fn words_of_parameters_come_from_url_or_environment() {
    let environment = [
        ("PGTARGETSESSIONATTRS", "primary"),
        ("PGLOADBALANCEHOSTS", "random"),
        ("PGCHANNELBINDING", "disable"),
        ("PGAPPNAME", "x"),
        ("PGCONNECT_TIMEOUT", "4"),
        ("PGREQUIRESSL", "1"),
    ];
    let login = &open("postgres://a@h/b", &environment).unwrap()[0].login;
    assert_eq!(login.session_attributes, SessionAttributes::Primary);
    assert_eq!(login.host_order, HostOrder::Random);
    assert_eq!(login.channel_binding, Binding::Disable);
    assert_eq!(login.application_name, "x");
    assert_eq!(login.connect_timeout, Nanos::from_secs(4));
    assert_eq!(login.sslmode, Some(SslMode::Require));
    let url = "postgres://a@h/b?target_session_attrs=prefer-standby";
    let login = &open(url, &environment).unwrap()[0].login;
    assert_eq!(login.session_attributes, SessionAttributes::PreferStandby);
    for wrong in [
        "target_session_attrs=rw",
        "load_balance_hosts=yes",
        "channel_binding=on",
        "require_auth=pw",
    ] {
        let error = open(&format!("postgres://a@h/b?{wrong}"), &[]).unwrap_err();
        assert!(error.message.contains(wrong) && error.hint.is_some(), "{error}");
    }
}

#[test]
fn ports_and_addresses_belong_to_hosts() {
    let nodes = open("postgres://a@/b?host=h1,h2&port=1,2&hostaddr=127.0.0.1,::1", &[]).unwrap();
    let shown: Vec<&str> = nodes.iter().map(|node| node.shown.as_str()).collect();
    assert_eq!(
        shown,
        ["postgres://a@h1:1/b?hostaddr=127.0.0.1", "postgres://a@h2:2/b?hostaddr=::1"]
    );
    assert!(nodes[0].is_local());
    let again = &open(&nodes[1].shown, &[]).unwrap()[0];
    assert_eq!((&again.address, again.host_address), (&nodes[1].address, nodes[1].host_address));
    let nodes = open("postgres://a@h1,h2/b?port=7", &[]).unwrap();
    assert_eq!(nodes[1].address, Address::Tcp("h2".to_owned(), 7));
    let node = &open("postgres://a@/b", &[("PGHOSTADDR", "10.0.0.1")]).unwrap()[0];
    assert_eq!(node.shown, "postgres://a@10.0.0.1:5432/b");
    for wrong in ["host=h1,h2&port=1,2,3", "host=h1,h2&hostaddr=10.0.0.1", "hostaddr=h", "host=@x"]
    {
        open(&format!("postgres://a@/b?{wrong}"), &[]).unwrap_err();
    }
}

#[test]
fn a_service_provides_parameters_missing_in_the_url_before_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pg_service.conf");
    let text = "# ours\n[other]\nhost=no\n\n[bench]\nhost=h1,h2\nport=6000\nuser=ann\npassword=geheim\n\
        dbname=b\ntarget_session_attrs=read-write\n[later]\nhost=no\n";
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let environment = [
        ("PGSERVICE", "bench"),
        ("PGSERVICEFILE", path.as_str()),
        ("PGHOST", "no"),
        ("PGUSER", "no"),
    ];
    let nodes = open("postgres://", &environment).unwrap();
    let shown: Vec<&str> = nodes.iter().map(|node| node.shown.as_str()).collect();
    assert_eq!(shown, ["postgres://ann@h1:6000/b", "postgres://ann@h2:6000/b"]);
    let login = &nodes[0].login;
    assert_eq!(login.password.as_ref().unwrap().reveal(), "geheim");
    assert_eq!(login.session_attributes, SessionAttributes::ReadWrite);
    let nodes = open("postgres://bob@h/c?service=bench", &environment[1..]).unwrap();
    assert_eq!(nodes[0].shown, "postgres://bob@h:6000/c?service=bench");
    // The system's file, and one in the home directory.
    let place = directory.path().display().to_string();
    let system =
        [("PGSERVICE", "bench"), ("PGSYSCONFDIR", place.as_str()), ("HOME", "/nonexistent")];
    assert_eq!(open("postgres://", &system).unwrap().len(), 2);
    for (text, word) in [
        ("[bench]\nhots=h\n", "hots"),
        ("[bench]\nldap://h\n", "line 2"),
        ("[bench]\nservice=x\n", "line 2"),
        ("[bench]\ngssencmode=require\n", "GSSAPI"),
        ("[others]\nhost=h\n", "defined in no service file"),
    ] {
        std::fs::write(&file, text).unwrap();
        let environment = [("PGSERVICEFILE", path.as_str()), ("PGSYSCONFDIR", "/nonexistent")];
        let error = open("postgres://?service=bench", &environment).unwrap_err();
        assert!(error.message.contains(word), "{error}");
    }
    let missing = [("PGSERVICE", "bench"), ("PGSERVICEFILE", "/nonexistent")];
    assert!(open("postgres://", &missing).is_err());
}

fn tcp_options(pairs: &[(&str, &str)]) -> Result<TcpOptions, UserError> {
    TcpOptions::of_settings(|name| {
        let mut pairs = pairs.iter();
        let found = pairs.find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    })
}

#[tokio::test]
async fn what_is_given_is_set_on_the_socket() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connect = async || {
        let address = listener.local_addr().unwrap();
        TcpStream::connect(address).await.unwrap()
    };
    let given = [
        ("keepalives_idle", "7"),
        ("keepalives_interval", "3"),
        ("keepalives_count", "4"),
        ("tcp_user_timeout", "9000"),
    ];
    let stream = connect().await;
    tcp_options(&given).unwrap().apply(&stream).unwrap();
    let socket = SockRef::from(&stream);
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(7));
    let interval = socket.tcp_keepalive_interval().unwrap();
    assert_eq!(interval, Duration::from_secs(3));
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), 4);
    let timeout = socket.tcp_user_timeout().unwrap();
    assert_eq!(timeout, Some(Duration::from_secs(9)));
    let stream = connect().await;
    tcp_options(&[("keepalives", "0")]).unwrap().apply(&stream).unwrap();
    assert!(!SockRef::from(&stream).keepalive().unwrap());
    assert!(tcp_options(&[("keepalives_idle", "soon")]).is_err());
}
