use std::rc::Rc;

use super::*;
use crate::model::ModelErrorKind;

fn image() -> MediaRequest {
    MediaRequest::new(MediaMode::Image, "m", "A lighthouse.")
}

fn source(media_type: &'static str, bytes: usize) -> Source {
    Source { media_type, bytes: Rc::from(vec![0; bytes]) }
}

/// The member that the check refuses.
fn refused(request: MediaRequest) -> Option<&'static str> {
    match request.check() {
        Err(MediaFailure::Member { member, .. }) => Some(member),
        Err(other) => panic!("{other:?}"),
        Ok(()) => None,
    }
}

// N-020
// Long: a table.
#[test]
fn a_request_is_refused_by_the_name_of_its_member() {
    use MediaMode::{Audio, Image, ImageEdit, ImageToVideo, Transcription, Video};
    let plain = |mode| MediaRequest { mode, ..image() };
    assert_eq!(refused(image()), None);
    let table: Vec<(MediaRequest, Option<&str>)> = vec![
        (MediaRequest { prompt: " \n".to_owned(), ..image() }, Some("prompt")),
        (MediaRequest { prompt: "ä".repeat(MAX_PROMPT_CHARS), ..image() }, None),
        (MediaRequest { prompt: "ä".repeat(MAX_PROMPT_CHARS + 1), ..image() }, Some("prompt")),
        (MediaRequest { prompt: "a".repeat(MAX_SPOKEN_CHARS), ..plain(Audio) }, None),
        (MediaRequest { prompt: "a".repeat(MAX_SPOKEN_CHARS + 1), ..plain(Audio) }, Some("prompt")),
        (MediaRequest { variations: Some(0), ..image() }, Some("variations")),
        (MediaRequest { variations: Some(MAX_VARIATIONS), ..image() }, None),
        (MediaRequest { variations: Some(MAX_VARIATIONS + 1), ..image() }, Some("variations")),
        (MediaRequest { width: Some(64), ..image() }, Some("height")),
        (MediaRequest { height: Some(64), ..image() }, Some("width")),
        (MediaRequest { width: Some(MAX_SIDE), height: Some(1), ..image() }, None),
        (MediaRequest { width: Some(MAX_SIDE + 1), height: Some(1), ..image() }, Some("width")),
        (MediaRequest { width: Some(1), height: Some(0), ..image() }, Some("height")),
        (MediaRequest { duration: Some(MAX_VIDEO_SECONDS), ..plain(Video) }, None),
        (MediaRequest { duration: Some(MAX_VIDEO_SECONDS + 1), ..plain(Video) }, Some("duration")),
        (MediaRequest { duration: Some(1), ..image() }, Some("duration")),
        (MediaRequest { speed: Some(0.25), ..plain(Audio) }, None),
        (MediaRequest { speed: Some(4.01), ..plain(Audio) }, Some("speed")),
        (MediaRequest { speed: Some(f64::NAN), ..plain(Audio) }, Some("speed")),
        (MediaRequest { format: Some(Format::Opus), ..plain(Audio) }, None),
        (MediaRequest { format: Some(Format::Png), ..plain(Audio) }, Some("format")),
        (MediaRequest { format: Some(Format::Wav), ..image() }, Some("format")),
        (MediaRequest { voice: Some("coral".to_owned()), ..image() }, Some("voice")),
        (MediaRequest { voice: Some("a\r\nb".to_owned()), ..plain(Audio) }, Some("voice")),
        (MediaRequest { quality: Some("x".repeat(65)), ..image() }, Some("quality")),
        (MediaRequest { strength: Some(0.5), ..image() }, Some("strength")),
        (MediaRequest { num_inference_steps: Some(51), ..image() }, Some("num_inference_steps")),
        (plain(ImageEdit), Some("sources")),
        (plain(ImageToVideo), Some("sources")),
        (MediaRequest { sources: vec![source("image/png", 1)], ..image() }, Some("sources")),
        (
            MediaRequest { sources: vec![source("image/png", 1)], strength: Some(1.0), ..plain(ImageEdit) },
            None,
        ),
        (MediaRequest { sources: vec![source("image/png", 0)], ..plain(ImageEdit) }, Some("sources")),
        (MediaRequest { sources: vec![source("audio/wav", 1)], ..plain(ImageEdit) }, Some("sources")),
        (MediaRequest { sources: vec![source("image/png", 1); MAX_SOURCES], ..plain(ImageEdit) }, None),
        (
            MediaRequest { sources: vec![source("image/png", 1); MAX_SOURCES + 1], ..plain(ImageEdit) },
            Some("sources"),
        ),
        (MediaRequest { sources: vec![source("image/png", MAX_SOURCE_BYTES)], ..plain(ImageEdit) }, None),
        (
            MediaRequest { sources: vec![source("image/png", MAX_SOURCE_BYTES + 1)], ..plain(ImageEdit) },
            Some("sources"),
        ),
        (
            MediaRequest {
                sources: vec![source("image/png", MAX_SOURCES_BYTES / 2 + 1); 2],
                ..plain(ImageEdit)
            },
            Some("sources"),
        ),
        (
            MediaRequest {
                prompt: String::new(),
                sources: vec![source("audio/wav", 1)],
                ..plain(Transcription)
            },
            None,
        ),
        (MediaRequest { sources: vec![source("video/mp4", 1)], ..plain(Transcription) }, None),
        (MediaRequest { sources: vec![source("image/png", 1)], ..plain(Transcription) }, Some("sources")),
    ];
    for (request, member) in table {
        let shown = format!("{:?} {:?}", request.mode, request.sources.len());
        assert_eq!(refused(request), member, "{shown}");
    }
    let unknown = image().only(&["width"], "this model");
    assert_eq!(unknown, Ok(()));
    let sized = MediaRequest { variations: Some(2), ..image() }.only(&["width"], "this model").unwrap_err();
    assert_eq!(sized.message(), "variations: It means nothing to this model.");
    assert_eq!(Image.as_str(), "image");
}

#[test]
fn a_failure_is_one_of_those_of_models() {
    let policy = MediaFailure::Policy { accepted: true };
    assert_eq!((policy.kind(), policy.may_have_cost()), (ModelErrorKind::BadRequest, true));
    let member = MediaFailure::member("width", "No.");
    assert_eq!((member.kind(), member.may_have_cost()), (ModelErrorKind::BadRequest, false));
    let lost = crate::model::ModelError::new(ModelErrorKind::Network, "Lost.");
    assert!(MediaFailure::from(lost).may_have_cost());
}

fn usage(text_tokens: u64, media_tokens: u64, output_media_tokens: u64) -> MediaUsage {
    MediaUsage { text_tokens, media_tokens, output_media_tokens, ..MediaUsage::default() }
}

// N-020: a price is held before the call and settled after it.
#[test]
fn a_price_bounds_what_an_answer_costs() {
    let output = |word: &str, tokens, per_megapixel| OutputTokens {
        word: word.to_owned().into(),
        tokens,
        per_megapixel,
    };
    let rates = TokenRates {
        text: 5.0,
        media: 8.0,
        output_text: 10.0,
        output_media: 30.0,
        most_of_source: None,
        outputs: vec![output("", 1_152, 576), output("high", 4_608, 2_304)].into(),
    };
    let price = MediaPrice::Tokens(rates.clone());
    let high = MediaRequest {
        quality: Some("high".to_owned()),
        width: Some(1_024),
        height: Some(1_024),
        variations: Some(2),
        ..image()
    };
    // 4 608 + 2 304 × 1.048576, as OpenAI's calculator says 7 024.
    assert_eq!(rates.most_output_tokens(&high), Some(2 * 7_024));
    let most = price.most_microusd(&high, None).unwrap();
    assert_eq!(most, 2 * 7_024 * 30 + (13 + 64) * 5);
    let paid = price.microusd(&high, 2, Some(usage(20, 0, 2 * 7_024))).unwrap();
    assert!(paid <= most && paid == 2 * 7_024 * 30 + 100);
    assert_eq!(price.microusd(&high, 2, None), None, "nobody counted");
    let unknown = MediaRequest { quality: Some("max".to_owned()), ..image() };
    assert_eq!(price.most_microusd(&unknown, None), None);
    let edit = MediaRequest { mode: MediaMode::ImageEdit, sources: vec![source("image/png", 1)], ..image() };
    assert_eq!(price.most_microusd(&edit, None), None, "nobody knows the tokens of a source");
    let known = MediaPrice::Tokens(TokenRates { most_of_source: Some(1_000), ..rates });
    assert_eq!(known.most_microusd(&edit, None), Some((1_152 + 4_778) * 30 + 77 * 5 + 8_000));
}

#[test]
fn each_way_of_pricing_has_its_sum() {
    let two = MediaRequest { variations: Some(2), ..image() };
    assert_eq!(MediaPrice::PerImage(0.04).most_microusd(&two, None), Some(80_000));
    assert_eq!(MediaPrice::PerImage(0.04).microusd(&two, 1, None), Some(40_000), "one of two came");
    let tiles = MediaPrice::PerTile(TileRates { per_tile: 0.01, per_step: 0.001, side: 1_024, steps: 4 });
    assert_eq!(tiles.most_microusd(&image(), None), Some(44_000));
    let wide = MediaRequest { width: Some(513), height: Some(512), num_inference_steps: Some(8), ..image() };
    assert_eq!(tiles.most_microusd(&wide, None), Some(28_000));
    let rate =
        |resolution: &str, usd| SecondRate { resolution: resolution.to_owned().into(), usd, seconds: 8 };
    let video = MediaPrice::PerSecond(vec![rate("", 0.4), rate("4k", 0.6)].into());
    let plain = MediaRequest { mode: MediaMode::Video, ..image() };
    let most = |request: &MediaRequest| video.most_microusd(request, None);
    assert_eq!(most(&plain), Some(3_200_000));
    let short = MediaRequest { duration: Some(4), resolution: Some("4k".to_owned()), ..plain.clone() };
    assert_eq!((most(&short), video.microusd(&short, 1, None)), (Some(2_400_000), Some(2_400_000)));
    assert_eq!(most(&MediaRequest { resolution: Some("8k".to_owned()), ..plain }), None);
    let heard = MediaPrice::PerSecondOfSource(0.0001);
    assert_eq!(
        (heard.most_microusd(&image(), Some(9.5)), heard.most_microusd(&image(), None)),
        (Some(1_000), None)
    );
    let seconds = MediaUsage { seconds: 9.5, ..MediaUsage::default() };
    assert_eq!(heard.microusd(&image(), 0, Some(seconds)), Some(950));
    let spoken = MediaPrice::PerCharacter(0.000_015);
    assert_eq!(spoken.most_microusd(&image(), None), Some(195));
    // A turn keeps the price with which it began.
    for price in [video, heard, spoken] {
        let kept = serde_json::to_string(&price).unwrap();
        assert_eq!(crate::json::from_str::<MediaPrice>(&kept).unwrap(), price, "{kept}");
    }
    assert_eq!(MediaPrice::PerImage(f64::INFINITY).most_microusd(&image(), None), None);
}
