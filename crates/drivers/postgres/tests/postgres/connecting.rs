//! Ways to connect: every authentication method, TLS according to `sslmode`, sockets, several hosts.

use std::fs;
use std::path::Path;

use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::client::{Client, admin, nothing, open, queries};
use crate::support::block_on;

const SECRET: &str = "gehe:im@/%20";

/// Connects and sends a query; returns the server's message on failure.
fn try_url(url: &str) -> Result<u64, UserError> {
    block_on(async {
        let target = open(url, None)?;
        let mut client = Client::connect(target.as_ref(), &queries(&[("SELECT 1", &[])])).await?;
        let outcome = client.send(0, nothing()).await;
        assert!(outcome.is_success(), "{outcome:?}");
        Ok(outcome.response_rows)
    })
}

fn refused(url: &str) -> UserError {
    let error = try_url(url).expect_err("a refusal");
    assert!(!format!("{error:?}").contains("gehe"), "{error:?}");
    error
}

/// A server with a user for each method, named after it.
fn with_methods() -> Postgres {
    let lines = ["md5", "scram-sha-256", "password"].map(|method| {
        let user = method.split('-').next().unwrap_or_default();
        format!("host all u_{user} 127.0.0.1/32 {method}")
    });
    let server = Postgres::start_with(&Setup { access: lines.to_vec(), ..Setup::default() });
    server.sql(
        "postgres",
        &format!("SET password_encryption='md5'; CREATE USER u_md5 PASSWORD '{SECRET}'"),
    );
    server.sql("postgres", &format!("CREATE USER u_scram PASSWORD '{SECRET}'"));
    server.sql("postgres", &format!("CREATE USER u_password PASSWORD '{SECRET}'"));
    server
}

#[test]
fn every_authentication_works_and_a_wrong_password_is_refused() {
    if skipped() {
        return;
    }
    let server = with_methods();
    let port = server.port();
    for user in ["u_md5", "u_scram", "u_password"] {
        // A plain-text password is sent without TLS only if explicitly allowed.
        let list = "require_auth=password,md5,scram-sha-256";
        let url = |login: &str| format!("postgres://{login}@127.0.0.1:{port}/postgres?{list}");
        let secret = "gehe%3Aim%40%2F%2520";
        assert_eq!(try_url(&url(&format!("{user}:{secret}"))), Ok(1), "{user}");
        let error = refused(&url(&format!("{user}:geheim")));
        assert_eq!(error.kind, UserErrorKind::Refused, "{error}");
        assert!(error.message.contains("28P01") && error.hint.is_some(), "{error}");
        let error = refused(&format!("{}&passfile=/nonexistent", url(user)));
        assert!(error.message.contains("requires the password"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("PGPASSWORD")));
    }
    let error = refused(&format!("postgres://nobody:gehe@127.0.0.1:{port}/postgres"));
    assert_eq!(error.kind, UserErrorKind::Refused, "no access rule: {error}");
}

#[test]
fn a_password_is_sent_only_by_a_method_that_require_auth_allows() {
    if skipped() {
        return;
    }
    let server = with_methods();
    let port = server.port();
    let url = |user: &str, query: &str| {
        format!("postgres://{user}:gehe%3Aim%40%2F%2520@127.0.0.1:{port}/postgres?{query}")
    };
    for (user, query, works) in [
        ("u_password", "", false),
        ("u_password", "require_auth=password", true),
        ("u_password", "require_auth=!md5", false),
        ("u_password", "require_auth=scram-sha-256", false),
        ("u_md5", "require_auth=scram-sha-256", false),
        ("u_md5", "require_auth=md5", true),
        ("u_scram", "require_auth=!scram-sha-256", false),
        ("u_scram", "require_auth=scram-sha-256", true),
        // There is no TLS to bind to.
        ("u_scram", "channel_binding=require", false),
    ] {
        if works {
            assert_eq!(try_url(&url(user, query)), Ok(1), "{user} {query}");
        } else {
            let error = refused(&url(user, query));
            assert_eq!(error.kind, UserErrorKind::Refused, "{user} {query}: {error}");
            assert!(error.hint.is_some(), "{error}");
        }
    }
    let hint = refused(&url("u_password", "")).hint.unwrap();
    assert!(hint.contains("require_auth=password"), "{hint}");
}

#[test]
fn a_server_with_no_or_weak_authentication_is_rejected_if_that_is_excluded() {
    if skipped() {
        return;
    }
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let access = vec![
        "hostssl all u_scram 127.0.0.1/32 scram-sha-256".to_owned(),
        "hostssl all u_password 127.0.0.1/32 password".to_owned(),
        "host all postgres 127.0.0.1/32 trust".to_owned(),
    ];
    let server = Postgres::start_with(&Setup {
        access,
        tls: Some((certificate.pem(), key.serialize_pem())),
        ..Setup::default()
    });
    for user in ["u_scram", "u_password"] {
        server.sql("postgres", &format!("CREATE USER {user} PASSWORD 'gehe'"));
    }
    for (login, query, works) in [
        ("u_scram:gehe", "channel_binding=require", true),
        ("u_scram:gehe", "channel_binding=prefer", true),
        ("u_scram:gehe", "channel_binding=disable", true),
        // Over TLS, only the server can read a plain-text password.
        ("u_password:gehe", "sslmode=require", true),
        ("u_password:gehe", "channel_binding=require", false),
        ("postgres", "require_auth=scram-sha-256", false),
        ("postgres", "require_auth=!none", false),
        ("postgres", "require_auth=none", true),
        ("postgres", "channel_binding=require", false),
    ] {
        let url = format!("postgres://{login}@127.0.0.1:{}/postgres?{query}", server.port());
        if works {
            assert_eq!(try_url(&url), Ok(1), "{login} {query}");
        } else {
            let error = refused(&url);
            assert_eq!(error.kind, UserErrorKind::Refused, "{query}: {error}");
        }
    }
}

#[test]
fn the_password_file_is_used() {
    if skipped() {
        return;
    }
    let access = vec!["host all all 127.0.0.1/32 scram-sha-256".to_owned()];
    let server = Postgres::start_with(&Setup { access, ..Setup::default() });
    server.sql("postgres", "CREATE USER ann PASSWORD 'gehe'");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("passwords");
    fs::write(&file, format!("127.0.0.1:{}:*:ann:gehe\n", server.port())).unwrap();
    let url = format!("{}?passfile={}", server.url("ann", "postgres"), file.display());
    set_mode(&file, 0o600);
    assert_eq!(try_url(&url), Ok(1));
    set_mode(&file, 0o644);
    assert!(refused(&url).message.contains("others may read it"));
}

fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn wrong_places_have_different_errors() {
    if skipped() {
        return;
    }
    let mut server = Postgres::start();
    let unknown = refused(&server.url(SUPERUSER, "nowhere"));
    assert_eq!(unknown.kind, UserErrorKind::Refused);
    assert!(unknown.message.contains("3D000"), "{unknown}");
    let socket = format!(
        "postgres://{SUPERUSER}@/postgres?host={}&port={}",
        server.socket_directory().display(),
        server.port()
    );
    assert_eq!(try_url(&socket), Ok(1));
    let no_tls = refused(&format!("{}?sslmode=require", server.url(SUPERUSER, "postgres")));
    assert!(no_tls.message.contains("offers no TLS"), "{no_tls}");
    assert!(no_tls.hint.unwrap().contains("sslmode=disable"));
    let url = server.url(SUPERUSER, "postgres");
    server.stop();
    assert_eq!(refused(&url).kind, UserErrorKind::Unreachable);
}

#[test]
fn sessions_go_round_the_hosts_and_a_further_attempt_takes_the_next() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let port = server.port();
    let url = format!("postgres://{SUPERUSER}@127.0.0.1:1,127.0.0.1:{port}/postgres");
    let target = open(&url, None).unwrap();
    assert_eq!(target.urls().len(), 2);
    assert_eq!([0, 1, 2].map(|number| target.host_of(number, 0)), [0, 1, 0]);
    assert_eq!(target.host_of(0, 1), 1);
    // The admin uses the first host that responds.
    let facts = block_on(async { admin(target.as_ref()).await?.facts().await }).unwrap();
    assert!(facts.version.starts_with("PostgreSQL"));
    assert_eq!(facts.dialects, ["postgresql"]);
    assert_eq!(facts.settings["tls"], "off");
    assert!(facts.traits.contains(&"fsync=off".to_owned()));
}

#[test]
fn tls_is_verified_according_to_sslmode() {
    if skipped() {
        return;
    }
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let params = CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let access = vec!["hostssl all all 127.0.0.1/32 trust".to_owned()];
    let server = Postgres::start_with(&Setup {
        access,
        tls: Some((certificate.pem(), key.serialize_pem())),
        ..Setup::default()
    });
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: String| {
        let path = directory.path().join(name);
        fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let root = file("root.crt", authority.pem());
    let other = file("other.crt", self::authority().pem());
    let itself = file("server.crt", certificate.pem());
    for (host, query, works) in tls_cases(&root, &other, &itself) {
        let url = format!("postgres://postgres@{host}:{}/postgres?{query}", server.port());
        match (try_url(&url), works) {
            (Ok(rows), true) => assert_eq!(rows, 1),
            (Err(error), false) => {
                assert_eq!(error.kind, UserErrorKind::Refused, "{query}: {error}");
                assert!(error.hint.is_some_and(|hint| hint.contains("sslmode=")), "{query}");
            }
            (result, _) => panic!("{host} {query}: {result:?}"),
        }
    }
}

/// Host, parameters, and whether connecting succeeds: `root` signed the certificate for `localhost` that is in
/// `itself`, `other` did not.
fn tls_cases(root: &str, other: &str, itself: &str) -> Vec<(&'static str, String, bool)> {
    vec![
        ("127.0.0.1", String::new(), true),
        ("127.0.0.1", "sslmode=allow".to_owned(), true),
        ("127.0.0.1", "sslmode=disable".to_owned(), false),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={other}"), false),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}"), true),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={other}"), false),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), false),
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}"), true),
        ("localhost", format!("sslmode=verify-full&sslrootcert={itself}"), true),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={itself}"), false),
        ("localhost", format!("sslmode=verify-full&sslrootcert={other}"), false),
    ]
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
