"""Writes tests/schemas/pydantic.json: the schemas of tools as pydantic emits them. `pip install pydantic==2.14.4`."""
import json
from datetime import date
from enum import Enum
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union
from uuid import UUID

import pydantic
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.v1 import BaseModel as OldModel, Field as OldField, conint

T = TypeVar("T")


class Unit(str, Enum):
    c = "c"
    f = "f"


class Weather(BaseModel):
    """Tells the weather."""

    city: str = Field(title="City", examples=["Oslo"])
    unit: Optional[Unit] = None


class Bounds(BaseModel):
    model_config = ConfigDict(extra="forbid")
    ttl: int = Field(gt=0, lt=100)
    share: Annotated[float, Field(ge=0, multiple_of=0.5)] = 0.5


class Tuple(BaseModel):
    point: tuple[str, int]
    more: tuple[int, ...] = ()


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Tree(BaseModel):
    root: Node


class Box(BaseModel, Generic[T]):
    item: T
    at: date
    id: UUID


class Boxes(BaseModel):
    boxes: list[Box[int]]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Pet(BaseModel):
    pet: Union[Cat, Dog] = Field(discriminator="kind")


class Lookaround(BaseModel):
    name: str = Field(json_schema_extra={"pattern": r"^(?!admin)[a-z]+$"})


class Anything(BaseModel):
    value: Any
    labels: dict[str, str]


class Nothing(BaseModel):
    pass


class OldBounds(OldModel):
    ttl: conint(gt=0)
    unit: Optional[Unit] = OldField(None, title="Unit")


class OldPair(OldModel):
    point: tuple[str, int]


class OldNode(OldModel):
    name: str
    children: list["OldNode"] = []


OldNode.update_forward_refs()
ITEM = {"item": 1, "at": "2026-11-28", "id": "0190c0de-0000-7000-8000-000000000000"}
MODELS = [
    (Weather, {"city": "Oslo"}, {"city": 5}),
    (Bounds, {"ttl": 1}, {"ttl": 0}),
    (Tuple, {"point": ["a", 1]}, {"point": [1, "a"]}),
    (Tree, {"root": {"name": "a", "children": [{"name": "b"}]}}, {"root": {"name": "a", "children": [{"name": 2}]}}),
    (Node, {"name": "a", "children": [{"name": "b"}]}, {"name": "a", "children": [{}]}),
    (Boxes, {"boxes": [ITEM]}, {"boxes": [{"item": "x"}]}),
    (Pet, {"pet": {"kind": "cat", "lives": 9}}, {"pet": {"kind": "cat"}}),
    (Lookaround, {"name": "ann"}, {"name": 5}),
    (Anything, {"value": None, "labels": {}}, {"value": 1, "labels": 1}),
    (Nothing, {}, 5),
    (TypeAdapter(dict[str, int]), {"a": 1}, {"a": "b"}),
    (OldBounds, {"ttl": 1, "unit": "c"}, {"ttl": 0}),
    (OldPair, {"point": ["a", 1]}, {"point": [1, "a"]}),
    (OldNode, {"name": "a", "children": [{"name": "b"}]}, {"name": "a", "children": [{}]}),
]


def emitted(model):
    if isinstance(model, TypeAdapter):
        return "pydantic " + pydantic.VERSION, model.json_schema()
    if issubclass(model, OldModel):
        return "pydantic.v1 of " + pydantic.VERSION, model.schema()
    return "pydantic " + pydantic.VERSION, model.model_json_schema()


rows = []
for model, fits, misses in MODELS:
    library, schema = emitted(model)
    shape = getattr(model, "__name__", "dict[str, int]")
    rows.append({"library": library, "dialect": "default", "shape": shape, "schema": schema, "fits": fits, "misses": misses})
print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")
