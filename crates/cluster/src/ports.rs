//! Ports of nodes: picks free ones, and checks that those of the file are free. Must not keep any open.

use std::collections::BTreeMap;
use std::net::TcpListener;

use highwater_model::user_error::UserError;

/// The ports of a node on a host by name, derived from those of node 1 in the file. Ports in `before` are reused if
/// they are free.
pub(super) fn of_node(
    number: u32,
    host: &str,
    named: &BTreeMap<String, u16>,
    before: &BTreeMap<String, u16>,
    held: &mut Vec<TcpListener>,
) -> Result<BTreeMap<String, u16>, UserError> {
    let mut ports = BTreeMap::new();
    for (name, first) in named {
        let fixed = match first {
            0 => None,
            first => Some(following(*first, number, name)?),
        };
        let earlier = before.get(name).copied().unwrap_or(0);
        let listener = match fixed {
            Some(port) => TcpListener::bind((host, port)),
            None => TcpListener::bind((host, earlier)).or_else(|_| TcpListener::bind((host, 0))),
        };
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
        let (port, listener) = bound.map_err(|error| {
            let place = fixed.map_or(host.to_owned(), |port| format!("{host}:{port}"));
            UserError::usage(format!(
                "port `{name}` of node {number} cannot be used: {place}: {error}"
            ))
            .with_hint(format!(
                "end what uses it (`ss -ltnp` lists that), or write {name} = 0 for a free port"
            ))
        })?;
        // Held until all nodes have their ports, so that no two get the same one.
        held.push(listener);
        ports.insert(name.clone(), port);
    }
    Ok(ports)
}

/// The port of a node from that of node 1.
fn following(first: u16, number: u32, name: &str) -> Result<u16, UserError> {
    let port = u32::from(first).saturating_add(number).saturating_sub(1);
    u16::try_from(port).map_err(|_| {
        UserError::usage(format!("port `{name}` of node {number} would be {port}"))
            .with_hint("begin with a lower port; 65535 is the highest")
    })
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const HOST: &str = "127.0.0.1";
    const LOOKS: u32 = 1_000;
    const LOOK: Duration = Duration::from_millis(5);

    fn named(port: u16) -> BTreeMap<String, u16> {
        BTreeMap::from([("http".to_owned(), port)])
    }

    #[test]
    fn free_ports_differ_and_come_again() {
        let mut held = Vec::new();
        let none = BTreeMap::new();
        let mut pick = |number, before| of_node(number, HOST, &named(0), before, &mut held);
        let (one, two) = (pick(1, &none).unwrap(), pick(2, &none).unwrap());
        assert_ne!(one, two);
        held.clear();
        // A process that another test starts inherits the listeners until it executes its program.
        let again = (0..LOOKS).find_map(|_| {
            let mut held = Vec::new();
            let ports = of_node(1, HOST, &named(0), &one, &mut held).unwrap();
            thread::sleep(LOOK);
            (ports == one).then_some(held)
        });
        let _held = again.expect("the port comes again");
        let other = of_node(1, HOST, &named(0), &one, &mut held).unwrap();
        assert_ne!(other, one, "somebody has it");
    }

    #[test]
    fn a_port_in_use_is_named() {
        let taken = TcpListener::bind((HOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let fixed = named(port - 1);
        let none = BTreeMap::new();
        let error = of_node(2, HOST, &fixed, &none, &mut Vec::new()).unwrap_err();
        let place = format!("port `http` of node 2 cannot be used: 127.0.0.1:{port}: ");
        assert!(error.message.starts_with(&place), "{error}");
        let beyond = of_node(2, HOST, &named(65_535), &none, &mut Vec::new()).unwrap_err();
        assert_eq!(beyond.message, "port `http` of node 2 would be 65536");
    }
}
