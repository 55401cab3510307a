//! Shortens a summary to its first flows, for example for a table of a run with a hundred thousand
//! flows.

use std::fmt;
use std::io::Write;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The JSON key under which a summary lists its flows.
const FLOWS: &str = "flows";

/// Returns the JSON of a summary with only its first `most` flows. Also returns the number of
/// omitted flows.
///
/// # Errors
/// If the text is not the JSON of an object.
pub fn brief(summary: &[u8], most: usize) -> serde_json::Result<(Vec<u8>, usize)> {
    let mut reader = serde_json::Deserializer::from_slice(summary);
    let found = reader.deserialize_map(Whole { most })?;
    reader.end()?;
    Ok(found)
}

struct Whole {
    most: usize,
}

impl<'de> Visitor<'de> for Whole {
    type Value = (Vec<u8>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a summary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut out, mut left_out) = (Vec::new(), 0);
        let mut between = b"{";
        while let Some(key) = map.next_key::<&RawValue>()? {
            out.extend_from_slice(between);
            between = b",";
            out.extend_from_slice(key.get().as_bytes());
            out.push(b':');
            if key.get().trim_matches('"') == FLOWS {
                let first = First {
                    most: self.most,
                    out: &mut out,
                };
                left_out = map.next_value_seed(first)?;
            } else {
                let value = map.next_value::<&RawValue>()?;
                out.write_all(value.get().as_bytes())
                    .map_err(A::Error::custom)?;
            }
        }
        if between == b"{" {
            out.push(b'{');
        }
        out.push(b'}');
        Ok((out, left_out))
    }
}

struct First<'a> {
    most: usize,
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of flows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut flows: A) -> Result<usize, A::Error> {
        self.out.push(b'[');
        for place in 0..self.most {
            let Some(flow) = flows.next_element::<&RawValue>()? else {
                break;
            };
            if place > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(flow.get().as_bytes());
        }
        let mut left_out = 0;
        while flows.next_element::<IgnoredAny>()?.is_some() {
            left_out += 1;
        }
        self.out.push(b']');
        Ok(left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, most: usize) -> (String, usize) {
        let (made, left_out) = brief(text.as_bytes(), most).expect("an object");
        (String::from_utf8(made).expect("UTF-8"), left_out)
    }

    #[test]
    fn the_first_flows_and_all_else() {
        let text = r#"{ "seed": 1.50, "flows": [ {"name":"a"}, {"name":"b"} , {} ], "queues": {"z":1,"a":2} }"#;
        let found = of(text, 2);
        let expected =
            r#"{"seed":1.50,"flows":[{"name":"a"},{"name":"b"}],"queues":{"z":1,"a":2}}"#;
        assert_eq!(found, (expected.to_owned(), 1));
        assert_eq!(of(text, 3).1, 0);
        assert_eq!(of(r#"{"flows":[]}"#, 3), (r#"{"flows":[]}"#.to_owned(), 0));
        assert_eq!(of("{}", 3), ("{}".to_owned(), 0));
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        for text in ["", "[]", "{\"flows\":1}", "{\"flows\":[}", "{} x"] {
            assert!(brief(text.as_bytes(), 1).is_err(), "{text}");
        }
    }
}
