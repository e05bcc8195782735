use proptest::prelude::*;

use super::*;
use crate::guard::message::Frames;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn json_travels_as_it_is() {
    let json = r#"{"b" : 1.000,  "a":[null,"\u00e9"]}"#;
    let order = Order::Check { check: 7, remaining_ms: 3000, context: raw(json) };
    let frame = to_frame(&order, LONGEST_ORDER).unwrap();
    let Some(Order::Check { check: 7, remaining_ms: 3000, context }) = from_body(&frame[4..]) else {
        panic!("another message came out")
    };
    assert_eq!(context.get(), json);
}

#[test]
fn reports_come_back_as_they_were() {
    let descriptor = Descriptor {
        abi: "1.0".into(),
        name: "latency".into(),
        version: "2".into(),
        built_with: None,
        config_schema: Some("{}".into()),
    };
    let sent = [
        Report::Loaded(descriptor),
        Report::Created,
        Report::Refused("no".into()),
        Report::Verdict { check: 1, code: 42, detail: Some("\u{fffd}".into()) },
        Report::Call { check: 1, call: 2, method: "ping".into(), params: Some(raw("[1]")), timeout_ms: 5 },
        Report::Log { level: 3, text: "a\nb".into() },
    ];
    for report in sent {
        let frame = to_frame(&report, LONGEST_REPORT).unwrap();
        let back: Report = from_body(&frame[4..]).unwrap();
        assert_eq!(format!("{back:?}"), format!("{report:?}"));
    }
}

#[test]
fn what_is_too_long_is_not_sent_and_not_read() {
    let report = Report::Refused("x".repeat(100));
    assert!(to_frame(&report, 50).is_none());
    let frame = to_frame(&report, LONGEST_REPORT).unwrap();
    let mut frames = Frames::new(50);
    frames.push(&frame);
    assert!(frames.next().is_err(), "before the body is there");
}

proptest! {
    #[test]
    fn frames_arrive_however_the_stream_is_cut(
        texts in proptest::collection::vec(".{0,40}", 0..6),
        cut in 1_usize..30,
    ) {
        let sent: Vec<_> = texts.iter().map(|text| Report::Log { level: 1, text: text.clone() }).collect();
        let stream: Vec<u8> = sent.iter().flat_map(|report| to_frame(report, LONGEST_REPORT).unwrap()).collect();
        let mut frames = Frames::new(LONGEST_REPORT);
        let mut got = Vec::new();
        for piece in stream.chunks(cut) {
            frames.push(piece);
            while let Some(body) = frames.next().unwrap() {
                match from_body(&body).unwrap() {
                    Report::Log { level: 1, text } => got.push(text),
                    other => panic!("{other:?}"),
                }
            }
        }
        prop_assert_eq!(got, texts);
    }

    #[test]
    fn strange_bytes_are_no_message(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut frames = Frames::new(1000);
        frames.push(&bytes);
        while let Ok(Some(body)) = frames.next() {
            // Whatever it is, it is read without a panic; bodies of chance are no reports.
            prop_assert!(from_body::<Report>(&body).is_none());
        }
    }
}
