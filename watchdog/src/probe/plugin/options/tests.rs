use serde_json::json;

use super::*;

fn read(options: Value) -> Result<Options, String> {
    serde_json::from_value(options).map_err(|error| error.to_string())
}

#[test]
fn options_are_read_strictly() {
    let options = read(json!({ "library": "/a.so" })).unwrap();
    let expected =
        Options { library: "/a.so".into(), config: Value::Null, sha256: None, on_error: OnError::RefuseStart };
    assert_eq!(options, expected);
    let options = read(json!({ "library": "/a.so", "config": { "b": 1 }, "on_error": "skip" })).unwrap();
    assert_eq!((options.config, options.on_error), (json!({ "b": 1 }), OnError::Skip));
    assert!(read(json!({})).unwrap_err().contains("library"));
    assert!(read(json!({ "library": "/a.so", "confg": 1 })).unwrap_err().contains("unknown field `confg`"));
    assert!(read(json!({ "library": "/a.so", "on_error": "ignore" })).is_err());
}

#[test]
fn a_pin_is_sixty_four_digits() {
    let pin = |text: &str| read(json!({ "library": "/a.so", "sha256": text })).map(|options| options.sha256);
    assert_eq!(pin(&"Ab".repeat(32)), Ok(Some("ab".repeat(32))));
    for wrong in ["", "ab", &"g0".repeat(32), &"ab".repeat(33)] {
        assert!(pin(wrong).unwrap_err().contains("64 hexadecimal digits in quotes"), "{wrong}");
    }
}
