//! Users as the operator names them, and the tools that each of them may have. Pure.

use std::collections::BTreeMap;

use super::PermissionClass;
use wire::protocol::{ANONYMOUS, Owner};
use wire::redact::json_problem;

/// The member of `TOOL_USERS` that lists the users of `FETCH_ALLOW`.
const FETCH_ALLOW: &str = "fetch_allow";
/// The most entries of a list: each request compares its user with all of them.
const MAX_NAMED: usize = 64;

/// Users by their issuers and tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users(Vec<Named>);

/// All users of an issuer, of a tenant, or of a tenant of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    /// None for every issuer except that of visitors; an entry must name that one.
    issuer: Option<String>,
    tenant: Option<String>,
}

impl Users {
    /// All users with a key or a token.
    pub fn registered() -> Self {
        Users(vec![Named { issuer: None, tenant: None }])
    }

    /// Reads `ISSUER`, `ISSUER/TENANT`, `*` and `*/TENANT`. The error leaves out the given words.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        if words.len() > MAX_NAMED {
            return Err(format!("users has at most {MAX_NAMED} entries"));
        }
        let named = |word: &String| {
            let (issuer, tenant) = match word.split_once('/') {
                Some((issuer, tenant)) => (issuer, Some(tenant)),
                None => (word.as_str(), None),
            };
            let fits = !issuer.is_empty() && tenant != Some("");
            let issuer = (issuer != "*").then(|| issuer.to_owned());
            fits.then(|| Named { issuer, tenant: tenant.map(str::to_owned) })
        };
        let named: Option<Vec<Named>> = words.iter().map(named).collect();
        named.map(Users).ok_or_else(|| "each of users is ISSUER, ISSUER/TENANT, * or */TENANT".to_owned())
    }

    /// Whether this user is one of them.
    pub fn include(&self, owner: &Owner) -> bool {
        self.0.iter().any(|Named { issuer, tenant }| {
            let of_issuer = match issuer {
                Some(issuer) => *issuer == owner.issuer,
                None => owner.issuer != ANONYMOUS,
            };
            of_issuer && tenant.as_ref().is_none_or(|tenant| *tenant == owner.tenant)
        })
    }
}

/// `TOOL_USERS`: the users of each class of tools, and of the private hosts of `FETCH_ALLOW`. A class without
/// an entry is open to all users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUsers(BTreeMap<String, Users>);

impl ToolUsers {
    /// Reads the variable. An unknown member is an error, so that a typing mistake cannot leave a class open.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let Some(json) = var("TOOL_USERS").filter(|json| !json.trim().is_empty()) else {
            return Ok(ToolUsers::default());
        };
        let wrong = |problem: &str| format!("the variable TOOL_USERS: {problem}");
        let given: BTreeMap<String, Vec<String>> =
            wire::json::from_str(&json).map_err(|error| wrong(&json_problem(&error)))?;
        let known = |name: &str| {
            name == FETCH_ALLOW || PermissionClass::ALL.iter().any(|class| class.as_str() == name)
        };
        if !given.keys().all(|name| known(name)) {
            return Err(wrong(&format!("a member is neither a class of tools nor {FETCH_ALLOW}")));
        }
        let read = |(name, words): (String, Vec<String>)| {
            let users = Users::parse(&words).map_err(|problem| wrong(&problem))?;
            Ok((name, users))
        };
        given.into_iter().map(read).collect::<Result<_, String>>().map(ToolUsers)
    }

    /// Whether a user may have tools of a class.
    pub fn may_have(&self, class: PermissionClass, owner: &Owner) -> bool {
        self.may(class.as_str(), owner)
    }

    /// Whether a user may fetch the private hosts that the operator names.
    pub fn may_fetch_private_hosts(&self, owner: &Owner) -> bool {
        self.may(FETCH_ALLOW, owner)
    }

    fn may(&self, what: &str, owner: &Owner) -> bool {
        self.0.get(what).is_none_or(|users| users.include(owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(issuer: &str, tenant: &str) -> Owner {
        Owner { issuer: issuer.to_owned(), tenant: tenant.to_owned(), user: "ada".to_owned() }
    }

    fn read(json: &str) -> Result<ToolUsers, String> {
        ToolUsers::from_env(|name| (name == "TOOL_USERS").then(|| json.to_owned()))
    }

    // N-105
    #[test]
    fn users_are_named_by_issuer_and_tenant_and_visitors_only_by_name() {
        let known =
            [("key", "acme"), ("key", "lab"), ("id", "acme"), ("id", "acme/x"), ("anonymous", "acme")];
        for (words, expected) in [
            (&[][..], [false; 5]),
            (&["*"], [true, true, true, true, false]),
            (&["key"], [true, true, false, false, false]),
            (&["key/acme"], [true, false, false, false, false]),
            (&["*/acme"], [true, false, true, false, false]),
            (&["id/acme/x"], [false, false, false, true, false]),
            (&["anonymous"], [false, false, false, false, true]),
            (&["*", "anonymous"], [true; 5]),
            (&["KEY", "acme"], [false; 5]),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let users = Users::parse(&words).unwrap();
            assert_eq!(
                known.map(|(issuer, tenant)| users.include(&owner(issuer, tenant))),
                expected,
                "{words:?}"
            );
        }
        assert!(Users::registered().include(&owner("key", "x")));
        assert!(!Users::registered().include(&owner(ANONYMOUS, "public")));
    }

    #[test]
    fn without_a_list_every_user_has_a_class() {
        use PermissionClass::{Network, Safe};
        let visitor = owner(ANONYMOUS, "public");
        for json in ["", " ", "{}"] {
            let users = read(json).unwrap();
            assert!(users.may_have(Network, &visitor) && users.may_fetch_private_hosts(&visitor), "{json:?}");
        }
        let users = read(r#"{"network": ["*"], "fetch_allow": ["key/acme"], "secrets": []}"#).unwrap();
        let (keyed, other) = (owner("key", "acme"), owner("id", "lab"));
        assert!(users.may_have(Network, &keyed) && users.may_have(Network, &other));
        assert!(!users.may_have(Network, &visitor) && users.may_have(Safe, &visitor));
        let may_fetch = [&keyed, &other, &visitor].map(|owner| users.may_fetch_private_hosts(owner));
        assert_eq!(may_fetch, [true, false, false]);
        assert!(!users.may_have(PermissionClass::Secrets, &keyed));
    }

    #[test]
    fn a_malformed_list_of_users_is_an_error() {
        let many = format!(r#"{{"safe": [{}]}}"#, vec![r#""key""#; MAX_NAMED + 1].join(","));
        for json in [
            "{",
            "[]",
            r#"{"networks": ["key"]}"#,
            r#"{"network": "key"}"#,
            r#"{"network": [""]}"#,
            r#"{"network": ["/acme"]}"#,
            r#"{"network": ["key/"]}"#,
            many.as_str(),
        ] {
            assert!(read(json).unwrap_err().starts_with("the variable TOOL_USERS: "), "{json}");
        }
        let most = format!(r#"{{"safe": [{}]}}"#, vec![r#""key""#; MAX_NAMED].join(","));
        assert!(read(&most).is_ok());
    }
}
