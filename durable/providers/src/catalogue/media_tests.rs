use wire::media::{MAX_VARIATIONS, MediaRequest};
use wire::time::date;

use super::*;
use crate::media::{GeminiMedia, MediaCodec, OpenAiMedia, WorkersAiMedia};

fn request(mode: MediaMode, model: &str) -> MediaRequest {
    MediaRequest::new(mode, model, "A lighthouse.")
}

// N-020 N-172
#[test]
fn each_row_of_media_makes_sense() {
    let ids: Vec<(&str, &str)> = MEDIA_ROWS.iter().map(|row| (row.provider, row.model)).collect();
    assert!(ids.len() > 20 && ids.windows(2).all(|pair| pair[0] < pair[1]), "sorted, and each model once");
    for row in MEDIA_ROWS {
        let name = format!("{}:{}", row.provider, row.model);
        assert!(row.ends.is_none_or(|ends| ends > DATE), "{name} has ended");
        assert!(!row.modes.is_empty() && (1..=MAX_VARIATIONS).contains(&row.most_variations), "{name}");
        assert_eq!(row.ends.is_some(), row.successor.is_some(), "{name}");
        for mode in row.modes.iter().filter(|mode| !mode.has_sources()) {
            let most = row.price.as_ref().map(|price| price.most_microusd(&request(*mode, row.model), None));
            let is_dear = most.is_some_and(|most| most.is_none_or(|most| !(1..5_000_000).contains(&most)));
            assert!(!is_dear, "{name}: {most:?}");
        }
    }
}

// The prices that the makers' pages had on 2026-11-29: https://developers.openai.com/api/docs/pricing,
// https://ai.google.dev/gemini-api/docs/pricing, https://developers.cloudflare.com/workers-ai/platform/pricing.
#[test]
fn prices_of_media_are_those_of_the_makers_pages() {
    let most = |provider, mode, model, seconds| {
        media(provider, model)?.price.as_ref()?.most_microusd(&request(mode, model), seconds)
    };
    // 13 characters of a prompt are at most 77 tokens.
    let of_openai = (1_152 + 4_778) * 30 + 77 * 5;
    assert_eq!(most("openai", MediaMode::Image, "gpt-image-2.6-flare", None), Some(of_openai));
    assert_eq!(
        most("openai-chat", MediaMode::Image, "gpt-image-2-2026-04-21", None),
        Some(of_openai),
        "a name with a date"
    );
    assert_eq!(most("openai", MediaMode::Audio, "tts-1", None), Some(195));
    assert_eq!(most("openai", MediaMode::Audio, "gpt-4o-mini-tts", None), None, "its answer counts nothing");
    assert_eq!(most("openai", MediaMode::Transcription, "gpt-transcribe", Some(60.0)), Some(4_500));
    assert_eq!(most("gemini", MediaMode::Image, "gemini-3.1-flash-image", None), Some(5_216 * 60 + 39));
    assert_eq!(most("gemini", MediaMode::Video, "veo-3.1-generate-001", None), Some(3_200_000));
    let flux = most("workers-ai", MediaMode::Image, "@cf/black-forest-labs/flux-1-schnell", None);
    assert_eq!(flux, Some(634), "4 × $0.0000528 + 4 × $0.0001056");
    assert_eq!(most("workers-ai", MediaMode::Audio, "@cf/deepgram/aura-2-en", None), Some(390));
    for (provider, model) in
        [("openai", "gpt-image-9"), ("box", "gpt-image-2"), ("workers-ai", "@cf/lykon/dreamshaper-8-lcm")]
    {
        assert!(media(provider, model).is_none(), "{provider}:{model}");
    }
}

// By https://developers.openai.com/api/docs/deprecations.
#[test]
fn media_models_end() {
    let ends = |provider, model| media(provider, model).unwrap().ends.and_then(date);
    assert_eq!(ends("openai", "tts-1").as_deref(), Some("2027-01-06"));
    assert_eq!(ends("openai", "whisper-1").as_deref(), Some("2027-02-26"));
    assert_eq!(ends("openai", "gpt-image-2.6-sunburst"), None);
    assert!(media("openai", "gpt-image-1.5").is_none() && media("openai", "sora-2").is_none());
}

// What a row says is what the codec takes.
#[test]
fn rows_and_codecs_agree() {
    for row in MEDIA_ROWS {
        let codec: Box<dyn MediaCodec> = match row.provider {
            "openai" => Box::new(OpenAiMedia::new("https://api.openai.com/v1", None).of_openai()),
            "gemini" => Box::new(GeminiMedia::new("https://generativelanguage.googleapis.com", None)),
            _ => Box::new(WorkersAiMedia),
        };
        for mode in MediaMode::ALL {
            let mut request = request(mode, row.model);
            if mode.has_sources() {
                let bytes = std::rc::Rc::from(&b"bytes"[..]);
                request.sources.push(wire::media::Source { media_type: "image/png", bytes });
            }
            if row.modes.contains(&mode) {
                assert!(codec.encode(&request).is_ok(), "{}: {mode:?}", row.model);
                let more = MediaRequest { variations: Some(row.most_variations + 1), ..request };
                let is_ours = row.most_variations == MAX_VARIATIONS;
                assert_eq!(codec.encode(&more).is_ok(), is_ours, "{}: {mode:?}", row.model);
            }
        }
    }
}
