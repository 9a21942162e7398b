//! The guard: every address that it accepts is a name on a port of the web, and it accepts that address again as it is
//! sent.

#![no_main]

use features::web::guard::Guard;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv6Addr};

fuzz_target!(|text: &str| {
    let guard = Guard::default();
    let Ok(target) = guard.check(text) else { return };
    let url = &target.url;
    let host = url.host_str().unwrap();
    assert_eq!(target.resolve.as_deref(), Some(host));
    assert!(host.parse::<IpAddr>().is_err() && host.parse::<Ipv6Addr>().is_err() && host.contains('.'));
    assert!(["http", "https"].contains(&url.scheme()) && [80, 443].contains(&url.port_or_known_default().unwrap()));
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    assert_eq!(guard.check(url.as_str()).unwrap(), target);
    // A redirect to itself leads to the same place.
    assert_eq!(guard.follow(url, url.as_str()).unwrap(), target);
});
