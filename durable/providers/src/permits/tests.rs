use futures::FutureExt;
use futures::task::noop_waker_ref;
use std::task::Context;

use super::*;

fn now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match future.poll_unpin(&mut Context::from_waker(noop_waker_ref())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn permits_are_limited_and_returned() {
    let permits = Permits::new(2);
    let acquire = || permits.acquire().boxed_local();
    let first = now(&mut acquire()).unwrap();
    let _second = now(&mut acquire()).unwrap();
    let mut third = acquire();
    assert!(now(&mut third).is_none());
    drop(first);
    assert!(now(&mut third).is_some());
}

#[test]
fn an_abandoned_wait_leaves_its_permit_to_others() {
    let permits = Permits::new(1);
    let held = now(&mut permits.acquire().boxed_local()).unwrap();
    let mut gone = permits.acquire().boxed_local();
    let mut patient = permits.acquire().boxed_local();
    assert!(now(&mut gone).is_none() && now(&mut patient).is_none());
    drop(gone);
    drop(held);
    assert!(now(&mut patient).is_some());
}

#[test]
fn a_returned_permit_wakes_all_waiting_tasks() {
    let permits = Permits::new(1);
    let held = now(&mut permits.acquire().boxed_local()).unwrap();
    let (waker, count) = futures_test_waker();
    let mut waiting: Vec<_> = (0..3).map(|_| permits.acquire().boxed_local()).collect();
    for future in &mut waiting {
        assert!(future.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(held);
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1, "one waker, asked once");
    assert!(now(&mut waiting.remove(2)).is_some());
}

fn futures_test_waker() -> (Waker, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    struct Count(std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let count = std::sync::Arc::default();
    (Waker::from(std::sync::Arc::new(Count(std::sync::Arc::clone(&count)))), count)
}
