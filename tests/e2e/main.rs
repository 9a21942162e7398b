//! The end-to-end tests against real workerd, as one binary: `make e2e`. A module is a subject, and
//! `cargo test -p espalier --test e2e MODULE::` under the binary `e2e` of `espalier-test-support` runs one.
//!
//! All tests run in parallel against the same instances. A test that measures an instance, or takes something away from
//! all of its users, is ignored here; `scripts/e2e-tests` runs those one after the other.

// A helper may fail as its test does; clippy allows that in `#[test]` functions only.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod account;
mod agents;
mod ai_sdk;
mod asking;
mod audit;
mod auth;
mod bad_configuration;
mod bad_input;
mod bookmarks;
mod chat_back_compat;
mod chat_budget;
mod chat_direct;
mod chat_with_subtasks;
mod clients;
mod collections;
mod continued;
mod demo;
mod document_types;
mod durability;
mod embeddings;
mod endless_providers;
mod files;
mod first_word;
mod headers;
mod hooks;
mod hostile;
mod instructions;
mod isolation;
mod keys;
mod local_time;
mod long_term_memory;
mod mcp;
mod mcp_server;
mod memory;
mod model_lines;
mod models;
mod money;
mod oidc;
mod on_hold;
mod openai;
mod parked;
mod pins;
mod plans;
mod prefixes;
mod projects;
mod queue;
mod quotas;
mod records;
mod retention;
mod schemas;
mod session_list;
mod shares;
mod sign_in;
mod silent_readers;
mod smoke_model;
mod summaries;
mod swarm;
mod telemetry;
mod threads;
mod titles;
mod tokens;
mod turns;
mod upgrades;
mod versions;
mod visitors;
mod web_tools;
mod wires;
mod workflows;
