//! The sink's responses: its greeting, and the packets for a command. Must not read one.

/// The end of a response without rows: the session's state, which commits each statement.
const AUTOCOMMIT: [u8; 2] = [2, 0];
/// Server capabilities: found rows, long flags, a database, local files, protocol 4.1, transactions, the hashed
/// password, several results, methods by name, attributes, and passwords of any length. No TLS, no compression.
const CAPABILITIES: u32 = 0x003e_a28e;
/// The collation ids of utf8mb4 and of binary data.
const UTF8MB4: u8 = 45;
const BINARY: u8 = 63;
/// Column types.
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;
/// Used for hashing the password; any password is accepted.
const NONCE: &[u8] = b"highwater's own sink";

/// The packets of a response; their sequence numbers follow that of the command.
pub(super) struct Answer<'o> {
    out: &'o mut Vec<u8>,
    sequence: u8,
}

impl<'o> Answer<'o> {
    /// After a packet of the client with that sequence number.
    pub(super) fn after(sequence: u8, out: &'o mut Vec<u8>) -> Self {
        Self { out, sequence }
    }

    fn packet(&mut self, parts: &[&[u8]]) {
        self.sequence = self.sequence.wrapping_add(1);
        put(self.out, self.sequence, parts);
    }

    /// Success; this many rows were written.
    pub(super) fn done(&mut self, rows: u64) {
        // A number of eight bytes; no insert id, and no warnings.
        self.packet(&[&[0, 0xfe], &rows.to_le_bytes(), &[0], &AUTOCOMMIT, &[0, 0]]);
    }

    /// One row of these texts, each shorter than 251 bytes.
    pub(super) fn text_row(&mut self, values: &[&str]) {
        self.head(values.len(), VAR_STRING);
        let mut row = Vec::new();
        for value in values {
            row.push(u8::try_from(value.len()).unwrap_or(0));
            row.extend_from_slice(value.as_bytes());
        }
        self.packet(&[&row]);
        self.end_of_packets();
    }

    /// One row with this number, as the result of a prepared statement.
    pub(super) fn binary_row(&mut self, value: i64) {
        self.head(1, LONGLONG);
        // It begins with a zero, and the null bitmap.
        self.packet(&[&[0, 0], &value.to_le_bytes()]);
        self.end_of_packets();
    }

    fn head(&mut self, columns: usize, kind: u8) {
        self.packet(&[&[u8::try_from(columns).unwrap_or(0)]]);
        self.columns(columns, kind);
    }

    fn columns(&mut self, count: usize, kind: u8) {
        for _ in 0..count {
            self.packet(&[
                // Catalog; schema, table, and original table; name and original name; 12 bytes follow.
                b"\x03def\0\0\0\x01n\0\x0c",
                &[BINARY, 0, 20, 0, 0, 0, kind],
                &[0; 5],
            ]);
        }
        if count > 0 {
            self.end_of_packets();
        }
    }

    fn end_of_packets(&mut self) {
        self.packet(&[&[0xfe, 0, 0], &AUTOCOMMIT]);
    }

    /// A statement was prepared with this id.
    pub(super) fn prepared(&mut self, number: u32, columns: u16, parameters: u16) {
        self.packet(&[
            &[0],
            &number.to_le_bytes(),
            &columns.to_le_bytes(),
            &parameters.to_le_bytes(),
            &[0, 0, 0],
        ]);
        self.columns(usize::from(parameters), VAR_STRING);
        self.columns(usize::from(columns), LONGLONG);
    }

    /// Requests the lines of LOAD DATA.
    pub(super) fn ask_for_lines(&mut self) {
        self.packet(&[b"\xfbhighwater"]);
    }
}

/// Writes the server's greeting.
pub(super) fn greet(out: &mut Vec<u8>) {
    let [a, b, c, d] = CAPABILITIES.to_le_bytes();
    let (first, second) = NONCE.split_at(8);
    let length = u8::try_from(NONCE.len() + 1).unwrap_or(0);
    let version = [super::statement::FACTS[0].as_bytes(), &[0]].concat();
    put(
        out,
        0,
        &[
            &[10],
            &version,
            // The connection id.
            &[1, 0, 0, 0],
            first,
            &[0, a, b, UTF8MB4],
            &AUTOCOMMIT,
            &[c, d, length],
            &[0; 10],
            second,
            b"\0mysql_native_password\0",
        ],
    );
}

/// A packet of these parts.
fn put(out: &mut Vec<u8>, sequence: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let [a, b, c, ..] = length.to_le_bytes();
    out.extend_from_slice(&[a, b, c, sequence]);
    for part in parts {
        out.extend_from_slice(part);
    }
}
