//! `highwater serve`: the stored runs in a browser. Must not run anything, nor serve itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use highwater_live::{self as live, History};

use crate::failure::Failure;
use crate::grammar::flags::{NO_COLOR, OUT, OUTPUT};
use crate::grammar::{CommandSpec, Flag, flag};
use crate::intent::{PageAddress, parsers};
use crate::layers::Layers;
use crate::live::{USUAL, failure};
use crate::{exit, prepare, terminal};

/// `highwater serve`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "serve",
    summary: "Show the stored runs in a browser: list, open, compare",
    usage: "",
    positionals: &[],
    flags: &[("Serving", FLAGS), (OUTPUT, &[OUT, NO_COLOR])],
    examples: "  highwater serve
      the runs below highwater-runs, at http://127.0.0.1:4790/ until Ctrl-C
  highwater serve -o /srv/runs --listen 0.0.0.0:8080
      for others, too, who need the URL with its token",
    run: |layers| serve(&ServeIntent::resolve(layers)?),
};

const FLAGS: &[Flag] = &[
    flag(
        "--listen <ADDR>",
        "Listen at PORT of this machine, or at ADDR, such as 0.0.0.0:4790, which needs the token that is printed \
         [default: 127.0.0.1:4790]",
    ),
    flag(
        "--allow-delete",
        "Let the page remove runs, each after a confirmation",
    ),
];

/// What is served.
struct ServeIntent {
    address: PageAddress,
    may_delete: bool,
    out: PathBuf,
}

impl ServeIntent {
    fn resolve(layers: &Layers) -> Result<Self, Failure> {
        let address = layers.parse("listen", parsers::address)?;
        Ok(Self {
            address: address.map_or(PageAddress::Usual, PageAddress::At),
            may_delete: layers.switch("allow-delete")?,
            out: layers.require("out", parsers::word)?.into(),
        })
    }
}

fn serve(settings: &ServeIntent) -> Result<u8, Failure> {
    let interrupts = prepare::signals()?;
    let (address, may_move) = match settings.address {
        PageAddress::Usual => (SocketAddr::from(USUAL), true),
        PageAddress::At(address) => (address, false),
    };
    let history = History::open(&settings.out, address, may_move, settings.may_delete);
    let history = history.map_err(|failed| failure(&failed))?;
    terminal::note(&format!("page: {}\n", history.url));
    let served = live::serve(history, interrupts);
    served.map_err(|error| Failure::usage(format!("cannot serve: {error}")))?;
    Ok(exit::SUCCESS)
}
