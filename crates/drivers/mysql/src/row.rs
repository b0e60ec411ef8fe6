//! A row in the binary format of prepared statements: the columns that become values of later steps.
//!
//! Source: MySQL documentation, "Binary Protocol Resultset". Must not count rows.

use highwater_model::op::Value;

use super::wire::Reader;

/// A column of a statement's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    kind: u8,
    unsigned: bool,
}

const UNSIGNED: u64 = 0x20;
/// The type of lengths of time, which are no later values.
const TIME: u8 = 11;

impl Column {
    /// Reads a column definition.
    pub(super) fn read(definition: &[u8]) -> Option<Self> {
        let mut reader = Reader(definition);
        for _ in 0..4 {
            reader.lenenc_bytes()?;
        }
        let name = String::from_utf8_lossy(reader.lenenc_bytes()?).into_owned();
        reader.lenenc_bytes()?;
        // A length, the character set, and the column's width.
        reader.bytes(1 + 2 + 4)?;
        let kind = u8::try_from(reader.number(1)?).ok()?;
        let unsigned = reader.number(2)? & UNSIGNED != 0;
        Some(Self { name, kind, unsigned })
    }

    fn value(&self, reader: &mut Reader<'_>) -> Option<Value> {
        let integer = |bytes: u32, number: u64| {
            let unused = 64 - 8 * bytes;
            if !self.unsigned {
                return Value::Integer((number << unused).cast_signed() >> unused);
            }
            i64::try_from(number)
                .map_or_else(|_| Value::Text(number.to_string().into()), Value::Integer)
        };
        Some(match self.kind {
            1 => integer(1, reader.number(1)?),
            2 | 13 => integer(2, reader.number(2)?),
            3 | 9 => integer(4, reader.number(4)?),
            8 => integer(8, reader.number(8)?),
            4 => Value::Float(f32::from_bits(u32::try_from(reader.number(4)?).ok()?).into()),
            5 => Value::Float(f64::from_bits(reader.number(8)?)),
            7 | 10 | 12 => time(reader)?,
            TIME => {
                let length = usize::try_from(reader.number(1)?).ok()?;
                reader.bytes(length)?;
                Value::Null
            }
            _ => Value::Text(String::from_utf8_lossy(reader.lenenc_bytes()?).into()),
        })
    }

    /// Whether its values can be those of later steps.
    pub(super) fn can_be_value(&self) -> bool {
        self.kind != TIME
    }
}

/// A date, or a date and time of day, as the server writes it.
fn time(reader: &mut Reader<'_>) -> Option<Value> {
    let length = reader.number(1)?;
    let (mut year, mut month, mut day) = (0, 0, 0);
    if length > 0 {
        (year, month, day) = (reader.number(2)?, reader.number(1)?, reader.number(1)?);
    }
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if length > 4 {
        let (hour, minute) = (reader.number(1)?, reader.number(1)?);
        text.push_str(&format!(" {hour:02}:{minute:02}:{:02}", reader.number(1)?));
    }
    if length > 7 {
        text.push_str(&format!(".{:06}", reader.number(4)?));
    }
    Some(Value::Text(text.into()))
}

/// The values of some columns of a row, each with the position of its value in the op; `None` if the row is not one of
/// these columns.
pub(super) fn values_of(
    row: &[u8],
    columns: &[Column],
    taken: &[(usize, usize)],
) -> Option<Vec<(usize, Value)>> {
    // The bitmap of nulls begins with two bits that are not used.
    const UNUSED: usize = 2;
    let mut reader = Reader(row.get(1..)?);
    let nulls = reader.bytes((columns.len() + UNUSED).div_ceil(8))?;
    let mut found = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let bit = number + UNUSED;
        let is_null = nulls.get(bit / 8)? >> (bit % 8) & 1 == 1;
        let value = if is_null { Value::Null } else { column.value(&mut reader)? };
        let places = taken.iter().filter(|(of, _)| *of == number);
        found.extend(places.map(|(_, position)| (*position, value.clone())));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, flags: u8) -> Column {
        let mut definition = b"\x03def\0\0\0\x01a\0\x0c\x21\0\0\0\0\0".to_vec();
        definition.extend([kind, flags, 0, 0]);
        let column = Column::read(&definition).unwrap();
        assert_eq!(column.name, "a");
        column
    }

    #[test]
    fn values_of_each_type_are_those_of_the_row() {
        let text = |text: &str| Value::Text(text.into());
        for (kind, flags, bytes, expected) in [
            (1, 0, &b"\xff"[..], Value::Integer(-1)),
            (1, 0x20, b"\xff", Value::Integer(255)),
            (2, 0, b"\x00\x80", Value::Integer(-32_768)),
            (3, 0, b"\x01\0\0\0", Value::Integer(1)),
            (8, 0, &[0xff; 8], Value::Integer(-1)),
            (8, 0x20, &[0xff; 8], text("18446744073709551615")),
            (4, 0, &0.5_f32.to_le_bytes(), Value::Float(0.5)),
            (5, 0, &(-0.25_f64).to_le_bytes(), Value::Float(-0.25)),
            (246, 0, b"\x0512.30", text("12.30")),
            (253, 0, b"\0", text("")),
            (10, 0, b"\x04\xea\x07\x0b\x1e", text("2026-11-30")),
            (12, 0, b"\x07\xea\x07\x0b\x1e\x01\x02\x03", text("2026-11-30 01:02:03")),
            (
                7,
                0,
                b"\x0b\xea\x07\x0b\x1e\x01\x02\x03\x05\0\0\0",
                text("2026-11-30 01:02:03.000005"),
            ),
        ] {
            // Between a null and another integer.
            let columns = [column(8, 0), column(kind, flags), column(1, 0)];
            let row = [&[0, 0b100][..], bytes, &[7]].concat();
            let found = values_of(&row, &columns, &[(0, 9), (1, 4), (2, 5)]).unwrap();
            assert_eq!(found, [(9, Value::Null), (4, expected), (5, Value::Integer(7))], "{kind}");
            assert_eq!(values_of(&row[..row.len() - 1], &columns, &[(2, 0)]), None);
        }
    }
}
