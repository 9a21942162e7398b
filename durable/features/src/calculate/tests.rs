use proptest::prelude::*;

use super::expression::{MAX_CHARS, MAX_NESTING, evaluate};

fn told(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => value.to_string(),
        Err(problem) => problem,
    }
}

// Long: a table of expressions.
#[test]
fn it_calculates_what_models_write() {
    for (expression, result) in [
        ("17 * 23", "391"),
        ("2^10", "1024"),
        ("(1 + 2) * -3", "-9"),
        ("10 / 4", "2.5"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("8 - 3 - 2", "3"),
        ("2 + 3 * 4", "14"),
        ("100 / 10 / 5", "2"),
        ("1e3*2", "2000"),
        ("2.5e-3", "0.0025"),
        ("1E+2", "100"),
        ("2**3", "8"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("10 % 3", "1"),
        ("10%3", "1"),
        ("-7 % 3", "2"),
        ("7 % (-3)", "-2"),
        ("10 mod 4", "2"),
        ("7 // 2", "3"),
        ("5!", "120"),
        ("-3!", "-6"),
        ("0!", "1"),
        ("factorial(5)", "120"),
        ("pi*2", "6.283185307179586"),
        ("PI", "3.141592653589793"),
        ("\u{3c0}", "3.141592653589793"),
        ("tau - 2 * pi", "0"),
        ("ln(e)", "1"),
        ("ln(E)", "1"),
        ("6 \u{d7} 7", "42"),
        ("6 x 7", "42"),
        ("84 \u{f7} 2", "42"),
        ("5 \u{2212} 8", "-3"),
        ("\u{2212}5", "-5"),
        ("1e\u{2212}2", "0.01"),
        ("3\u{b2} + 2\u{b3}", "17"),
        ("\u{221a}16 + 1", "5"),
        ("1,000 + 1", "1001"),
        ("1,234,567.5", "1234567.5"),
        ("1_000_000", "1000000"),
        ("15% of 80", "12"),
        ("15% of 80 + 5", "17"),
        ("15% * 80", "12"),
        ("200 * 10% + 5", "25"),
        ("50%", "0.5"),
        ("(10%) + 1", "1.1"),
        ("2 + 2 =", "4"),
        (" .5 + 5. ", "5.5"),
        ("--1", "1"),
        ("0 * -1", "0"),
        ("Math.sqrt(16)", "4"),
        ("math.pow(2, 3)", "8"),
        ("sqrt(16) + abs(0-2)", "6"),
        ("sqrt 16 * 2", "8"),
        ("sqrt(1,000,000)", "1000"),
        ("floor(7 / 4)", "1"),
        ("ceil(1.2) + trunc(1.8) + fract(1.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(2.345, 1)", "2.3"),
        ("min(3, 1, 2) + max(1,2)", "3"),
        ("max((1,000), 2)", "1000"),
        ("max(1, 200)", "200"),
        ("log(e) + log2(8) + log10(1000)", "7"),
        ("log(8, 2)", "3"),
        ("cbrt(27) + exp(0) + sign(-2) + signum(2)", "4"),
        ("sin(0) + cos(0) + tan(0) + asin(0) + acos(1) + atan(0) + atan2(0, 1)", "1"),
        ("sinh(0) + cosh(0) + tanh(0) + asinh(0) + acosh(1) + atanh(0)", "1"),
    ] {
        assert_eq!(told(expression), result, "{expression}");
    }
}

#[test]
fn a_refusal_says_what_to_write() {
    for (expression, problem) in [
        ("", "it ends where a number is expected"),
        ("1 +", "it ends where a number is expected"),
        ("1 / 0", "it divides by zero"),
        ("1 % 0", "it divides by zero"),
        ("0 / 0", "it divides by zero"),
        ("sqrt(-1)", "the result is not a real number"),
        ("10^400", "the result is too large: it is not a finite number"),
        ("x + 1", "\"x\" is neither a number nor a function that is known here"),
        ("foo(2)", "\"foo\" is neither a number nor a function that is known here"),
        ("2x - 1", "an operator is missing before \"x - 1\": write * to multiply"),
        ("2(3 + 4)", "an operator is missing before \"(3 + 4)\": write * to multiply"),
        ("(2 3)", "an operator is missing before \"3)\": write * to multiply"),
        ("2\u{3c0}", "an operator is missing before \"\u{3c0}\": write * to multiply"),
        ("1.2.3", "an operator is missing before \".3\": write * to multiply"),
        ("0x10", "an operator is missing before \"x10\": write * to multiply"),
        ("2 + 2 = 4", "it must be one expression, without an equals sign"),
        ("(1 + 2", "a closing parenthesis is missing"),
        ("1 + 2)", "a closing parenthesis has no opening one"),
        ("$5", "'$' stands where a number is expected"),
        ("5 & 3", "'&' is not known here"),
        ("* 3", "'*' stands where a number is expected"),
        ("2.5!", "a factorial is of a whole number from 0 to 170"),
        ("(-1)!", "a factorial is of a whole number from 0 to 170"),
        ("171!", "a factorial is of a whole number from 0 to 170"),
        ("pow(2)", "pow does not take 1 arguments"),
        ("max 2", "max needs its arguments in parentheses"),
        (".", "\".\" is not a number"),
    ] {
        assert_eq!(told(expression), problem, "{expression}");
    }
    for ambiguous in ["0,5", "1,00", "1234,567", "12,5", "sqrt(4, 2)"] {
        assert!(told(ambiguous).starts_with("a comma stands between"), "{ambiguous}: {}", told(ambiguous));
    }
    for ambiguous in ["200 + 10%", "200 - 10%", "10% + 5", "10 % -3"] {
        assert!(told(ambiguous).starts_with("it is not clear what % means"), "{ambiguous}");
    }
    assert!(told("max(1,200)").starts_with("a comma and three digits could be one number or two"));
}

#[test]
fn length_and_nesting_are_bounded() {
    let long = |terms: usize| "1+".repeat(terms) + "11";
    assert_eq!((long(249).len(), told(&long(249))), (MAX_CHARS, "260".to_owned()));
    assert_eq!(told(&(long(249) + "1")), "it is too long: the limit is 500 characters");
    let nested = |begin: &str, levels: usize, end: &str| begin.repeat(levels) + "1" + &end.repeat(levels);
    for (begin, end) in
        [("(", ")"), ("-", ""), ("sqrt(", ")"), ("max(", ")"), ("1^", ""), ("\u{221a}", ""), ("abs ", "")]
    {
        let deepest = told(&nested(begin, MAX_NESTING, end));
        assert!(deepest.parse::<f64>().is_ok(), "{begin}: {deepest}");
        assert_eq!(told(&nested(begin, MAX_NESTING + 1, end)), "it nests more than 50 deep", "{begin}");
    }
    assert_eq!(told("(1)+".repeat(80).trim_end_matches('+')), "80", "beside each other they do not nest");
}

proptest! {
    // Any text gives a result or an error, and never a panic.
    #[test]
    fn any_text_is_answered(text in "([0-9.,%!^*/+()xe \u{d7}\u{221a}-]|sqrt|max|of|pi){0,60}|.{0,600}") {
        if let Ok(value) = evaluate(&text) {
            prop_assert!(value.is_finite(), "{text}");
        }
    }
}
