//! An operator who steers now and then, and a machine that is suspended.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{advance, sleep};

use super::world::Shared;
use crate::core::testing::{millis, secs};
use crate::engine::{Command, SlotHandle};

/// Goes on for so long.
pub(super) async fn operate(world: Shared, slot: SlotHandle, length: Duration) {
    let mut rng = world.lock().unwrap().rng.fork();
    let tell = |what: &str, command: Command| {
        world.lock().unwrap().commanded(what);
        // It may have ended.
        _ = slot.commands.send(command);
    };
    loop {
        sleep(secs(rng.u64(60..7200))).await;
        if world.lock().unwrap().elapsed() + secs(3600) >= length {
            return;
        }
        match rng.u32(0..4) {
            0 => tell("says retry", Command::Retry(oneshot::channel().0)),
            1 => {
                let (sender, answer) = oneshot::channel();
                tell("says probe", Command::Probe(sender));
                let found = answer.await.expect("a probe is answered");
                let verdict = found.map_or_else(|refused| refused.to_string(), |report| report.verdict);
                world.lock().unwrap().say("operator", &format!("hears {verdict}"));
            }
            2 => {
                tell("says disable", Command::Disable(oneshot::channel().0));
                sleep(millis(rng.u64(10..300_000))).await;
                tell("says enable", Command::Enable(oneshot::channel().0));
            }
            _ => {
                let gap = secs(rng.u64(30..2400));
                {
                    let mut world = world.lock().unwrap();
                    world.counts.suspensions += 1;
                    world.say("machine", &format!("sleeps {gap:?}"));
                }
                advance(gap).await;
            }
        }
    }
}
