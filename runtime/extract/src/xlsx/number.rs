//! Numbers and times as a spreadsheet shows them.

/// A number in an Excel number format (ECMA-376 part 1, 18.8.31). Of a format, its decimals, grouping, percent sign and
/// literal currency are honoured; one that asks for more (fractions, exponents, conditions) shows the plain number.
pub(super) fn show(number: f64, format: &str) -> String {
    let sections: Vec<&str> = format.split(';').collect();
    let section = if number < 0.0 && sections.len() > 1 { sections[1] } else { sections[0] };
    match Pattern::parse(section) {
        Some(pattern) if number < 0.0 && sections.len() > 1 => pattern.show(-number),
        Some(pattern) => pattern.show(number),
        None => plain(number),
    }
}

/// The shortest decimal number; whole numbers without a point.
fn plain(number: f64) -> String {
    // Binary fractions show their tail (0.1 + 0.2) where a spreadsheet shows 15 digits.
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

struct Pattern {
    before: String,
    after: String,
    decimals: usize,
    grouped: bool,
    percent: bool,
}

impl Pattern {
    fn parse(section: &str) -> Option<Self> {
        let mut pattern =
            Self { before: String::new(), after: String::new(), decimals: 0, grouped: false, percent: false };
        let (mut digits, mut in_decimals) = (false, false);
        let mut characters = section.chars();
        while let Some(c) = characters.next() {
            match c {
                '0' | '#' | '?' => {
                    digits = true;
                    pattern.decimals += usize::from(in_decimals);
                }
                ',' if digits => pattern.grouped = true,
                '.' => in_decimals = true,
                '%' => pattern.percent = true,
                '"' => pattern.literal(digits).extend(characters.by_ref().take_while(|c| *c != '"')),
                '\\' => pattern.literal(digits).extend(characters.next()),
                // A filler as wide as the next character.
                '_' | '*' => {
                    characters.next();
                }
                '[' => {
                    let code: String = characters.by_ref().take_while(|c| *c != ']').collect();
                    let currency = code.strip_prefix('$').map(|code| code.split('-').next().unwrap_or_default());
                    pattern.literal(digits).push_str(currency.unwrap_or_default());
                }
                '-' | '+' | '(' | ')' | ' ' | '$' | '€' | '£' | '¥' => pattern.literal(digits).push(c),
                _ => return None,
            }
        }
        digits.then_some(pattern)
    }

    /// Where a literal belongs.
    fn literal(&mut self, digits: bool) -> &mut String {
        if digits { &mut self.after } else { &mut self.before }
    }

    fn show(&self, number: f64) -> String {
        let number = if self.percent { number * 100.0 } else { number };
        let written = format!("{:.*}", self.decimals, number.abs());
        let (whole, decimals) = written.split_at(written.find('.').unwrap_or(written.len()));
        let whole = if self.grouped { grouped(whole) } else { whole.to_owned() };
        let is_zero = written.chars().all(|c| matches!(c, '0' | '.'));
        let sign = if number < 0.0 && !is_zero { "-" } else { "" };
        let percent = if self.percent { "%" } else { "" };
        format!("{sign}{}{whole}{decimals}{percent}{}", self.before, self.after).trim().to_owned()
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A date, a time of day, or both, in ISO form. `serial` is the value in days.
pub(super) fn show_time(serial: f64, parts: (u16, u8, u8, u8, u8, u8, u16)) -> String {
    let (year, month, day, hour, minute, second, _) = parts;
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time =
        if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") };
    if serial.abs() < 1.0 {
        time
    } else if (hour, minute, second) == (0, 0, 0) {
        date
    } else {
        format!("{date} {time}")
    }
}

/// A duration in days as hours, minutes and seconds.
pub(super) fn show_duration(days: f64) -> String {
    let seconds = (days.abs() * 86_400.0).round() as u64;
    let sign = if days < 0.0 && seconds > 0 { "-" } else { "" };
    format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
