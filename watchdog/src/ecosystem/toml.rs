//! TOML.

use std::ops::Range;

use toml_edit::{Array, ArrayOfTables, Document, InlineTable, Table, TableLike};

use super::item::{Entry, Item, Map, Value};

/// The error is a place in bytes and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Item, (usize, String)> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map(|span| span.start).unwrap_or_default();
        (at, error.message().to_owned())
    })?;
    Ok(table(document.as_table()))
}

fn table(table: &Table) -> Item {
    map(table, false, 0..0)
}

fn inline(table: &InlineTable) -> Item {
    map(table, !table.is_dotted(), table.span().unwrap_or_default())
}

fn map(table: &dyn TableLike, braces: bool, span: Range<usize>) -> Item {
    let entry = |(key, value): (&str, &toml_edit::Item)| {
        let span = table.key(key).and_then(toml_edit::Key::span).unwrap_or_default();
        Entry { key: key.to_owned(), span, item: item(value) }
    };
    Item { value: Value::Map(Map { entries: table.iter().map(entry).collect(), braces }), span }
}

fn item(written: &toml_edit::Item) -> Item {
    match written {
        toml_edit::Item::None => Item { value: Value::Null, span: 0..0 },
        toml_edit::Item::Value(written) => value(written),
        toml_edit::Item::Table(written) => table(written),
        toml_edit::Item::ArrayOfTables(tables) => of_tables(tables),
    }
}

fn of_tables(tables: &ArrayOfTables) -> Item {
    Item { value: Value::List(tables.iter().map(table).collect()), span: 0..0 }
}

fn value(written: &toml_edit::Value) -> Item {
    let span = written.span().unwrap_or_default();
    let value = match written {
        toml_edit::Value::String(text) => Value::Text(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number(number.value().to_string()),
        toml_edit::Value::Float(number) => Value::Number(number.value().to_string()),
        toml_edit::Value::Boolean(switch) => Value::Bool(*switch.value()),
        toml_edit::Value::Datetime(time) => Value::Text(time.value().to_string()),
        toml_edit::Value::Array(array) => list(array),
        toml_edit::Value::InlineTable(table) => return inline(table),
    };
    Item { value, span }
}

fn list(array: &Array) -> Value {
    Value::List(array.iter().map(value).collect())
}
