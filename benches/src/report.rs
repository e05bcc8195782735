//! What was found, for people and for programs.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::book::{Book, Failure, Figure, Spread};
use crate::goals::Outcome;
use crate::machine::Machine;
use crate::target::Target;

/// The tables, as Markdown that is readable as it stands.
pub(crate) fn text(book: &Book, goals: &[Outcome], machine: &Machine, targets: &[Target]) -> String {
    let mut text = format!("{machine}\n");
    let mut tables: Vec<&str> = Vec::new();
    for figure in &book.figures {
        if !tables.contains(&figure.table.as_str()) {
            tables.push(&figure.table);
        }
    }
    for table in tables {
        let figures: Vec<_> = book.figures.iter().filter(|figure| figure.table == table).collect();
        let header = figures.iter().map(|figure| header(figure));
        let mut rows = vec![[table.to_owned()].into_iter().chain(header).collect::<Vec<_>>()];
        for target in targets {
            let cells = figures.iter().map(|figure| {
                if book.has_failed(table, &target.name) { "failed".to_owned() } else { cell(figure, &target.name) }
            });
            rows.push([target.name.clone()].into_iter().chain(cells).collect());
        }
        text.push_str(&aligned(&rows));
    }
    let mut rows = vec![["Goal", "limit", "measured", ""].map(str::to_owned).to_vec()];
    for goal in goals {
        let met = if goal.met { "met" } else { "MISSED" };
        rows.push(vec![
            goal.what.clone(),
            goal.limit.clone(),
            goal.measured.map_or_else(|| "failed".to_owned(), exact),
            met.to_owned(),
        ]);
    }
    text.push_str(&aligned(&rows));
    text + &failures(book)
}

/// Who has failed, where and why: one line for each reason.
fn failures(book: &Book) -> String {
    let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for Failure { target, table, why } in &book.failures {
        match reasons.iter_mut().find(|(who, what, _)| who == target && what == why) {
            Some((_, _, tables)) => tables.push(table),
            None => reasons.push((target, why, vec![table])),
        }
    }
    let mut text = String::new();
    for (target, why, tables) in reasons {
        _ = writeln!(text, "* {target} failed ({}): {why}", tables.join("; "));
    }
    text
}

fn header(figure: &Figure) -> String {
    match figure.unit {
        "" => figure.name.clone(),
        unit => format!("{}, {unit} (x {})", figure.name, figure.reference),
    }
}

/// The median, and the ratio to the reference with its quartiles.
fn cell(figure: &Figure, target: &str) -> String {
    let Some(values) = figure.values(target) else { return "-".to_owned() };
    let median = number(values.median);
    match figure.ratio_to(target, figure.reference) {
        Some(Spread { low, median: ratio, high }) if !figure.unit.is_empty() => {
            let [ratio, low, high] = [ratio, low, high].map(number);
            format!("{median} ({ratio}; {low}-{high})")
        }
        _ => median,
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    let digits = decimals(value);
    format!("{value:.digits$}")
}

/// One more: what just misses its limit should not look as if it were the limit.
fn exact(value: f64) -> String {
    let digits = decimals(value) + 1;
    format!("{value:.digits$}")
}

const fn decimals(value: f64) -> usize {
    match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 0.1 || value == 0.0 => 2,
        _ => 4,
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let length = |text: &str| text.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| Some(length(row.get(column)?))).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::from("\n");
    for (at, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            _ = write!(text, "| {cell}{} ", " ".repeat(width - length(cell)));
        }
        text.push_str("|\n");
        if at == 0 {
            widths.iter().for_each(|width| text.push_str(&format!("|{}", "-".repeat(width + 2))));
            text.push_str("|\n");
        }
    }
    text
}

/// All values, round by round.
pub(crate) fn json(book: &Book, goals: &[Outcome], machine: &Machine, targets: &[Target]) -> Value {
    let figures = book.figures.iter().map(|figure| {
        let rows: Map<String, Value> = figure
            .rounds()
            .map(|(target, rounds)| {
                let ratio = figure.ratio_to(target, figure.reference);
                let row = json!({"rounds": rounds, "values": figure.values(target).map(spread), "ratio": ratio.map(spread)});
                (target.to_owned(), row)
            })
            .collect();
        json!({
            "table": figure.table, "name": figure.name, "unit": figure.unit, "reference": figure.reference, "rows": rows,
        })
    });
    let goals = goals
        .iter()
        .map(|goal| json!({"what": goal.what, "limit": goal.limit, "measured": goal.measured, "met": goal.met}));
    let commands = targets.iter().map(|target| {
        let words: Vec<_> = target.command.iter().map(|word| word.to_string_lossy()).collect();
        (target.name.clone(), Value::from(words.join(" ")))
    });
    json!({
        "machine": machine.json(),
        "commands": commands.collect::<Map<_, _>>(),
        "figures": figures.collect::<Vec<_>>(),
        "goals": goals.collect::<Vec<_>>(),
        "failures": book.failures.iter().map(failure).collect::<Vec<_>>(),
    })
}

fn failure(failure: &Failure) -> Value {
    json!({"target": failure.target, "table": failure.table, "why": failure.why})
}

fn spread(spread: Spread) -> Value {
    json!({"low": spread.low, "median": spread.median, "high": spread.high})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        assert_eq!([1234.5, 12.34, 1.234, 0.012].map(number), ["1234", "12.3", "1.23", "0.0120"]);
        assert_eq!(number(0.0), "0.00");
        assert_eq!([1234.5, 1.1523, 0.012].map(exact), ["1234.5", "1.152", "0.01200"]);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [vec!["a".to_owned(), "µs".to_owned()], vec!["bcd".to_owned(), "1".to_owned()]];
        assert_eq!(aligned(&rows), "\n| a   | µs |\n|-----|----|\n| bcd | 1  |\n");
    }
}
