//! Evaluates an arithmetic expression by recursive descent, while it is read.
//! This parser is our own, because models write forms that the known libraries refuse (`2**3`, `5!`, `10 % 3`, `15% of
//! 80`, `1,000`, `×`), and because a refusal must tell the model how to rewrite the expression. The parser refuses an
//! ambiguous expression and never guesses.

use super::functions::{self, factorial, remainder};

/// The longest expression in characters, and how deeply it may nest: far above the expressions of people, far below the
/// limit of the stack.
pub const MAX_CHARS: usize = 500;
pub const MAX_NESTING: usize = 50;

const COMMA: &str = "a comma stands between the arguments of a function, or before three digits as in 1,000; write \
                     0.5 with a point";
const TWO_NUMBERS: &str =
    "a comma and three digits could be one number or two: write 1000, or a space after the comma";
const PERCENT: &str =
    "it is not clear what % means here: write 10% of 200, 200 * 1.1, or (10 % 3) with parentheses";

/// The value of an expression, or why there is none.
pub type Outcome = Result<f64, String>;

/// Evaluates an expression. The error describes the problem in words.
pub fn evaluate(text: &str) -> Outcome {
    if text.chars().nth(MAX_CHARS).is_some() {
        return Err(format!("it is too long: the limit is {MAX_CHARS} characters"));
    }
    let text = text.trim();
    let rest = text.strip_suffix('=').unwrap_or(text);
    let mut expression = Expression { rest, depth: 0, is_list: false, is_percent: false };
    let value = expression.sum()?;
    match expression.peek() {
        None => finite(value),
        Some(')') => Err("a closing parenthesis has no opening one".to_owned()),
        Some(',') => Err(COMMA.to_owned()),
        Some('=') => Err("it must be one expression, without an equals sign".to_owned()),
        Some(next) if begins_operand(next) => {
            Err(format!("an operator is missing before {:?}: write * to multiply", expression.shown()))
        }
        Some(next) => Err(format!("{next:?} is not known here")),
    }
}

fn finite(value: f64) -> Outcome {
    match (value.is_nan(), value.is_infinite()) {
        (true, _) => Err("the result is not a real number".to_owned()),
        (_, true) => Err("the result is too large: it is not a finite number".to_owned()),
        // Turns a negative zero into zero.
        _ => Ok(value + 0.0),
    }
}

/// The rest of the expression, and its position.
struct Expression<'a> {
    rest: &'a str,
    depth: usize,
    /// Inside the arguments of a function with several arguments, where a comma separates them.
    is_list: bool,
    /// The last term was only a percentage.
    is_percent: bool,
}

#[derive(Clone, Copy)]
enum Operator {
    Times,
    Over,
    WholeOver,
    Remainder,
}

impl<'a> Expression<'a> {
    fn sum(&mut self) -> Outcome {
        let mut total = self.product()?;
        loop {
            let sign = match self.peek() {
                Some('+') => 1.0,
                Some('-' | '−' | '–') => -1.0,
                _ => return Ok(total),
            };
            let after_percent = self.is_percent;
            self.skip();
            let term = self.product()?;
            if after_percent || self.is_percent {
                return Err(PERCENT.to_owned());
            }
            total += sign * term;
        }
    }

    fn product(&mut self) -> Outcome {
        let mut value = self.signed()?;
        while let Some(operator) = self.operator() {
            let right = self.signed()?;
            self.is_percent = false;
            value = match operator {
                Operator::Times => value * right,
                Operator::Over | Operator::WholeOver | Operator::Remainder if right == 0.0 => {
                    return Err("it divides by zero".to_owned());
                }
                Operator::Over => value / right,
                Operator::WholeOver => (value / right).floor(),
                Operator::Remainder => remainder(value, right),
            };
        }
        Ok(value)
    }

    /// Reads an operator of a product, if there is one here.
    fn operator(&mut self) -> Option<Operator> {
        let before = self.rest;
        let operator = match self.peek()? {
            '*' | '×' | '·' | '⋅' | '∙' => Operator::Times,
            '/' | '÷' | '∕' => Operator::Over,
            // The number has already taken the percent sign.
            '%' => Operator::Remainder,
            _ => {
                let operator = match self.word() {
                    "of" if self.is_percent => Operator::Times,
                    "x" | "X" if self.peek().is_some_and(begins_operand) => Operator::Times,
                    "mod" => Operator::Remainder,
                    _ => {
                        self.rest = before;
                        return None;
                    }
                };
                return Some(operator);
            }
        };
        if self.take("//") {
            return Some(Operator::WholeOver);
        }
        self.skip();
        Some(operator)
    }

    fn signed(&mut self) -> Outcome {
        self.depth += 1;
        if self.depth > MAX_NESTING + 1 {
            return Err(format!("it nests more than {MAX_NESTING} deep"));
        }
        let value = match self.peek() {
            Some('+') => {
                self.skip();
                self.signed()
            }
            Some('-' | '−' | '–') => {
                self.skip();
                self.signed().map(|value| -value)
            }
            _ => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Outcome {
        let base = self.postfixed()?;
        if !self.take("**") && !self.take("^") {
            return Ok(base);
        }
        let exponent = self.signed()?;
        self.is_percent = false;
        Ok(base.powf(exponent))
    }

    fn postfixed(&mut self) -> Outcome {
        let mut value = self.operand()?;
        self.is_percent = false;
        loop {
            value = match self.peek() {
                Some('!') => factorial(value)?,
                Some('²') => value * value,
                Some('³') => value * value * value,
                Some('%') if !self.is_remainder() => {
                    self.is_percent = true;
                    value / 100.0
                }
                _ => return Ok(value),
            };
            self.skip();
        }
    }

    /// Whether the percent sign here has a right operand.
    fn is_remainder(&self) -> bool {
        let after = self.rest.trim_start_matches('%').trim_start();
        let is_of = after.strip_prefix("of").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        !is_of && after.starts_with(begins_operand)
    }

    fn operand(&mut self) -> Outcome {
        match self.peek() {
            None => Err("it ends where a number is expected".to_owned()),
            Some('(') => {
                self.skip();
                let is_list = std::mem::replace(&mut self.is_list, false);
                let value = self.sum()?;
                self.is_list = is_list;
                self.close()?;
                Ok(value)
            }
            Some('√') => {
                self.skip();
                self.signed().map(f64::sqrt)
            }
            Some(next) if next.is_ascii_digit() || next == '.' => self.number(),
            Some(next) if next.is_alphabetic() => self.named(),
            Some(',') => Err(COMMA.to_owned()),
            Some(next) => Err(format!("{next:?} stands where a number is expected")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match (self.take(")"), self.peek()) {
            (true, _) => Ok(()),
            (false, Some(',')) => Err(COMMA.to_owned()),
            (false, Some(next)) if begins_operand(next) => {
                Err(format!("an operator is missing before {:?}: write * to multiply", self.shown()))
            }
            (false, _) => Err("a closing parenthesis is missing".to_owned()),
        }
    }

    fn number(&mut self) -> Outcome {
        let mut text = self.digits();
        while text.contains(',') || ((1..=3).contains(&text.len()) && !text.starts_with('0')) {
            let Some(group) = self.thousands() else { break };
            if self.is_list {
                return Err(TWO_NUMBERS.to_owned());
            }
            text.push(',');
            text.push_str(&group);
        }
        if !self.is_list && self.rest.starts_with(',') {
            return Err(COMMA.to_owned());
        }
        text.retain(|digit| digit != ',');
        if let Some(fraction) = self.rest.strip_prefix('.') {
            self.rest = fraction;
            text.push('.');
            text.push_str(&self.digits());
        }
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let sign = exponent.strip_prefix(['+', '-', '−']);
            if sign.unwrap_or(exponent).starts_with(|next: char| next.is_ascii_digit()) {
                text.push_str(if exponent.starts_with(['-', '−']) { "e-" } else { "e" });
                self.rest = sign.unwrap_or(exponent);
                text.push_str(&self.digits());
            }
        }
        text.parse().map_err(|_| format!("{text:?} is not a number"))
    }

    /// Reads digits, without the underscores between them.
    fn digits(&mut self) -> String {
        let end =
            self.rest.find(|next: char| !next.is_ascii_digit() && next != '_').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.replace('_', "")
    }

    /// Reads the three digits after a comma, if there are exactly three.
    fn thousands(&mut self) -> Option<String> {
        let (digits, rest) = self.rest.strip_prefix(',')?.split_at_checked(3)?;
        let is_group = digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_group || rest.starts_with(|next: char| next.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(digits.to_owned())
    }

    /// Reads a constant, or a function with its arguments.
    fn named(&mut self) -> Outcome {
        let word = self.word();
        let lower = word.to_lowercase();
        let name = lower.strip_prefix("math.").unwrap_or(&lower);
        if let Some(value) = functions::constant(name) {
            return Ok(value);
        }
        if let Some(function) = functions::of_one(name) {
            let bare = self.peek() != Some('(');
            return Ok(function(if bare { self.signed()? } else { self.operand()? }));
        }
        if !functions::OF_SEVERAL.contains(&name) {
            return Err(format!("{word:?} is neither a number nor a function that is known here"));
        }
        functions::of_several(name, &self.arguments(name)?)
    }

    fn arguments(&mut self, name: &str) -> Result<Vec<f64>, String> {
        if !self.take("(") {
            return Err(format!("{name} needs its arguments in parentheses"));
        }
        let is_list = std::mem::replace(&mut self.is_list, true);
        let mut arguments = vec![self.sum()?];
        while self.take(",") {
            arguments.push(self.sum()?);
        }
        self.is_list = is_list;
        self.close()?;
        Ok(arguments)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }

    fn take(&mut self, token: &str) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads a name; empty if there is none.
    fn word(&mut self) -> &'a str {
        let in_word = |next: char| next.is_alphabetic() || next.is_ascii_digit() || matches!(next, '_' | '.');
        let end = self.rest.find(|next| !in_word(next)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.starts_with(char::is_alphabetic) {
            self.rest = rest;
            return word;
        }
        ""
    }

    /// The beginning of the rest, for a message.
    fn shown(&self) -> &'a str {
        self.rest.split_at(self.rest.floor_char_boundary(20)).0
    }
}

fn begins_operand(next: char) -> bool {
    next.is_alphabetic() || next.is_ascii_digit() || matches!(next, '(' | '.' | '√')
}
