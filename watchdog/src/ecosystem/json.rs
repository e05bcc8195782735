//! JSON with comments and trailing commas, and nothing else of what goes by that name.

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::item::{Entry, Item, Map, Value};

const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The error is a place in bytes and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Item, (usize, String)> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &FORM)
        .map_err(|error| (error.range().start, format!("not valid JSON: {}", error.kind())))?;
    parsed.value.map(item).ok_or_else(|| (0, "the file is empty".to_owned()))
}

fn item(value: ast::Value<'_>) -> Item {
    let Range { start, end } = value.range();
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::Text(literal.value.into_owned()),
        ast::Value::Array(array) => Value::List(array.elements.into_iter().map(item).collect()),
        ast::Value::Object(object) => {
            Value::Map(Map { entries: object.properties.into_iter().map(entry).collect(), braces: true })
        }
    };
    Item { value, span: start..end }
}

fn entry(property: ast::ObjectProp<'_>) -> Entry {
    let Range { start, end } = property.name.range();
    Entry { key: property.name.into_string(), span: start..end, item: item(property.value) }
}
