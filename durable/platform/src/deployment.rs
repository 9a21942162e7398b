//! The configuration of the deployment, read once per isolate. Variables and secrets change only with a deploy, and a
//! deploy makes new isolates. Without this each turn would read a hundred variables out of JavaScript three times, and
//! parse each of them. Pure but for [`Deployment::of`].
//!
//! Variables and secrets change only with a deploy, and a deploy makes new isolates. So an isolate reads and parses
//! its configuration once (`platform/src/deployment.rs`, `src/settings.rs`), and every caller gets the same outcome,
//! an error included. A deployment is keyed by its environment, so that no Worker sees the variables of another one.
//! The declarations of our tools stand in files `tools.json`: `declared!` reads each of them once per thread.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Looks up a variable by its name.
pub type Var = dyn Fn(&str) -> Option<String>;

/// A deployment's variables, and the things that code has made of them. Each thing is a type of its own, so there are as
/// many as the code names types.
pub struct Deployment {
    var: Box<Var>,
    made: RefCell<BTreeMap<TypeId, Rc<dyn Any>>>,
}

impl Deployment {
    /// A deployment with these variables.
    pub fn new(var: impl Fn(&str) -> Option<String> + 'static) -> Self {
        Deployment { var: Box::new(var), made: RefCell::default() }
    }

    /// The thing of this type, which the first caller makes of the variables. Every caller gets the same outcome: an
    /// error stays until the operator deploys again.
    pub fn once<T: 'static>(&self, make: impl FnOnce(&Var) -> Result<T, String>) -> Result<Rc<T>, String> {
        let id = TypeId::of::<T>();
        let known = self.made.borrow().get(&id).cloned();
        if let Some(Ok(known)) = known.map(|known| known.downcast::<Result<Rc<T>, String>>()) {
            return known.as_ref().clone();
        }
        // `make` may ask for another thing, so nothing is borrowed here.
        let made = make(&*self.var).map(Rc::new);
        self.made.borrow_mut().insert(id, Rc::new(made.clone()));
        made
    }
}

#[cfg(target_arch = "wasm32")]
mod of_env {
    use std::cell::RefCell;
    use std::rc::Rc;

    use wasm_bindgen::JsValue;
    use worker::Env;

    use super::Deployment;
    use bindings::env::var;

    thread_local! {
        /// The deployment of this isolate, with the environment whose variables it has. The Worker and all objects of an
        /// isolate get the same environment; should another one come, it takes the place of this one.
        static KNOWN: RefCell<Option<(JsValue, Rc<Deployment>)>> = const { RefCell::new(None) };
    }

    impl Deployment {
        /// The deployment with this environment.
        pub fn of(env: &Env) -> Rc<Self> {
            let object: &JsValue = env.as_ref();
            let known = KNOWN.with_borrow(|known| match known {
                Some((of, deployment)) if of == object => Some(Rc::clone(deployment)),
                _ => None,
            });
            known.unwrap_or_else(|| {
                let its = env.clone();
                let deployment = Rc::new(Deployment::new(move |name| var(&its, name)));
                KNOWN.set(Some((object.clone(), Rc::clone(&deployment))));
                deployment
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::{Deployment, Var};

    #[derive(Debug, PartialEq)]
    struct Port(u16);
    #[derive(Debug, PartialEq)]
    struct Name(String);

    fn port(var: &Var) -> Result<Port, String> {
        let text = var("PORT").ok_or("PORT is missing")?;
        text.parse().map(Port).map_err(|_| "PORT is no number".to_owned())
    }

    fn deployment(port: &'static str) -> (Deployment, Rc<Cell<u32>>) {
        let reads = Rc::new(Cell::new(0));
        let counted = Rc::clone(&reads);
        let var = move |name: &str| {
            counted.set(counted.get() + 1);
            (name == "PORT").then(|| port.to_owned())
        };
        (Deployment::new(var), reads)
    }

    #[test]
    fn a_thing_is_made_once() {
        let (deployment, reads) = deployment("80");
        for _ in 0..3 {
            assert_eq!(*deployment.once(port).unwrap(), Port(80));
        }
        assert_eq!(reads.get(), 1);
        let first = deployment.once(port).unwrap();
        assert!(Rc::ptr_eq(&first, &deployment.once(port).unwrap()));
    }

    #[test]
    fn an_error_is_told_to_every_caller() {
        let (deployment, reads) = deployment("eighty");
        for _ in 0..3 {
            assert_eq!(deployment.once(port), Err("PORT is no number".to_owned()));
        }
        assert_eq!(reads.get(), 1);
    }

    #[test]
    fn things_are_kept_apart_by_type_and_by_deployment() {
        let ((one, _), (other, _)) = (deployment("1"), deployment("2"));
        assert_eq!(*one.once(port).unwrap(), Port(1));
        assert_eq!(*other.once(port).unwrap(), Port(2));
        assert_eq!(*one.once(port).unwrap(), Port(1));
        let name = one.once(|var| Ok(Name(var("PORT").unwrap_or_default())));
        assert_eq!(*name.unwrap(), Name("1".to_owned()));
    }

    #[test]
    fn a_thing_may_be_made_of_another() {
        let (deployment, reads) = deployment("80");
        let made = deployment.once(|_| {
            let port = deployment.once(port)?;
            Ok(Name(format!("port {}", port.0)))
        });
        assert_eq!(*made.unwrap(), Name("port 80".to_owned()));
        assert_eq!(deployment.once(port).map(|port| port.0), Ok(80));
        assert_eq!(reads.get(), 1);
    }
}
