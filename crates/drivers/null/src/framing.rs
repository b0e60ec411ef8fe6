//! Splits arriving bytes, in pieces of any size, into messages: a head, the start of a body, which is kept, and the
//! rest of it, which is skipped.
//!
//! Must not know a protocol.

use super::conversation::Conversation;

/// The messages of a protocol, on one connection.
pub(super) trait Messages {
    /// Writes the server's greeting; in most protocols, the client begins.
    fn greet(&mut self, _answer: &mut Vec<u8>) {}
    /// Bytes of the next head.
    fn head_bytes(&self) -> usize;
    /// Parses a head: how many bytes of the body to keep, and its length; `None` if it is invalid.
    fn head(&mut self, head: &[u8]) -> Option<(usize, usize)>;
    /// The kept part of a body is complete; false if that ends the connection.
    fn body(&mut self, kept: &[u8], answer: &mut Vec<u8>) -> bool;
    /// Bytes of a body that are not kept.
    fn pass(&mut self, piece: &[u8]);
    /// The message is complete; false if that ends the connection.
    fn end(&mut self, _answer: &mut Vec<u8>) -> bool {
        true
    }
}

/// The part of a message that is read next.
#[derive(Debug, Clone, Copy, Default)]
enum Part {
    #[default]
    Head,
    /// `needed` bytes of the body are kept, and the next `rest` bytes skipped.
    Body { needed: usize, rest: usize },
    /// This many bytes are skipped.
    Rest(usize),
}

/// One connection.
pub(super) struct Framed<M> {
    messages: M,
    part: Part,
    /// First of a head, then of a body.
    kept: Vec<u8>,
}

impl<M> Framed<M> {
    /// A connection with these messages.
    pub(super) fn new(messages: M) -> Self {
        Self { messages, part: Part::default(), kept: Vec::new() }
    }
}

impl<M: Messages> Conversation for Framed<M> {
    fn greet(&mut self, answer: &mut Vec<u8>) {
        self.messages.greet(answer);
    }

    fn take(&mut self, mut input: &[u8], answer: &mut Vec<u8>) -> bool {
        loop {
            match self.part {
                Part::Head => {
                    if !keep(&mut self.kept, &mut input, self.messages.head_bytes()) {
                        return true;
                    }
                    let Some((needed, length)) = self.messages.head(&self.kept) else {
                        return false;
                    };
                    self.kept.clear();
                    let rest = length - needed;
                    self.part = Part::Body { needed, rest };
                }
                Part::Body { needed, rest } => {
                    if !keep(&mut self.kept, &mut input, needed) {
                        return true;
                    }
                    if !self.messages.body(&self.kept, answer) {
                        return false;
                    }
                    self.kept.clear();
                    self.part = Part::Rest(rest);
                }
                Part::Rest(0) => {
                    if !self.messages.end(answer) {
                        return false;
                    }
                    self.part = Part::Head;
                }
                Part::Rest(left) => {
                    if input.is_empty() {
                        return true;
                    }
                    let (passed, rest) = input.split_at(left.min(input.len()));
                    self.messages.pass(passed);
                    input = rest;
                    self.part = Part::Rest(left - passed.len());
                }
            }
        }
    }
}

/// Moves bytes to `kept` until it has `needed`; returns whether it does.
fn keep(kept: &mut Vec<u8>, input: &mut &[u8], needed: usize) -> bool {
    let taken = needed.saturating_sub(kept.len()).min(input.len());
    let (more, rest) = input.split_at(taken);
    kept.extend_from_slice(more);
    *input = rest;
    kept.len() >= needed
}
