//! Ways to connect: authentication methods, TLS according to `sslmode`, sockets, wrong addresses.

use highwater_model::outcome::Certainty;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::client::{Client, admin, nothing, open, queries, started};
use crate::support::block_on;

/// Connects and sends a query; returns the server's message on failure.
fn try_url(url: &str) -> Result<u64, UserError> {
    block_on(async {
        let target = open(url, None)?;
        let mut client = Client::connect(target.as_ref(), &queries(&[("SELECT 1", &[])])).await?;
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.certainty, Certainty::Applied, "{outcome:?}");
        Ok(outcome.response_rows)
    })
}

fn refused(url: &str) -> UserError {
    let error = try_url(url).expect_err("a refusal");
    assert!(!format!("{error:?}").contains("gehe"), "{error:?}");
    error
}

#[test]
fn every_method_of_the_server_works_and_a_wrong_password_is_refused() {
    let Some(server) = started() else {
        return;
    };
    server.sql(
        "INSTALL SONAME 'auth_ed25519'; \
         CREATE USER native@'127.0.0.1' IDENTIFIED BY 'gehe:im@/%20'; \
         CREATE USER ed@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('gehe:im@/%20'); \
         CREATE USER either@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('gehe:im@/%20') \
         OR mysql_native_password USING PASSWORD('other'); \
         GRANT ALL ON bench.* TO native@'127.0.0.1', ed@'127.0.0.1', either@'127.0.0.1'",
    );
    let secret = "gehe%3Aim%40%2F%2520";
    for (user, password) in
        [("native", secret), ("ed", secret), ("either", secret), ("either", "other")]
    {
        let login = format!("{user}:{password}");
        assert_eq!(try_url(&server.url(&login)), Ok(1), "{user}");
        let error = refused(&server.url(&format!("{user}:geheim")));
        assert_eq!(error.kind, UserErrorKind::Refused, "{error}");
        assert!(error.message.contains("1045") && error.hint.is_some(), "{error}");
    }
    let error = refused(&server.url("native:gehe").replace("/bench", "/nowhere"));
    assert_eq!(error.kind, UserErrorKind::Refused, "{error}");
    let error = refused(&server.url(SUPERUSER).replace("/bench", "/nowhere"));
    assert!(error.message.contains("1049"), "{error}");
}

#[test]
fn wrong_places_have_different_errors() {
    let Some(mut server) = started() else {
        return;
    };
    let socket = format!("mysql://{SUPERUSER}@/bench?socket={}", server.socket().display());
    assert_eq!(try_url(&socket), Ok(1));
    let no_tls = refused(&format!("{}?sslmode=require", server.url(SUPERUSER)));
    assert!(no_tls.message.contains("offers no TLS"), "{no_tls}");
    assert!(no_tls.hint.unwrap().contains("sslmode=disable"));
    let url = server.url(SUPERUSER);
    server.kill();
    assert_eq!(refused(&url).kind, UserErrorKind::Unreachable);
}

#[test]
fn tls_is_verified_according_to_sslmode() {
    if skipped() {
        return;
    }
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let server = MariaDb::start_with_tls(&certificate.pem(), &key.serialize_pem());
    server.sql(
        "CREATE USER tls@'127.0.0.1' IDENTIFIED BY 'x' REQUIRE SSL; \
         GRANT ALL ON bench.* TO tls@'127.0.0.1'",
    );
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root.pem");
    std::fs::write(&root, authority.pem()).unwrap();
    let root = root.display();
    for (host, query, connects) in [
        ("127.0.0.1", String::new(), true),
        ("127.0.0.1", "?sslmode=allow".to_owned(), true),
        ("127.0.0.1", "?sslmode=require".to_owned(), true),
        ("127.0.0.1", "?sslmode=disable".to_owned(), false),
        ("127.0.0.1", format!("?sslmode=verify-ca&sslrootcert={root}"), true),
        ("127.0.0.1", format!("?sslmode=verify-full&sslrootcert={root}"), false),
        ("localhost", format!("?sslmode=verify-full&sslrootcert={root}"), true),
        ("localhost", "?sslmode=verify-full".to_owned(), false),
    ] {
        let url = format!("mysql://tls:x@{host}:{}/bench{query}", server.port());
        let found = try_url(&url);
        assert_eq!(found.is_ok(), connects, "{host} {query}: {found:?}");
    }
    let url = format!("{}?sslmode=require", server.url("tls:x"));
    let facts = block_on(async {
        let target = open(&url, None)?;
        admin(target.as_ref()).await?.facts().await
    });
    assert_eq!(facts.unwrap().settings["tls"], "on");
}
