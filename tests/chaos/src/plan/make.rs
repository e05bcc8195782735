//! How a seed becomes a plan.

use fastrand::Rng;

use super::{End, Era, Fate, How, Kin, Life, Order, Plan, Request, Start, Step, Target, When};

const METHODS: [&str; 10] = [
    "ping",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "chaos/unknown",
    "resources/templates/list",
    "tasks/cancel",
];

const SIGNALS: [&str; 6] = ["SEGV", "ABRT", "KILL", "TERM", "INT", "HUP"];

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed);
        let era = if rng.u8(..3) == 0 { Era::Stateless } else { Era::Handshake };
        let patient = rng.u8(..4) == 0;
        // A guard that is killed takes along what it can reach; what has left the server's group is out of its reach.
        let may_kill_guard = rng.u8(..4) == 0;
        let options = options(rng, patient);
        let lives = (0..rng.usize(1..8)).map(|at| life(rng, at, era, patient, may_kill_guard)).collect();
        let end = match rng.u8(..10) {
            0..5 => End::Leave,
            5 | 6 => End::LeaveAtOnce,
            7 => End::CloseStdout,
            8 => End::Terminate,
            _ => End::Kill,
        };
        let steps = Steps { rng, era, patient, may_kill_guard, n: 0, steps: Vec::new() }.make();
        Self { seed, era, patient, options, lives, steps, end }
    }
}

fn options(rng: &mut Rng, patient: bool) -> Vec<String> {
    let delays = ["0s,20ms,50ms", "0s", "30ms,60ms", "0s,0s,100ms"];
    let mut options = vec![
        format!("--restart-delays={}", delays[rng.usize(..delays.len())]),
        format!("--tool-timeout={}ms", [150, 250, 400][rng.usize(..3)]),
        format!("--probe-timeout={}", if patient { "5s" } else { "300ms" }),
        "--set=restart.min_attempt_interval=50ms".to_owned(),
        format!("--handshake-timeout={}", if patient { "15s" } else { "1500ms" }),
        // A sign of life beside the probes' answers excuses a silence for so long.
        "--set=probe.busy_grace=400ms".to_owned(),
        "--no-control".to_owned(),
    ];
    options.push(match rng.u8(..3) {
        0 if !patient => "--health-interval=400ms".to_owned(),
        _ => "--health-interval=0".to_owned(),
    });
    if rng.u8(..4) == 0 {
        options.push("--on-unhealthy=restart".to_owned());
    }
    if patient {
        options.push("--set=probe.total_timeout=15s".to_owned());
    }
    options
}

fn life(rng: &mut Rng, at: usize, era: Era, patient: bool, may_kill_guard: bool) -> Life {
    let start = match rng.u8(..20) {
        0 => Start::Slow(rng.u32(1..400)),
        1 => Start::Dies(rng.i32(0..5)),
        2 => Start::DiesOfOpening(rng.i32(0..5)),
        3 if at > 0 && era == Era::Handshake => Start::Refuses,
        4 if !patient => Start::Mute,
        5 | 6 => Start::Banner,
        _ => Start::Ready,
    };
    let kin = if may_kill_guard { 0 } else { [0, 0, 0, 1, 2][rng.usize(..5)] };
    let family = (0..kin).map(|_| [Kin::Plain, Kin::Session, Kin::Daemon, Kin::Holder][rng.usize(..4)]).collect();
    let when = match rng.u8(..4) {
        0 => When::Millis(rng.u32(20..600)),
        _ => When::Request(rng.u32(1..7)),
    };
    let fate = (rng.u8(..8) > 0).then(|| Fate { when, how: how(rng, patient) });
    Life { start, family, fate }
}

fn how(rng: &mut Rng, patient: bool) -> How {
    match rng.u8(..if patient { 10 } else { 16 }) {
        0 | 1 => How::Exit(rng.i32(0..4)),
        2 | 3 => How::Signal(SIGNALS[rng.usize(..SIGNALS.len())].to_owned()),
        4 | 5 => How::Signal("KILL".to_owned()),
        6 => How::HalfLine,
        7 => How::Junk,
        8 | 9 => How::LastWords,
        10 => How::ClosesStdout,
        11 => How::ClosesStdin,
        12 => How::Silent,
        13 => How::HalfLineSilent,
        14 => How::Deaf,
        _ => How::Stopped,
    }
}

struct Steps<'a> {
    rng: &'a mut Rng,
    era: Era,
    patient: bool,
    may_kill_guard: bool,
    n: u64,
    steps: Vec<Step>,
}

impl Steps<'_> {
    fn make(mut self) -> Vec<Step> {
        let depth = [1, 2, 4, 8, 16][self.rng.usize(..5)];
        let large = self.rng.u8(..8) == 0;
        for _ in 0..self.rng.usize(8..36) {
            let step = self.step(large);
            self.steps.push(step);
            if self.rng.u8(..3) > 0 {
                self.steps.push(Step::Await(self.rng.usize(..depth)));
            }
        }
        self.steps
    }

    fn step(&mut self, large: bool) -> Step {
        match self.rng.u8(..32) {
            0 | 1 if self.n > 0 => Step::Cancel(self.rng.u64(self.n.saturating_sub(6).max(1)..=self.n)),
            2 => Step::Notify(self.next()),
            3 | 4 => Step::Pause(self.rng.u32(1..150)),
            5 => Step::StopReading(self.rng.u32(10..300)),
            6 => Step::Kill(Target::Server),
            7 if !self.patient => Step::Kill(Target::ServerStop),
            8 | 9 if self.may_kill_guard => Step::Kill(Target::Guard),
            _ => Step::Send(self.request(large)),
        }
    }

    fn next(&mut self) -> u64 {
        self.n += 1;
        self.n
    }

    fn request(&mut self, large: bool) -> Request {
        let n = self.next();
        let stateless = self.era == Era::Stateless;
        let method = match self.rng.usize(..20) {
            at if at < METHODS.len() => METHODS[at],
            _ => "tools/call",
        };
        // There is no ping without a handshake.
        let method = if stateless && method == "ping" { "server/discover" } else { method };
        let rng = &mut *self.rng;
        let size = |rng: &mut Rng| match rng.u8(..10) {
            0 => rng.u32(1000..100_000),
            1 if large => rng.u32(500_000..3_000_000),
            _ => rng.u32(..200),
        };
        let order = Order {
            delay: match rng.u8(..8) {
                0..4 => 0,
                4 | 5 => rng.u32(1..40),
                6 => rng.u32(40..300),
                _ => rng.u32(300..900),
            },
            bytes: size(rng),
            progress: if rng.u8(..4) == 0 { rng.u32(1..5) } else { 0 },
            rude: rng.u8(..6) == 0,
            ask: !stateless && rng.u8(..10) == 0,
            fail: rng.u8(..10) == 0,
            flood: if rng.u8(..20) == 0 { rng.u32(1..400) } else { 0 },
        };
        let pad = size(rng);
        Request { n, id: id(rng, n), method: method.to_owned(), pad, order }
    }
}

/// Ids of all kinds, of which no two are equal by value.
fn id(rng: &mut Rng, n: u64) -> String {
    match rng.u8(..12) {
        0 => format!("-{n}"),
        1 => format!("\"s-{n}\""),
        2 => format!("\"\\u0063h\\\"aos/{n}\""),
        3 => format!("\"{n}\""),
        4 => format!("{n}.5"),
        5 => format!("90071992547409930000{n}"),
        6 => format!("\"ж-{n}-\u{2028}\""),
        7 => format!("20000{n:05}"),
        _ => n.to_string(),
    }
}
