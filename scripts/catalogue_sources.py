"""Reads the sources of the catalogue: the table of prices in the wheel of genai-prices, and the cost map in that of
litellm. Nothing of the wheels is imported or run."""

import ast
import datetime
import glob
import re
import sys
import zipfile
from decimal import Decimal

# Our name of each price, with the names in both sources.
RATES = [
    ("input", "input_mtok", "input_cost_per_token"),
    ("cached", "cache_read_mtok", "cache_read_input_token_cost"),
    ("cache_write", "cache_write_mtok", "cache_creation_input_token_cost"),
    ("cache_write_1h", "cache_write_1h_mtok", "cache_creation_input_token_cost_above_1hr"),
    ("output", "output_mtok", "output_cost_per_token"),
]

def fail(problems):
    sys.exit("\n".join(["make catalogue:", *problems]))


class Call:
    """A call in genai-prices' table of prices: the name of the type and its members."""

    def __init__(self, name, members):
        self.name, self.members = name, members

    def get(self, member):
        return self.members.get(member)


def value(node):
    """The value of an expression of the table, which has literals and constructors only."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [value(item) for item in node.elts]
        case ast.Dict():
            return {value(key): value(of) for key, of in zip(node.keys, node.values)}
        case ast.Attribute():
            return ast.unparse(node)
        case ast.Call(func=ast.Name(id="Decimal")):
            return Decimal(value(node.args[0]))
        case ast.Call() if ast.unparse(node.func) == "datetime.date":
            return datetime.date(*map(value, node.args))
        case ast.Call():
            return Call(ast.unparse(node.func), {it.arg: value(it.value) for it in node.keywords})
    raise ValueError(f"genai-prices has an expression of an unknown kind: {ast.unparse(node)[:200]}")


def only(pattern):
    found = glob.glob(pattern)
    if len(found) != 1:
        fail([f"{pattern}: {len(found)} files"])
    return found[0]


def read_wheel(folder, package, file):
    """The version of a package, and the text of one of its files."""
    wheel = only(f"{folder}/{package}-*.whl")
    with zipfile.ZipFile(wheel) as files:
        return wheel.split("/")[-1].split("-")[1], files.read(file).decode()


def prices_by_maker(text):
    """genai-prices' models by the name of their maker."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.AnnAssign):
            makers = value(statement.value)
            return {maker.get("id"): maker.get("models") for maker in makers}
    raise ValueError("genai-prices has no table of prices")


def fits(clause, name):
    """Whether a model's name fits genai-prices' rule."""
    [(kind, of)] = clause.members.items()
    match kind:
        case "equals":
            return name == of.lower()
        case "starts_with":
            return name.startswith(of.lower())
        case "ends_with":
            return name.endswith(of.lower())
        case "contains":
            return of.lower() in name
        case "regex":
            return re.search(of, name) is not None
        case "or_":
            return any(fits(part, name) for part in of)
        case "and_":
            return all(fits(part, name) for part in of)
    raise ValueError(f"genai-prices has a rule of an unknown kind: {kind}")


def starts(dated):
    """The day from which a price or a variant holds; None: always."""
    constraint = dated.get("constraint")
    if constraint is None:
        return None
    if constraint.name != "StartDateConstraint":
        fail([f"genai-prices has a price with a {constraint.name}, which no row can say"])
    return constraint.get("start_date")


def tiers_of(price):
    """The prices of genai-prices' entry by threshold; 0: from the first token on."""
    at = {0: {}}
    for ours, theirs, _ in RATES:
        rate = price.get(theirs)
        if not isinstance(rate, Call):
            at[0] |= {ours: rate} if rate is not None else {}
            continue
        at[0][ours] = rate.get("base")
        for tier in rate.get("tiers"):
            at.setdefault(tier.get("start"), {})[ours] = tier.get("price")
    return {above: at[0] | rates for above, rates in sorted(at.items())}


def tiers_in_cost_map(entry):
    """The same of an entry of litellm's cost map, which has dollars per token."""
    at = {0: {}}
    for ours, _, theirs in RATES:
        for name, rate in entry.items():
            threshold = re.fullmatch(re.escape(theirs) + r"(?:_above_(\d+)k_tokens)?", name)
            if threshold:
                above = int(threshold[1] or 0) * 1000
                at.setdefault(above, {})[ours] = Decimal(rate) * 1_000_000
    return {above: at[0] | rates for above, rates in sorted(at.items())}
