//! Fields of a protobuf message, one after another, as they lie in its bytes.
//!
//! prost reads keys and numbers. Its derived messages are not used here: a message of two bytes
//! would take a hundred in memory, and a damaged file could be made of such ones.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// The bytes are no protobuf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken;

/// A field's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    /// A text, a message, or packed numbers.
    Bytes(&'a [u8]),
}

/// The fields of a message, each with its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    fn bytes(&mut self, n: u64) -> Result<&'a [u8], Broken> {
        let n = usize::try_from(n).map_err(|_| Broken)?;
        let (bytes, rest) = self.rest.split_at_checked(n).ok_or(Broken)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Broken> {
        let (tag, wire_type) = decode_key(&mut self.rest).map_err(|_| Broken)?;
        let value = match wire_type {
            WireType::Varint => Value::Number(decode_varint(&mut self.rest).map_err(|_| Broken)?),
            WireType::LengthDelimited => {
                let n = decode_varint(&mut self.rest).map_err(|_| Broken)?;
                Value::Bytes(self.bytes(n)?)
            }
            // Of these two none is needed.
            WireType::ThirtyTwoBit => Value::Bytes(self.bytes(4)?),
            WireType::SixtyFourBit => Value::Bytes(self.bytes(8)?),
            WireType::StartGroup | WireType::EndGroup => {
                let context = DecodeContext::default();
                skip_field(wire_type, tag, &mut self.rest, context).map_err(|_| Broken)?;
                Value::Bytes(&[])
            }
        };
        Ok((tag, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Adds the numbers of a repeated field, packed or not.
pub(super) fn add_numbers(value: Value<'_>, numbers: &mut Vec<u64>) -> Result<(), Broken> {
    match value {
        Value::Number(number) => numbers.push(number),
        Value::Bytes(mut packed) => {
            while !packed.is_empty() {
                numbers.push(decode_varint(&mut packed).map_err(|_| Broken)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_up_to_the_first_that_is_broken() {
        // 1: 300, 2: "ab", 3 in four bytes, 4 in eight, a group 5 with a number in it.
        let sound = [
            &[0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x1d, 1, 2, 3, 4][..],
            &[0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2b, 0x08, 1, 0x2c],
        ]
        .concat();
        let all: Vec<_> = Fields::of(&sound).map(Result::unwrap).collect();
        assert_eq!(all[..2], [(1, Value::Number(300)), (2, Value::Bytes(b"ab"))]);
        assert_eq!(all[2..].iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [3, 4, 5]);
        // A longer text than there are bytes, an open group, the end of none, a cut number.
        for broken in [&[0x12, 3, b'a'][..], &[0x2b, 0x08, 1], &[0x2c], &[0x08, 0x80]] {
            let mut fields = Fields::of(broken);
            assert_eq!((fields.next(), fields.next()), (Some(Err(Broken)), None));
        }
    }

    #[test]
    fn numbers_may_be_packed() {
        let mut numbers = Vec::new();
        add_numbers(Value::Bytes(&[1, 0xac, 0x02]), &mut numbers).unwrap();
        add_numbers(Value::Number(7), &mut numbers).unwrap();
        assert_eq!(numbers, [1, 300, 7]);
        assert_eq!(add_numbers(Value::Bytes(&[0x80]), &mut numbers), Err(Broken));
    }
}
