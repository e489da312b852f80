//! `world`: the small world on its own, for demos and trials by hand. It ends with its standard input, or on SIGTERM.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use emhost_world::{Lossy, World, lay};
use tokio::io::AsyncReadExt;

const HELP: &str = "\
world [OPTIONS]: a hypervisor, image store and operating system for the fixtures

  --port N                        listen there (otherwise on any port)
  --port-file FILE                write the port into this file
  --lossy SEED,REQUESTS,REPLIES   lose these parts of requests and replies, for example 7,0.1,0.1
  --lay FOLDER                    write a cluster folder with the fixtures in it
  --control-planes N, --workers N of that folder (3 and 2)";

struct Options {
    port: u16,
    port_file: Option<PathBuf>,
    lossy: Option<Lossy>,
    lay: Option<PathBuf>,
    control_planes: usize,
    workers: usize,
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { port: 0, port_file: None, lossy: None, lay: None, control_planes: 3, workers: 2 };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|error| format!("{text}: {error}"));
        match word.as_str() {
            "--port" => options.port = u16::try_from(number(value()?)?).map_err(|error| error.to_string())?,
            "--port-file" => options.port_file = Some(value()?.into()),
            "--lossy" => options.lossy = Some(lossy(&value()?)?),
            "--lay" => options.lay = Some(value()?.into()),
            "--control-planes" => options.control_planes = number(value()?)?,
            "--workers" => options.workers = number(value()?)?,
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

fn lossy(text: &str) -> Result<Lossy, String> {
    let wrong = || format!("`{text}`: write SEED,REQUESTS,REPLIES");
    let [seed, requests, replies] = text.split(',').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
    let part = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    Ok(Lossy { seed: seed.parse().map_err(|_| wrong())?, requests: part(requests)?, replies: part(replies)? })
}

async fn run(options: Options) -> Result<(), String> {
    let world = World::start_at(options.port).map_err(|error| error.to_string())?;
    world.lossy(options.lossy);
    if let Some(folder) = &options.lay {
        lay(folder, &world, options.control_planes, options.workers);
    }
    print!("{}", world.site_yaml());
    if let Some(file) = &options.port_file {
        std::fs::write(file, world.address().port().to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let ended = async {
        let mut input = tokio::io::stdin();
        let mut bytes = [0; 256];
        while input.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    };
    let mut asked = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(|error| error.to_string())?;
    tokio::select! {
        () = ended => {}
        _ = asked.recv() => {}
    }
    for (title, lines) in [("twice", world.twice()), ("violation", world.violations()), ("outage", world.outages())] {
        for line in lines {
            println!("{title}: {line}");
        }
    }
    println!("{} changes, {} requests, {} machines", world.changes().len(), world.requests(), world.machines().len());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match options(std::env::args().skip(1)) {
        Ok(options) => run(options).await,
        Err(help) => Err(help),
    };
    match done {
        // Standard input may still be waited for on a thread of its own.
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
