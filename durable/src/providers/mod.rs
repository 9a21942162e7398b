//! The wires of LLM services, sans I/O.
