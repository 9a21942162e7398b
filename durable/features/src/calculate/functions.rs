//! The constants and functions of expressions.

use std::f64::consts::{E, PI, TAU};

use super::expression::Outcome;

/// The greatest whole number whose factorial is an `f64`.
const MAX_FACTORIAL: f64 = 170.0;

/// The functions that need parentheses.
pub const OF_SEVERAL: [&str; 7] = ["min", "max", "pow", "atan2", "log", "round", "factorial"];

pub fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" | "π" => Some(PI),
        "e" => Some(E),
        "tau" | "τ" => Some(TAU),
        _ => None,
    }
}

/// The value of one of [`OF_SEVERAL`].
pub fn of_several(name: &str, arguments: &[f64]) -> Outcome {
    match (name, arguments) {
        ("min", [first, more @ ..]) => Ok(more.iter().copied().fold(*first, f64::min)),
        ("max", [first, more @ ..]) => Ok(more.iter().copied().fold(*first, f64::max)),
        ("pow", [base, exponent]) => Ok(base.powf(*exponent)),
        ("atan2", [y, x]) => Ok(y.atan2(*x)),
        ("log", [value]) => Ok(value.ln()),
        ("log", [value, base]) => Ok(value.log(*base)),
        ("round", [value]) => Ok(value.round()),
        ("round", [value, places]) => {
            let scale = 10_f64.powf(places.trunc());
            Ok((value * scale).round() / scale)
        }
        ("factorial", [value]) => factorial(*value),
        (name, given) => Err(format!("{name} does not take {} arguments", given.len())),
    }
}

/// The remainder of a division, with the sign of the divisor, as in Python.
pub fn remainder(value: f64, divisor: f64) -> f64 {
    let rest = value % divisor;
    if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) { rest + divisor } else { rest }
}

pub fn factorial(value: f64) -> Outcome {
    if !(0.0..=MAX_FACTORIAL).contains(&value) || value.fract() != 0.0 {
        return Err(format!("a factorial is of a whole number from 0 to {MAX_FACTORIAL}"));
    }
    let mut product = 1.0;
    let mut factor = 2.0;
    while factor <= value {
        product *= factor;
        factor += 1.0;
    }
    Ok(product)
}

pub fn of_one(name: &str) -> Option<fn(f64) -> f64> {
    let function: fn(f64) -> f64 = match name {
        "abs" => f64::abs,
        "sign" | "signum" => f64::signum,
        "sqrt" => f64::sqrt,
        "cbrt" => f64::cbrt,
        "exp" => f64::exp,
        "ln" => f64::ln,
        "log2" => f64::log2,
        "log10" => f64::log10,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "fract" => f64::fract,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "asinh" => f64::asinh,
        "acosh" => f64::acosh,
        "atanh" => f64::atanh,
        _ => return None,
    };
    Some(function)
}
