"""The rows of models that make media, for catalogue.py: prices and ends from litellm's cost map, and from our corrections
what it does not say."""

import datetime

MILLION = 1_000_000
KINDS = ("image_generation", "audio_speech", "audio_transcription", "video_generation")


def without_zeros(number):
    return number.normalize() if number else number


def price_of(entry, its):
    """The price in the form of `MediaPrice`; none where the maker's form is not known before a call."""

    def per_million(name, other=None):
        return without_zeros(entry[name] * MILLION) if name in entry else other

    kind = entry["mode"]
    if kind == "audio_speech" and "input_cost_per_character" in entry:
        return {"per_character": entry["input_cost_per_character"]}
    if kind == "audio_speech" and "outputs" in its:
        text = per_million("input_cost_per_token")
        rates = {"text": text, "media": text, "output_text": per_million("output_cost_per_token")}
        return {"tokens": rates | {"output_media": per_million("output_cost_per_audio_token"), "outputs": its["outputs"]}}
    if kind == "audio_transcription" and "input_cost_per_audio_token" not in entry:
        return {"per_second_of_source": entry["input_cost_per_second"]}
    if kind == "audio_transcription":
        text = per_million("output_cost_per_token")
        rates = {"text": per_million("input_cost_per_token"), "media": per_million("input_cost_per_audio_token")}
        bounds = {
            "most_of_source": int(entry["max_input_tokens"]),
            "outputs": [{"word": "", "tokens": int(entry["max_output_tokens"])}],
        }
        return {"tokens": rates | {"output_text": text, "output_media": text} | bounds}
    if kind == "video_generation":
        usual = entry["output_cost_per_second"]
        words = [("", usual), ("720p", usual)]
        words += [(word, entry.get(f"output_cost_per_second_{word}", usual)) for word in ("1080p", "4k")]
        return {"per_second": [{"resolution": word, "usd": usd, "seconds": its["seconds"]} for word, usd in words]}
    if kind == "image_generation":
        media = per_million("output_cost_per_image_token")
        rates = {
            "text": per_million("input_cost_per_token"),
            "media": per_million("input_cost_per_image_token", per_million("input_cost_per_token")),
            "output_text": per_million("output_cost_per_token", media),
            "output_media": media,
        }
        bounds = {"most_of_source": its["tokens_of_source"]} if "tokens_of_source" in its else {}
        return {"tokens": rates | bounds | {"outputs": its["outputs"]}}
    return None


def row_of(provider, name, its):
    row = {"provider": provider, "model": name, "modes": its["modes"], "variations": its["variations"]}
    return row | ({"price": its["price"]} if "price" in its else {})


def media_rows(catalogue, makers):
    """The rows by provider and name. An entry of the corrections with a price needs no model of litellm."""
    rows = {}
    for provider, _, listed_by, prefix, _ in makers:
        for key, entry in catalogue.cost_map.items():
            name = key.removeprefix(prefix)
            if entry.get("litellm_provider") != listed_by or entry.get("mode") not in KINDS:
                continue
            ends = entry.get("deprecation_date")
            ends = datetime.date.fromisoformat(ends) if ends else None
            its = None if ends and ends <= catalogue.date else catalogue.correction("media", provider, name)
            if its:
                price = price_of(entry, its)
                rows[provider, name] = row_of(provider, name, its) | ({"price": price} if price else {})
                if ends:
                    successor = entry["successor_model"].split("/")[-1]
                    rows[provider, name] |= {"ends": ends, "successor": successor}
    for place, its in enumerate(catalogue.corrections.get("media", [])):
        if "price" in its:
            catalogue.used.add(("media", place))
            for name in its["models"]:
                rows[its["provider"], name] = row_of(its["provider"], name, its)
    # A dated name has the row of the name without its date.
    plain = {key: {member: of for member, of in row.items() if member != "model"} for key, row in rows.items()}
    for provider, name in list(rows):
        undated = next((other for of, other in rows if of == provider and name.startswith(other + "-20")), None)
        if undated and plain[provider, name] == plain[provider, undated]:
            del rows[provider, name]
    return rows
