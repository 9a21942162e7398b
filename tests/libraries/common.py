"""The common part of the programs in Python: the tool's arguments, and the report of what the library made of each answer."""

import json
import os
from typing import Annotated, Literal, Optional

import httpx
from pydantic import BaseModel, Field

CASE = json.loads(os.environ["LIBRARY_CASE"])
BASE = CASE["service"] + "/v1"
LLM, BARRIER = CASE["llm"], CASE["barrier"]
KEY, INSTRUCTIONS, SAID = CASE["key"], CASE["instructions"], CASE["said"]
MODEL = "espalier"
# One byte beyond the service's limit.
TOO_LONG = "x" * 20_001

# The arguments of the tool, with the parts of pydantic that are hard for others.
EMAIL = {"format": "email", "pattern": r"^(?!\.)[^@\s]+@[^@\s]+$"}
Email = Annotated[str, Field(json_schema_extra=EMAIL, description="Whose trip")]
Seats = Annotated[int, Field(gt=0)]


class Trip(BaseModel):
    to: Email
    note: Optional[str]
    kind: Literal["train", "boat"]
    stop: tuple[str, float]
    remark: Optional[str] = None
    seats: Seats = 1


class Answer(BaseModel):
    city: str
    days: float


calls = []


def taken():
    """The arguments of the tool's calls since the last time."""
    now = calls[:]
    calls.clear()
    return now


def book(trip: Trip) -> str:
    calls.append(trip.model_dump())
    return f"Booked for {trip.to}."


def collect(pieces):
    """The text of a stream. The model says the rest once its first piece is here."""
    text = ""
    for piece in pieces:
        if text == "" and piece:
            httpx.post(f"{LLM}/_fake/release", json={"barrier": BARRIER}).raise_for_status()
        text += piece
    return text


def refusal(run):
    """How the library tells that a request failed."""
    try:
        run()
        return "not refused"
    except Exception as error:
        return {"error": type(error).__name__, "status": getattr(error, "status_code", None), "message": str(error)}


def play(**parts):
    """Plays the parts one after the other."""
    print(json.dumps({name: part() for name, part in parts.items()}))
