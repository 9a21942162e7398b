"""Makes the catalogue of models from two wheels: prices from genai-prices; ends, successors, abilities and sizes from
litellm's cost map. Our corrections decide where the two differ, and a difference without a correction is an error.
Started by scripts/catalogue, with the folder of the wheels and the date."""

import datetime
import fnmatch
import json
import re
import sys
import tomllib
from decimal import Decimal

from catalogue_media import media_rows
from catalogue_sources import RATES, Call, fail, fits, prices_by_maker, read_wheel, starts, tiers_in_cost_map, tiers_of

FOLDER = "durable/providers/src/catalogue/"

# The provider's name here; its name in genai-prices; its name in litellm, and the prefix of its models there; the names
# of its families with their version, where the service knows its host.
MAKERS = [
    ("anthropic", "anthropic", "anthropic", "", r"claude-[a-z]+-(\d+)(?:-(\d{1,2}))?"),
    ("gemini", "google", "gemini", "gemini/", r"gemini-(\d+)(?:\.(\d+))?-(?:argon|flash|flash-lite|hydrogen|pro)"),
    ("mistral", "mistral", "mistral", "mistral/", None),
    ("openai", "openai", "openai", "", r"gpt-(\d+)(?:\.(\d+))?(?:-[a-z]+)?"),
    ("workers-ai", "cloudflare", "cloudflare", "cloudflare/", None),
]

# A model that ended longer ago has no row.
ENDED_DAYS = 90
# The sources round prices, and the prices of service tiers, differently.
SAME = Decimal("0.05")

EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]


def service_tiers(model, standard, date):
    """The factors of the service tiers: a tier multiplies each standard price by the same factor."""
    factors = {}
    for variant in model.get("price_variants") or []:
        tier = variant.get("when").get("service_tier")
        if tier in (None, "default") or (starts(variant) or date) > date:
            continue
        its = tiers_of(variant.get("prices"))[0]
        each = {rate: its[rate] / standard[rate] for rate in its if standard.get(rate)}
        wrong = [rate for rate in each if abs(each[rate] / each["input"] - 1) > SAME]
        if wrong:
            fail([f"{model.get('id')}: the service tier {tier} has no single factor: {wrong}"])
        factors[tier] = round(each["input"], 4)
    # OpenAI's newer name for the same tier.
    if factors.pop("fast", None) != factors.get("priority"):
        fail([f"{model.get('id')}: the service tiers fast and priority differ"])
    return dict(sorted(factors.items()))


def listed_prices(model, date):
    """The price that holds on the catalogue's date, and the later ones with the day on which each begins."""
    prices = model.get("prices")
    dated = prices if isinstance(prices, list) else [Call("ConditionalPrice", {"prices": prices})]
    now = [price for price in dated if (starts(price) or date) <= date][-1:] or dated[:1]
    later = [price for price in dated if (starts(price) or date) > date]
    rows = []
    for price in now + sorted(later, key=starts):
        tiers = tiers_of(price.get("prices"))
        if "input" not in tiers[0] or "output" not in tiers[0]:
            return []
        row = {} if price in now else {"from": starts(price)}
        factors = service_tiers(model, tiers[0], date) if price in now else rows[0].get("service_tiers")
        rows.append(row | price_row(tiers) | ({"service_tiers": factors} if factors else {}))
    return rows


def price_row(tiers):
    def rates(above):
        its = tiers[above]
        return {"rates": {"input": its["input"], "cached": its["input"]} | its}

    above = [{"above_tokens": at} | rates(at) for at in tiers if at]
    return rates(0) | ({"tiers": above} if above else {})


def differences(ours, theirs):
    """Where the two sources have different prices today."""
    found = []
    for above in sorted(ours.keys() | theirs.keys()):
        for rate, _, _ in RATES:
            one, other = (tiers.get(above, {}).get(rate) for tiers in (ours, theirs))
            same = one == other if not (one and other) else abs(one / other - 1) <= SAME
            if not same:
                found.append(f"{rate} above {above}: {one} and {other}")
    return found


def abilities(name, entry):
    """What differs from the default of an unknown model, which has tools and nothing else. `supports_parallel_…` is
    left out: where litellm says false, the provider refuses the parameter, which the codecs send to say no."""
    can, forms = {}, {}
    for member, theirs in (("context_tokens", "max_input_tokens"), ("output_tokens", "max_output_tokens")):
        if entry.get(theirs):
            can[member] = int(entry[theirs])
    for member, theirs in (("reasoning", "reasoning"), ("structured_output", "response_schema"), ("vision", "vision")):
        if entry.get(f"supports_{theirs}"):
            can[member] = True
    if entry.get("supports_vision") and not entry.get("supports_pdf_input"):
        can["pdf"] = False
    if entry["litellm_provider"] == "anthropic":
        can["adaptive_thinking"] = bool(entry.get("supports_adaptive_thinking"))
    efforts = entry.get("reasoning_effort_levels") or efforts_by_flags(entry)
    if efforts:
        forms["efforts"] = [effort for effort in EFFORTS if effort in efforts]
    if entry.get("thinking_always_on"):
        forms["always_reasons"] = True
    if entry.get("supports_sampling_params") is False:
        forms["sampling"] = False
    # "temperature" and its like: "only supported … with reasoning effort set to none"
    # (https://developers.openai.com/api/docs/guides/latest-model).
    if entry["litellm_provider"] == "openai" and entry.get("supports_reasoning"):
        forms["sampling_effort"] = "none"
    if entry.get("default_reasoning_effort"):
        forms["default_effort"] = entry["default_reasoning_effort"]
    # Levels came with Gemini 3 (https://ai.google.dev/gemini-api/docs/thinking).
    if re.match(r"gemini-[12]\b", name):
        forms["thinking_budgets"] = True
    if entry.get("supports_forced_tool_use") is False:
        forms["forced_tools"] = False
    return abilities_row(can, forms)


def abilities_row(capabilities, forms):
    return {name: its for name, its in (("capabilities", capabilities), ("forms", forms)) if its}


def efforts_by_flags(entry):
    """The efforts that the flags name, of a model that has flags: OpenAI's, and Anthropic's since efforts exist."""
    if not entry.get("supports_reasoning"):
        return []
    named = {effort for effort in EFFORTS if entry.get(f"supports_{effort}_reasoning_effort")}
    if entry["litellm_provider"] == "openai" or entry.get("supports_output_config"):
        usual = {"low", "medium", "high"}
        return named | {effort for effort in usual if entry.get(f"supports_{effort}_reasoning_effort") is not False}
    return []


def without_date(name):
    return re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{8})$", "", name)


def version(pattern, name):
    its = re.fullmatch(pattern, name)
    return its and tuple(int(part or 0) for part in its.groups())


def common(all_models):
    """What all of these models can. What one of them refuses, a newer one may refuse as well."""
    members = {}
    for member in dict.fromkeys(member for its in all_models for member in its):
        values = [its.get(member) for its in all_models]
        if False in values:
            members[member] = False
        elif all(isinstance(it, list) for it in values):
            members[member] = [it for it in values[0] if all(it in others for others in values)]
        elif None not in values:
            members[member] = min(values)
    return members


class Catalogue:
    """The rows, the corrections that have been applied, and all problems."""

    def __init__(self, priced, cost_map, corrections, date):
        self.priced, self.cost_map, self.corrections, self.date = priced, cost_map, corrections, date
        self.rows, self.names, self.unpriced, self.problems, self.used = {}, {}, [], [], set()

    def correction(self, kind, provider, name):
        for place, it in enumerate(self.corrections.get(kind, [])):
            if it["provider"] == provider and any(fnmatch.fnmatchcase(name, model) for model in it["models"]):
                self.used.add((kind, place))
                return it
        return None

    def add_maker(self, provider, priced_by, listed_by, prefix):
        names = {}
        for key, entry in self.cost_map.items():
            if entry.get("litellm_provider") == listed_by and entry.get("mode") in ("chat", "responses"):
                names.setdefault(key.removeprefix(prefix), entry)
        for model in self.corrections.get("addition", []):
            if model["provider"] == provider:
                self.used.add(("addition", self.corrections["addition"].index(model)))
                names[model["model"]] = names[model["like"]]
        models = self.priced[priced_by]
        self.names[provider] = names.keys() | {model.get("id") for model in models}
        for name, entry in sorted(names.items()):
            ends = entry.get("deprecation_date")
            ends = datetime.date.fromisoformat(ends) if ends else None
            if ends and (self.date - ends).days >= ENDED_DAYS:
                continue
            model = next((model for model in models if fits(model.get("match"), name.lower())), None)
            self.add_row(provider, name, entry, model, ends)

    def add_row(self, provider, name, entry, model, ends):
        # A model that calls no tools is none for agents: embeddings, speech, images.
        if not entry.get("supports_function_calling") or entry.get("supports_audio_output"):
            return
        if self.correction("leave_out", provider, name):
            return
        prices = listed_prices(model, self.date) if model else []
        its = self.correction("correction", provider, name) or {}
        theirs = tiers_in_cost_map(entry)
        added = any(it["provider"] == provider and it["model"] == name for it in self.corrections.get("addition", []))
        if its.get("prices") == "litellm":
            prices = [price_row(theirs)]
        elif not prices:
            self.unpriced.append(f"{provider}:{name}")
            return
        elif its.get("prices") != "genai-prices" and not added:
            tiers = [{"above_tokens": 0} | prices[0], *prices[0].get("tiers", [])]
            today = {tier["above_tokens"]: tier["rates"] for tier in tiers}
            if "cached" not in theirs[0] and today[0]["cached"] == today[0]["input"]:
                theirs = {above: rates | {"cached": rates["input"]} for above, rates in theirs.items()}
            self.problems += [f"{provider}:{name}: {problem}" for problem in differences(today, theirs)]
        row = {"provider": provider, "model": name}
        if ends:
            row["ends"] = ends
        if ends and entry.get("successor_model"):
            row["successor"] = entry["successor_model"].split("/")[-1]
        self.rows[provider, name] = row | abilities(name, entry) | {"prices": prices}

    def drop_dated(self):
        """A dated name says nothing of its own where its row is that of the name without the date."""
        for provider, name in list(self.rows):
            plain = self.rows.get((provider, without_date(name)))
            if without_date(name) != name and plain == self.rows[provider, name] | {"model": without_date(name)}:
                del self.rows[provider, name]

    def add_newest(self, provider, pattern):
        """What all models of a maker's newest family can: a name that no row has is probably a newer model."""
        mine = {name: row for (of, name), row in self.rows.items() if of == provider}
        newest = max(filter(None, (version(pattern, name) for name in mine)))
        known = self.names[provider]
        for name in sorted(known):
            if (version(pattern, name) or newest) > newest and not self.correction("leave_out", provider, name):
                self.problems.append(f"{provider}:{name} is newer than each row")
        family = [row for name, row in mine.items() if version(pattern, name) == newest]
        self.rows[provider, "*"] = {
            "provider": provider,
            "model": "*",
            **abilities_row(*(common([row.get(part, {}) for row in family]) for part in ("capabilities", "forms"))),
        }

    def unused(self):
        for kind in ("leave_out", "correction", "addition", "media"):
            for place, it in enumerate(self.corrections.get(kind, [])):
                if (kind, place) not in self.used:
                    self.problems.append(f"corrections.toml: {kind} {it.get('models') or it['model']} fits no model")


def toml(it):
    match it:
        case bool():
            return str(it).lower()
        case Decimal() | float():
            text = f"{it:f}"
            return text.rstrip("0") + ("0" if text.rstrip("0").endswith(".") else "") if "." in text else text + ".0"
        case dict():
            return "{ " + ", ".join(f"{key} = {toml(of)}" for key, of in it.items()) + " }"
        case list():
            return "[" + ", ".join(map(toml, it)) + "]"
        case str():
            return json.dumps(it)
        case int():
            return str(it)
    return it.isoformat()


def main(wheels, date):
    date = datetime.date.fromisoformat(date)
    genai_prices, text = read_wheel(wheels, "genai_prices", "genai_prices/data.py")
    litellm, costs = read_wheel(wheels, "litellm", "litellm/model_prices_and_context_window_backup.json")
    with open(FOLDER + "corrections.toml", "rb") as file:
        corrections = tomllib.load(file, parse_float=Decimal)
    catalogue = Catalogue(prices_by_maker(text), json.loads(costs, parse_float=Decimal), corrections, date)
    for provider, priced_by, listed_by, prefix, _ in MAKERS:
        catalogue.add_maker(provider, priced_by, listed_by, prefix)
    catalogue.drop_dated()
    for provider, _, _, _, pattern in MAKERS:
        if pattern:
            catalogue.add_newest(provider, pattern)
    media = media_rows(catalogue, MAKERS)
    catalogue.unused()
    if catalogue.problems:
        fail(catalogue.problems)
    free = price_row({0: {"input": 0.0, "output": 0.0}})
    catalogue.rows["demo", "demo"] = {"provider": "demo", "model": "demo", "prices": [free]}
    lines = [f"  {toml(row)},\n" for _, row in sorted(catalogue.rows.items())]
    media = [f"  {toml(row)},\n" for _, row in sorted(media.items())]
    with open(FOLDER + "catalogue.generated.toml", "w") as file:
        file.write(
            "# The models of the makers that the service knows, one a line. `make catalogue` writes this file; our\n"
            "# corrections of it, with reasons, stand in corrections.toml. catalogue/mod.rs says what the members mean.\n"
            f"date = {date.isoformat()}\n"
            f'sources = ["genai-prices {genai_prices}", "litellm {litellm}"]\n'
            f"model = [\n{''.join(lines)}]\nmedia = [\n{''.join(media)}]\n"
        )
    print(f"Without a price, so without a row: {', '.join(catalogue.unpriced)}")
    print(f"{len(lines)} models and {len(media)} for media in {FOLDER}catalogue.generated.toml")


main(*sys.argv[1:])
