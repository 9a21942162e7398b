//! Messages as a codec has written them. Each request of a level has the messages of the request before it and a few
//! more, so a codec writes each message once in its turn.
//!
//! Each request of a level repeats the messages of the request before it. So a codec keeps the bytes of each message
//! that it wrote, for as long as its turn runs and up to half a megabyte (`providers/src/written.rs`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::codec::unwritable;
use wire::model::{Message, ModelChoice, ModelError, ModelRequest};

/// The bytes of messages that a codec keeps. A turn that has more starts over, so no turn keeps more than this beside
/// its history.
const KEPT_BYTES: usize = 512 * 1024;
/// The largest message that a codec keeps, in bytes: more than most, and less than one with a picture.
const KEPT_MESSAGE: usize = 64 * 1024;

/// The messages that one codec wrote, in the form of its API: a message is one item, or several.
#[derive(Debug, Default)]
pub struct Written(RefCell<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By the addresses of message and model, which stay theirs while they are held here.
    messages: BTreeMap<(usize, usize), Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    items: Items,
    _held: (Rc<Message>, Rc<ModelChoice>),
}

/// A message's items.
pub type Items = Rc<[Box<RawValue>]>;

/// A conversation as one list: perhaps a system prompt, then the items of all messages.
pub struct Conversation<S> {
    pub system: Option<S>,
    pub messages: Vec<Items>,
}

impl<S: Serialize> Serialize for Conversation<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(system) = &self.system {
            list.serialize_element(system)?;
        }
        for item in self.messages.iter().flat_map(|items| items.iter()) {
            list.serialize_element(item)?;
        }
        list.end()
    }
}

impl Clone for Written {
    /// A codec of the same provider, which has written nothing yet.
    fn clone(&self) -> Self {
        Written::default()
    }
}

impl Written {
    /// The items of all messages of a request: `write` makes those of a message that was not written before.
    pub fn messages<'a, T: Serialize>(
        &self,
        request: &'a ModelRequest,
        write: impl Fn(&'a Message, &'a ModelChoice) -> Vec<T>,
    ) -> Result<Vec<Items>, ModelError> {
        request.messages.iter().map(|message| self.items(message, &request.model, &write)).collect()
    }

    fn items<'a, T: Serialize>(
        &self,
        message: &'a Rc<Message>,
        model: &'a Rc<ModelChoice>,
        write: &impl Fn(&'a Message, &'a ModelChoice) -> Vec<T>,
    ) -> Result<Items, ModelError> {
        let key = (Rc::as_ptr(message).addr(), Rc::as_ptr(model).addr());
        let mut kept = self.0.borrow_mut();
        if let Some(entry) = kept.messages.get(&key) {
            return Ok(Rc::clone(&entry.items));
        }
        let written: Result<Vec<_>, _> = write(message, model).iter().map(to_raw_value).collect();
        let items: Items = written.map_err(unwritable)?.into();
        let bytes: usize = items.iter().map(|item| item.get().len()).sum();
        if bytes <= KEPT_MESSAGE {
            if kept.bytes + bytes > KEPT_BYTES {
                *kept = Kept::default();
            }
            kept.bytes += bytes;
            let held = (Rc::clone(message), Rc::clone(model));
            kept.messages.insert(key, Entry { items: Rc::clone(&items), _held: held });
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::{KEPT_BYTES, KEPT_MESSAGE, Written};
    use wire::model::{Message, ModelChoice, ModelRequest};

    /// A model's requests, and how many messages were written for them.
    struct Case {
        written: Written,
        writes: Cell<usize>,
    }

    impl Case {
        fn new() -> Self {
            Case { written: Written::default(), writes: Cell::new(0) }
        }

        /// The items of a request.
        fn ask(&self, request: &ModelRequest) -> Vec<String> {
            let write = |message: &Message, model: &ModelChoice| {
                self.writes.set(self.writes.get() + 1);
                let Message::User { content } = message else { panic!("a user's message") };
                vec![format!("{}: {}", model.model, content.text())]
            };
            let messages = self.written.messages(request, write).unwrap();
            messages.iter().flat_map(|items| items.iter()).map(|item| item.get().to_owned()).collect()
        }
    }

    fn request(model: &str, messages: &[Rc<Message>]) -> ModelRequest {
        let mut request = ModelRequest::new(Rc::new(ModelChoice::new("openai", model)), "".into());
        request.messages = messages.to_vec();
        request
    }

    fn said(text: &str) -> Rc<Message> {
        Rc::new(Message::User { content: text.into() })
    }

    #[test]
    fn a_message_is_written_once_for_each_model() {
        let case = Case::new();
        let mut first = request("m", &[said("a"), said("b")]);
        assert_eq!(case.ask(&first), [r#""m: a""#, r#""m: b""#]);
        first.messages.push(said("c"));
        assert_eq!(case.ask(&first), [r#""m: a""#, r#""m: b""#, r#""m: c""#]);
        assert_eq!(case.writes.get(), 3);
        let other = request("n", &first.messages);
        assert_eq!(case.ask(&other), [r#""n: a""#, r#""n: b""#, r#""n: c""#]);
        assert_eq!(case.writes.get(), 6);
    }

    #[test]
    fn a_message_with_the_text_of_another_is_its_own() {
        let case = Case::new();
        let model = request("m", &[]);
        for text in ["a", "b", "a"] {
            // Each message is dropped before the next one is made, so it could get the same address.
            let request = ModelRequest { messages: vec![said(text)], ..model.clone() };
            assert_eq!(case.ask(&request), [format!("\"m: {text}\"")]);
        }
    }

    #[test]
    fn the_kept_bytes_are_bounded() {
        let case = Case::new();
        let long = |bytes: usize| said(&"x".repeat(bytes - r#""m: ""#.len()));
        let (largest, beyond) = (long(KEPT_MESSAGE), long(KEPT_MESSAGE + 1));
        let request = request("m", &[largest, beyond]);
        case.ask(&request);
        case.ask(&request);
        assert_eq!(case.writes.get(), 3, "a message beyond the limit is written each time");

        let many = KEPT_BYTES / KEPT_MESSAGE;
        let messages: Vec<_> = (0..many).map(|_| long(KEPT_MESSAGE)).collect();
        let case = Case::new();
        let mut request = ModelRequest { messages, ..request };
        case.ask(&request);
        case.ask(&request);
        assert_eq!(case.writes.get(), many, "all of the limit is kept");
        request.messages.push(said("one more"));
        case.ask(&request);
        assert_eq!(case.written.0.borrow().bytes, r#""m: one more""#.len(), "then it starts over");
    }
}
