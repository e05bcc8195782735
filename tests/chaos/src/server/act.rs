//! What the server does about requests, and how it ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Server, Task};
use crate::journal::What;
use crate::message::{Message, Stamp, meta, padding};
use crate::plan::{Era, How, When};

impl Server {
    /// Answers a request as its order says; one without an order, which the watchdog made, at once.
    pub(super) fn answer(&mut self, message: &Message) {
        let order = message.stamp.order.unwrap_or_default();
        let id = message.id.clone().unwrap_or_default();
        let n = message.stamp.n;
        if n.is_some() {
            self.requests += 1;
            let fate = self.life.fate.clone();
            if let Some(fate) = fate.filter(|fate| fate.when == When::Request(self.requests)) {
                if fate.how == How::LastWords {
                    self.tasks_now();
                    self.write(&self.reply(message, &id, 0), n);
                }
                return self.fulfil(&fate.how);
            }
        }
        let stamp = meta(&self.stamp(n));
        if order.ask {
            self.questions += 1;
            let question = Stamp { question: Some(self.questions), ..self.stamp(n) };
            // Ids of questions begin anew with each life, as those of real servers do.
            let (number, meta) = (self.questions - 1, meta(&question));
            let params = format!("{{\"messages\":[],\"maxTokens\":1,\"_meta\":{{{meta}}}}}");
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"sampling/createMessage\",\"params\":{params}}}"
            );
            self.write(&line, None);
        }
        for at in 0..order.flood {
            let data = padding(1000);
            let params = format!("{{\"level\":\"info\",\"data\":\"{at} {data}\",\"_meta\":{{{stamp}}}}}");
            self.write(&notification("notifications/message", &params), None);
        }
        let progress = |at: u32| {
            let params = format!("{{\"progressToken\":{id},\"progress\":{at},\"_meta\":{{{stamp}}}}}");
            Task::Write(notification("notifications/progress", &params), None)
        };
        for at in 0..order.progress {
            self.later(order.delay * at / order.progress.max(1), progress(at));
        }
        let reply = self.reply(message, &id, order.bytes);
        self.later(order.delay, Task::Write(reply.clone(), n));
        if order.rude {
            self.later(order.delay, progress(1000));
            self.later(order.delay, Task::Write(reply, None));
            let nobody = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"nobody\",\"result\":{{\"_meta\":{{{stamp}}}}}}}");
            self.later(order.delay, Task::Write(nobody, None));
        }
    }

    fn reply(&self, message: &Message, id: &str, bytes: u32) -> String {
        let (stamp, pad) = (meta(&self.stamp(message.stamp.n)), padding(bytes));
        if message.stamp.order.is_some_and(|order| order.fail) {
            let data = format!("{{\"_meta\":{{{stamp}}},\"pad\":\"{pad}\"}}");
            let error = format!("{{\"code\":-32000,\"message\":\"as ordered\",\"data\":{data}}}");
            return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}");
        }
        let list = match message.method() {
            "tools/list" => r#""tools":[{"name":"do","inputSchema":{"type":"object"}}],"#,
            "prompts/list" => r#""prompts":[],"#,
            "resources/list" => r#""resources":[],"#,
            "resources/templates/list" => r#""resourceTemplates":[],"#,
            _ => "",
        };
        let kind = if self.era == Era::Stateless { r#""resultType":"complete","# } else { "" };
        format!(
            "{{\"id\":{id},\"result\":{{{kind}{list}\"_meta\":{{{stamp}}},\"pad\":\"{pad}\"}},\"jsonrpc\":\"2.0\"}}"
        )
    }

    /// Does at once all that would be done later.
    fn tasks_now(&mut self) {
        while let Some(std::cmp::Reverse((_, _, task))) = self.tasks.pop() {
            if let Task::Write(line, answers) = task {
                self.write(&line, answers);
            }
        }
    }

    pub(super) fn fulfil(&mut self, how: &How) {
        match how {
            How::Exit(code) => self.exit(*code),
            How::Signal(name) => self.die_of(name),
            How::HalfLine => {
                self.raw(br#"{"jsonrpc":"2.0","id":1,"result":{"half":"#);
                self.exit(3);
            }
            How::Junk => {
                self.raw(b"panic: \xc3\x28 is not UTF-8\r\n{\"id\":1}\nSegmentation fault\n\0\0\0\n");
                self.exit(4);
            }
            How::LastWords => {
                self.tasks_now();
                self.exit(0);
            }
            How::ClosesStdout => {
                self.journal.note(What::Failing("closes stdout".to_owned()));
                self.silent = true;
                let _ = nix::unistd::close(1);
            }
            How::ClosesStdin => {
                self.journal.note(What::Failing("closes stdin".to_owned()));
                self.silent = true;
                let _ = nix::unistd::close(0);
            }
            How::Silent => {
                self.journal.note(What::Failing("silent".to_owned()));
                self.silent = true;
            }
            How::HalfLineSilent => {
                self.journal.note(What::Failing("silent after half a line".to_owned()));
                self.raw(br#"{"jsonrpc":"2.0","id":1,"result":{"half":"#);
                self.silent = true;
            }
            How::Deaf => {
                self.journal.note(What::Failing("deaf".to_owned()));
                self.deaf.store(true, Ordering::Relaxed);
                self.silent = true;
            }
            How::Stopped => {
                self.journal.note(What::Failing("stopped".to_owned()));
                let _ = kill(Pid::this(), Signal::SIGSTOP);
            }
        }
    }

    pub(super) fn exit(&self, code: i32) -> ! {
        self.journal.note(What::Dying(format!("exit {code}")));
        std::process::exit(code)
    }

    fn die_of(&self, name: &str) -> ! {
        let signal: Signal = format!("SIG{name}").parse().unwrap_or(Signal::SIGKILL);
        // No core files: they would lie about.
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        self.journal.note(What::Dying(format!("SIG{name}")));
        // Rust's own handler swallows the first SIGSEGV that no fault has caused.
        for _ in 0..50 {
            let _ = kill(Pid::this(), signal);
            std::thread::sleep(Duration::from_millis(10));
        }
        self.exit(99)
    }
}

fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}")
}
