//! The models that the variables configure.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use worker::Env;

use super::demo::{DemoModel, Version};
use super::http::HttpEndpoint;
use super::route::{Endpoint, RoutePorts, RoutedModel};
use super::workers_ai::AiBinding;
use crate::fetch::Fetch;
use bindings::env::{AI, binding};
use engine::ports::{Clock, Model};
use providers::breaker::Breaker;
use providers::cache_key;
use providers::config::{Api, Configuration, Provider};
use providers::permits::{FETCHES, Permits};
use wire::http::Http;

/// The parts that all model calls of an object share.
#[derive(Clone)]
pub struct Connections {
    pub permits: Permits,
    pub breaker: Breaker,
}

impl Default for Connections {
    fn default() -> Self {
        Connections { permits: Permits::new(FETCHES), breaker: Breaker::default() }
    }
}

/// The models that are configured. `version` is for the one that has no randomness. The calls of one `conversation` begin
/// alike.
pub fn serving(
    configuration: &Configuration,
    connections: &Connections,
    clock: &Rc<dyn Clock>,
    env: &Env,
    version: &Version,
    conversation: &str,
) -> Rc<dyn Model> {
    let warn: Rc<dyn Fn(&str)> = Rc::new(|line| worker::console_warn!("{line}"));
    let endpoint = |provider: &Provider| -> Rc<dyn Endpoint> {
        let Some(codec) = provider.api.codec() else {
            let work_ms = configuration.demo_work_ms;
            return Rc::new(DemoModel::new(Rc::clone(clock), work_ms, Rc::clone(version)));
        };
        let http: Rc<dyn Http> = match provider.api {
            Api::WorkersAi => Rc::new(AiBinding(binding(env, AI).unchecked_into())),
            _ => Rc::new(Fetch),
        };
        Rc::new(HttpEndpoint {
            codec,
            headers: provider.headers.clone(),
            patience: configuration.patience,
            http,
            clock: Rc::clone(clock),
            permits: connections.permits.clone(),
            warn: Rc::clone(&warn),
        })
    };
    let providers = configuration.providers.iter();
    let endpoints = providers.map(|(name, provider)| (name.clone(), endpoint(provider))).collect();
    let ports = RoutePorts {
        clock: Rc::clone(clock),
        random: Rc::new(js_sys::Math::random),
        warn: Rc::clone(&warn),
        breaker: connections.breaker.clone(),
    };
    Rc::new(RoutedModel::new(endpoints, ports, cache_key(conversation)))
}
