//! Turns the catalogue of models into constants. A mistake in it fails the build, and the Worker parses nothing at run
//! time.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;
use toml::value::Datetime;

const CATALOGUE: &str = "src/catalogue/catalogue.generated.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    date: Datetime,
    sources: Vec<String>,
    model: Vec<Row>,
    media: Vec<MediaRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    model: String,
    ends: Option<Datetime>,
    successor: Option<String>,
    #[serde(default)]
    capabilities: Capabilities,
    #[serde(default)]
    forms: Forms,
    #[serde(default)]
    prices: Vec<Dated>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MediaRow {
    provider: String,
    model: String,
    modes: Vec<String>,
    variations: u8,
    ends: Option<Datetime>,
    successor: Option<String>,
    price: Option<MediaPrice>,
}

/// As `wire::media::MediaPrice` has it, but for the form that its numbers have as constants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum MediaPrice {
    PerTile(TileRates),
    PerSecond(Vec<SecondRate>),
    PerSecondOfSource(f64),
    PerCharacter(f64),
    Tokens(TokenRates),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the derived text reads them")]
struct TileRates {
    per_tile: f64,
    per_step: f64,
    side: u32,
    steps: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecondRate {
    resolution: String,
    usd: f64,
    seconds: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRates {
    text: f64,
    media: f64,
    output_text: f64,
    output_media: f64,
    most_of_source: Option<u64>,
    outputs: Vec<OutputTokens>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputTokens {
    word: String,
    tokens: u64,
    #[serde(default)]
    per_megapixel: u64,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Forms {
    efforts: Vec<String>,
    always_reasons: bool,
    sampling: Option<bool>,
    sampling_effort: Option<String>,
    default_effort: Option<String>,
    thinking_budgets: bool,
    forced_tools: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dated {
    from: Option<Datetime>,
    rates: Rates,
    #[serde(default)]
    tiers: Vec<Tier>,
    #[serde(default)]
    service_tiers: ServiceTiers,
}

// The derived text of these is Rust, because the types of the service have the same names and members.

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Capabilities {
    tools: bool,
    parallel_tool_calls: bool,
    reasoning: bool,
    adaptive_thinking: Option<bool>,
    structured_output: bool,
    vision: bool,
    pdf: Option<bool>,
    context_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            tools: true,
            parallel_tool_calls: true,
            reasoning: false,
            adaptive_thinking: None,
            structured_output: false,
            vision: false,
            pdf: None,
            context_tokens: None,
            output_tokens: None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the derived text reads them")]
struct Rates {
    input: f64,
    cached: f64,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    output: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the derived text reads them")]
struct Tier {
    above_tokens: u64,
    rates: Rates,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the derived text reads them")]
struct ServiceTiers {
    flex: Option<f64>,
    priority: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let Catalogue { date, sources, model, media } = toml::from_str(&fs::read_to_string(CATALOGUE)?)?;
    let mut code = format!(
        "/// The day on which the sources were read.\npub const DATE: Day = {};\n/// The sources, with their versions.\n\
         pub const SOURCES: &[&str] = &{sources:?};\nconst ROWS: &[Row] = &[\n",
        day(&date)?
    );
    for row in &model {
        code += &as_rust(row)?;
    }
    code += "];\nconst MEDIA_ROWS: &[MediaRow] = &[\n";
    let mut tables = String::new();
    for (number, row) in media.iter().enumerate() {
        code += &media_as_rust(row, number, &mut tables)?;
    }
    code += "];\n";
    code += &tables;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("models.rs"), code)?;
    Ok(())
}

fn as_rust(row: &Row) -> Result<String, Box<dyn Error>> {
    let Row { provider, model, ends, successor, capabilities, forms, prices } = row;
    let ends = ends.as_ref().map(day).transpose()?;
    let mut code = format!("    Row {{ provider: {provider:?}, model: {model:?}, ends: {ends:?}, ");
    write!(code, "successor: {successor:?}, capabilities: {capabilities:?}, ")?;
    let Forms { efforts, always_reasons, sampling, forced_tools, .. } = forms;
    let Forms { sampling_effort, default_effort, thinking_budgets, .. } = forms;
    let (sampling, forced_tools) = (sampling.unwrap_or(true), forced_tools.unwrap_or(true));
    write!(code, "forms: Forms {{ efforts: &{efforts:?}, always_reasons: {always_reasons}, ")?;
    write!(
        code,
        "sampling: {sampling}, sampling_effort: {sampling_effort:?}, default_effort: {default_effort:?}, "
    )?;
    write!(code, "thinking_budgets: {thinking_budgets}, forced_tools: {forced_tools} }}, prices: &[")?;
    for Dated { from, rates, tiers, service_tiers } in prices {
        let from = from.as_ref().map(day).transpose()?.unwrap_or(0);
        write!(code, "Dated {{ from: {from}, rates: {rates:?}, ")?;
        write!(code, "tiers: &{tiers:?}, service_tiers: {service_tiers:?} }}, ")?;
    }
    code += "] },\n";
    Ok(code)
}

fn media_as_rust(row: &MediaRow, number: usize, tables: &mut String) -> Result<String, Box<dyn Error>> {
    let MediaRow { provider, model, modes, variations, ends, successor, price } = row;
    let ends = ends.as_ref().map(day).transpose()?;
    let modes = modes.iter().map(|mode| Ok(format!("MediaMode::{}, ", variant(mode)?)));
    let modes = modes.collect::<Result<String, Box<dyn Error>>>()?;
    let price = match price {
        None => "None".to_owned(),
        Some(price) => format!("Some({})", price_as_rust(price, number, tables)?),
    };
    Ok(format!(
        "    MediaRow {{ provider: {provider:?}, model: {model:?}, ends: {ends:?}, successor: {successor:?}, modes: \
         &[{modes}], most_variations: {variations}, price: {price} }},\n"
    ))
}

/// The name of a mode in Rust.
fn variant(mode: &str) -> Result<&'static str, Box<dyn Error>> {
    Ok(match mode {
        "image" => "Image",
        "image_edit" => "ImageEdit",
        "audio" => "Audio",
        "transcription" => "Transcription",
        "video" => "Video",
        "image_to_video" => "ImageToVideo",
        _ => return Err(format!("{mode} is no mode").into()),
    })
}

/// A price. Its list is a table of its own, because a constant can only borrow one.
fn price_as_rust(price: &MediaPrice, number: usize, tables: &mut String) -> Result<String, Box<dyn Error>> {
    Ok(match price {
        MediaPrice::PerTile(rates) => format!("MediaPrice::PerTile({rates:?})"),
        MediaPrice::PerSecondOfSource(usd) => format!("MediaPrice::PerSecondOfSource({usd:?})"),
        MediaPrice::PerCharacter(usd) => format!("MediaPrice::PerCharacter({usd:?})"),
        MediaPrice::PerSecond(rates) => {
            writeln!(tables, "static SECONDS_{number}: [SecondRate; {}] = [", rates.len())?;
            for SecondRate { resolution, usd, seconds } in rates {
                let resolution = format!("Cow::Borrowed({resolution:?})");
                writeln!(
                    tables,
                    "    SecondRate {{ resolution: {resolution}, usd: {usd:?}, seconds: {seconds} }},"
                )?;
            }
            tables.push_str("];\n");
            format!("MediaPrice::PerSecond(Cow::Borrowed(&SECONDS_{number}))")
        }
        MediaPrice::Tokens(TokenRates {
            text,
            media,
            output_text,
            output_media,
            most_of_source,
            outputs,
        }) => {
            writeln!(tables, "static OUTPUTS_{number}: [OutputTokens; {}] = [", outputs.len())?;
            for OutputTokens { word, tokens, per_megapixel } in outputs {
                write!(tables, "    OutputTokens {{ word: Cow::Borrowed({word:?}), tokens: {tokens}, ")?;
                writeln!(tables, "per_megapixel: {per_megapixel} }},")?;
            }
            tables.push_str("];\n");
            format!(
                "MediaPrice::Tokens(TokenRates {{ text: {text:?}, media: {media:?}, output_text: {output_text:?}, \
                 output_media: {output_media:?}, most_of_source: {most_of_source:?}, outputs: \
                 Cow::Borrowed(&OUTPUTS_{number}) }})"
            )
        }
    })
}

/// The number of days since 1970 (Howard Hinnant's `days_from_civil`).
fn day(date: &Datetime) -> Result<u64, Box<dyn Error>> {
    let date = date.date.ok_or("a time without a date")?;
    let month = u64::from(date.month);
    let year = u64::from(date.year) - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + u64::from(date.day) - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    (era * 146_097 + of_era).checked_sub(719_468).ok_or_else(|| "a date before 1970".into())
}
