use std::io::Write;
use std::time::Duration;

use emhost::pipeline::events::Report;
use emhost::pipeline::{Event, Progress, UnitId, Watch as _};

use super::*;

/// Where everything that is printed can be read again.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Both streams on one paper, as on a terminal of 40 columns and 10 rows.
fn ui(volume: Volume, json: bool, color: bool) -> (Ui, Paper) {
    let paper = Paper::default();
    let screen = Screen::new(Box::new(paper.clone()), Box::new(paper.clone()), true, || Some((40, 10)));
    let redactor = Redactor::new();
    redactor.learn("token", b"hunter2hunter2");
    (Ui::on(screen, volume, json, color, redactor), paper)
}

/// What a terminal shows of this: one that is high enough, and knows the sequences that are used here.
fn terminal(text: &str) -> String {
    let (mut rows, mut row, mut column) = (vec![Vec::<char>::new()], 0_usize, 0_usize);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\n' => {
                (row, column) = (row + 1, 0);
                rows.resize(rows.len().max(row + 1), Vec::new());
            }
            '\r' => column = 0,
            '\u{1b}' => {
                assert_eq!(characters.next(), Some('['));
                let mut number = String::new();
                let letter = loop {
                    match characters.next().expect("a whole sequence") {
                        letter if letter.is_ascii_alphabetic() => break letter,
                        other => number.push(other),
                    }
                };
                match (letter, number.as_str()) {
                    ('A', number) => row = row.checked_sub(number.parse().expect("a number")).expect("never above the first row"),
                    ('K', "") => rows[row].truncate(column),
                    ('K', "2") => rows[row].clear(),
                    ('J', "") => {
                        rows[row].truncate(column);
                        rows.truncate(row + 1);
                    }
                    ('h' | 'l', "?7" | "?2026") | ('m', _) => {}
                    other => panic!("{other:?} is not used here"),
                }
            }
            other => {
                let length = rows[row].len().max(column + 1);
                rows[row].resize(length, ' ');
                rows[row][column] = other;
                column += 1;
            }
        }
    }
    let rows: Vec<String> = rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect();
    format!("{}\n", rows.join("\n").trim_end())
}

fn frame(lines: &[&str]) -> Vec<Line> {
    lines.iter().map(|line| Line::new(Style::Green, line)).collect()
}

#[test]
fn messages_go_above_the_tree() {
    for color in [false, true] {
        let (ui, paper) = ui(Volume::Normal, false, color);
        ui.line("before");
        ui.screen.redraw(&frame(&["apply dev", "  one", "  two"]), color);
        ui.line("between");
        ui.screen.redraw(&frame(&["apply dev", "  two"]), color);
        assert_eq!(terminal(&paper.text()), "before\nbetween\napply dev\n  two\n");
        ui.diagnostic(&Diagnostic::error("a/b", "an error"));
        ui.screen.redraw(&frame(&["apply dev", "  two", &"long ".repeat(40)]), color);
        let wide = terminal(&paper.text());
        assert!(wide.starts_with("before\nbetween\nerror: an error\napply dev\n  two\nlong long"), "{wide}");
        assert!(wide.lines().all(|line| line.chars().count() < 40), "{wide}");
        ui.screen.redraw(&[], color);
        assert_eq!(terminal(&paper.text()), "before\nbetween\nerror: an error\n");
        assert_eq!(paper.text().contains("[32m"), color);
    }
}

#[test]
fn the_live_tree_comes_and_goes() {
    let (ui, paper) = ui(Volume::Normal, false, false);
    let live = live::Live::start(&ui, "apply dev", std::collections::HashMap::new()).expect("a thread");
    let unit = UnitId::Machine("dev-cp-1".to_owned());
    live.event(Event::Run { units: vec![(unit.clone(), vec![])] });
    live.event(Event::Unit { unit: unit.clone(), progress: Progress::Began { activity: "hunter2hunter2".to_owned(), estimate: None } });
    while !paper.text().contains("0/1 done") {
        std::thread::yield_now();
    }
    ui.line("a line");
    let source = emhost::capabilities::events::Source { plugin: "demo".to_owned(), call: "apply", unit: None };
    let diagnostic = Diagnostic::warning("demo/odd", "odd");
    live.event(Event::Plugin { unit: Some(unit.clone()), said: emhost::capabilities::events::Event::Report { source, diagnostic } });
    drop(live);
    assert_eq!(terminal(&paper.text()), "a line\nmachine/dev-cp-1 (demo) reports\nwarning: odd\n");
    assert!(!paper.text().contains("hunter2"));
}

#[test]
fn lines_tell_what_they_left_out() {
    let (ui, paper) = ui(Volume::Normal, false, false);
    let lines = lines::Lines::new(&ui);
    let source = emhost::capabilities::events::Source { plugin: "demo".to_owned(), call: "apply", unit: None };
    for _ in 0..100 {
        let (message, fields) = ("hunter2hunter2 is\nout\u{1b}[2J".to_owned(), Vec::new());
        let said = emhost::capabilities::events::Event::Log { source: source.clone(), level: "warn", message, fields };
        lines.event(Event::Plugin { unit: None, said });
    }
    drop(lines);
    let text = paper.text();
    let (first, rest) = text.split_once('\n').expect("two lines");
    assert!(first.ends_with(r"s] (demo) warn: (secret token) is out\u{1b}[2J"), "{first}");
    assert_eq!(rest, "… 99 messages left out (--json has them all)\n");
}

#[test]
fn how_it_ended_is_told_to_everybody() {
    let unit = UnitId::Machine("dev-wk-1".to_owned());
    let error = Diagnostic::error("http/status", "pve1 answered 500").help(Some("look at pve1"));
    let report = Report { done: 1, failed: vec![(unit, vec![error])], elapsed: Duration::from_secs(75), ..Report::default() };
    let said = |volume, json| {
        let (ui, paper) = ui(volume, json, false);
        ui.finish("apply", &report);
        paper.text()
    };
    insta::assert_snapshot!(said(Volume::Normal, false), @"
    ✗ machine/dev-wk-1 failed
    error: pve1 answered 500
      help: look at pve1
    1 done, 1 failed, in 1m15s; the next apply goes on where this one ended
    ");
    insta::assert_snapshot!(said(Volume::Quiet, false), @"
    ✗ machine/dev-wk-1 failed
    error: pve1 answered 500
      help: look at pve1
    ");
    let event: Value = serde_json::from_str(&said(Volume::Normal, true)).expect("one object");
    assert_eq!((&event["event"], &event["report"]["elapsed"]), (&json!("report"), &json!(75.0)));
}

#[test]
fn events_are_objects_without_secrets_that_no_terminal_minds() {
    let (ui, paper) = ui(Volume::Normal, true, false);
    lines::Json(ui.clone()).event(Event::Planning { what: "hunter2hunter2 \u{1b}[2J \u{9b}1A \u{202e} \u{e0041} 漢字 🙂".to_owned() });
    let pause = Duration::from_millis(1500);
    let again = Progress::Again { reason: "waits".to_owned(), pause };
    lines::Json(ui.clone()).event(Event::Unit { unit: UnitId::Cluster, progress: again });
    ui.event("summary", json!({ "ok": true }));
    ui.document("all there is\n");
    ui.event("summary", json!({ "ok": true }));
    let text = paper.text();
    assert_eq!(printable(&text), text);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    let first: Value = serde_json::from_str(lines[0]).expect("an object");
    assert_eq!(first["what"], "(secret token) \u{1b}[2J \u{9b}1A \u{202e} \u{e0041} 漢字 🙂");
    let time = first["time"].as_str().expect("text");
    assert!(time.parse::<jiff::Timestamp>().is_ok() && time.len() == "2026-01-01T00:00:00.000Z".len(), "{time}");
    let second: Value = serde_json::from_str(lines[1]).expect("an object");
    assert_eq!(
        (&second["event"], &second["unit"], &second["what"], &second["pause"]),
        (&json!("unit"), &json!("cluster"), &json!("again"), &json!(1.5))
    );
    assert_eq!(lines[3], "all there is");
}

#[test]
fn outputs_for_people_scripts_and_programs() {
    let outputs = std::collections::BTreeMap::from([
        ("control_plane_ips", json!(["10.0.10.11", "10.0.10.12"])),
        ("machines", json!({ "dev-cp-1": { "vmid": "300", "node": null } })),
    ]);
    let said = |json, alone| {
        let (ui, paper) = ui(Volume::Normal, json, false);
        ui.outputs(&outputs, alone);
        ui.event("summary", json!({ "ok": true }));
        paper.text()
    };
    insta::assert_snapshot!(said(false, false), @"
    control_plane_ips
      10.0.10.11
      10.0.10.12
    machines
      dev-cp-1  node=- vmid=300
    ");
    insta::assert_snapshot!(said(false, true), @r#"
    10.0.10.11
    10.0.10.12
    {
      "dev-cp-1": {
        "node": null,
        "vmid": "300"
      }
    }
    "#);
    assert_eq!(serde_json::from_str::<Value>(&said(true, false)).expect("one object"), json!(outputs));
}
