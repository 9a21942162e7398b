//! OpenAI under its plain name, a provider that speaks two APIs. The model of a turn says which, so an open turn goes on
//! over its own where a deployment's next turns speak the other. Reasoning that one of them wrote is not sent to the other.
//!
//! A choice without the member means Chat Completions, as it did before. What a model takes is data: the catalogue's
//! rows become abilities and options of the choice (`config/overrides.rs`), and the codecs know no names of models
//! (Gemini's does, for the calls of others before Gemini 3).

use wire::http::HttpRequest;
use wire::model::{ModelChoice, ModelError, ModelErrorKind, ModelRequest};

use super::failure::Complaint;
use super::openai_chat::{self, OpenAiChat};
use super::openai_responses::{self, OpenAiResponses};
use super::{Codec, Decoder};

/// [`ModelChoice::wire`] of a model that is called over Responses. A model without one is called over Chat Completions,
/// as all were before that member.
pub const RESPONSES: &str = openai_responses::WIRE;

/// A server with both APIs, or one of them.
#[derive(Clone, Debug)]
pub struct OpenAi {
    pub chat: OpenAiChat,
    pub responses: OpenAiResponses,
}

impl OpenAi {
    fn codec(&self, model: &ModelChoice) -> Result<&dyn Codec, ModelError> {
        match model.wire.as_deref() {
            None | Some(openai_chat::WIRE) => Ok(&self.chat),
            Some(RESPONSES) => Ok(&self.responses),
            Some(_) => {
                let message =
                    "The turn began over an API of the model provider that this version does not speak.";
                Err(ModelError::new(ModelErrorKind::BadRequest, message))
            }
        }
    }
}

impl Codec for OpenAi {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        self.codec(&request.model)?.encode(request)
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        // Nothing is decoded where nothing could be encoded.
        self.codec(&request.model).unwrap_or(&self.chat).decoder(request)
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    fn request(wire: Option<&str>) -> ModelRequest {
        let model = ModelChoice { wire: wire.map(str::to_owned), ..ModelChoice::new("openai", "gpt-6-luna") };
        ModelRequest::new(Rc::new(model), "s".into())
    }

    // Issue 43: a turn goes on over its own API.
    #[test]
    fn the_model_of_a_turn_says_over_which_api_it_is_called() {
        let url = "https://api.openai.com/v1";
        let openai = OpenAi { chat: OpenAiChat::new(url, None), responses: OpenAiResponses::new(url, None) };
        let path = |wire| openai.encode(&request(wire)).map(|sent| sent.url.replace(url, ""));
        assert_eq!(path(None).unwrap(), "/chat/completions", "the journals of older code");
        assert_eq!(path(Some("chat")).unwrap(), "/chat/completions");
        assert_eq!(path(Some(RESPONSES)).unwrap(), "/responses");
        assert_eq!(path(Some("decisions")).unwrap_err().kind, ModelErrorKind::BadRequest);
        let mut events = Vec::new();
        let event =
            b"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n";
        openai.decoder(&request(Some(RESPONSES))).feed(event, &mut events).unwrap();
        assert_eq!(events, [wire::model::ModelEvent::Text("Hi".to_owned())]);
    }
}
