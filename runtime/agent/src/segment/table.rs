/// Cells of a Markdown table row, trimmed; `\|` is a bar inside a cell.
pub(crate) fn markdown_cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let last = cells.last_mut().expect("there is always a cell");
        match character {
            '\\' if characters.peek() == Some(&'|') => last.extend(characters.next()),
            '|' if characters.peek().is_none() => break,
            '|' => cells.push(String::new()),
            other => last.push(other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Whether the row only separates a header from its rows (`|---|:--:|`).
pub(crate) fn is_delimiter(row: &str) -> bool {
    let cells = markdown_cells(row);
    cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
}

/// The delimiter that most often gives as many cells as the header has. Commas also stand inside of numbers, so they win
/// only where no other does as well.
pub(crate) fn delimiter(text: &str, columns: usize) -> char {
    let fits = |delimiter: char| text.lines().filter(|row| delimited_cells(row, delimiter).len() == columns).count();
    [';', '\t', '|', ','].into_iter().rev().max_by_key(|delimiter| fits(*delimiter)).unwrap_or(',')
}

/// Cells of a row of delimited text, trimmed.
pub(crate) fn delimited_cells(row: &str, delimiter: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let last = cells.last_mut().expect("there is always a cell");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => last.extend(characters.next()),
            '"' => quoted = !quoted,
            other if other == delimiter && !quoted => cells.push(String::new()),
            other => last.push(other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// `header: value; header: value`, without empty cells; cells beyond the header stand alone.
pub(crate) fn row_text(header: &[String], cells: &[String]) -> String {
    let pair = |(index, cell): (usize, &String)| match header.get(index).filter(|name| !name.is_empty()) {
        Some(name) => format!("{name}: {cell}"),
        None => cell.clone(),
    };
    let filled = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    filled.map(pair).collect::<Vec<_>>().join("; ")
}
