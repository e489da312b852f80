use super::*;

fn graph(names: &[(&str, &[&str])]) -> Graph {
    let unit = |name: &str| name.parse::<UnitId>().expect("a unit");
    let vertex = |(name, after): &(&str, &[&str])| Vertex {
        unit: unit(name),
        after: after.iter().map(|name| unit(name)).collect(),
        status: Status::Planned(Change::Create),
        plugin: "proxmox".to_owned(),
    };
    Graph { title: "dev".to_owned(), units: names.iter().map(vertex).collect() }
}

fn small() -> Graph {
    graph(&[
        ("boot/v1", &[]),
        ("machine/a", &["boot/v1"]),
        ("machine/b", &["boot/v1"]),
        ("os/a", &["machine/a"]),
        ("cluster", &["os/a", "os/unknown"]),
        ("media/a", &["os/a", "cluster"]),
        ("ready", &["cluster", "media/a"]),
    ])
}

#[test]
fn dot_is_what_graphviz_reads() {
    let mut graph = graph(&[("machine/a", &[]), ("addon/evil\"];\nx -> y [label=\"\\", &["machine/a"])]);
    graph.units[1].status = Status::Failed;
    insta::assert_snapshot!(dot(&graph), @r##"
    digraph "dev" {
      rankdir=LR;
      node [shape=box, style=rounded, fontname="sans-serif"];
      subgraph "cluster_machines" {
        label="machines";
        "machine/a" [color="#1a7f37", tooltip="to create, proxmox"];
      }
      subgraph "cluster_addons" {
        label="addons";
        "addon/evil\"]; x -> y [label=\"\\" [color="#cf222e", tooltip="failed, proxmox"];
      }
      "machine/a" -> "addon/evil\"]; x -> y [label=\"\\";
    }
    "##);
}

#[test]
fn what_is_needed_is_always_to_the_left() {
    let graph = small();
    let layout = Layout::of(&graph);
    for (to, needs) in layout.edges.iter().enumerate() {
        for from in needs {
            assert!(layout.at[*from].0 < layout.at[to].0, "{} before {}", graph.units[*from].unit, graph.units[to].unit);
        }
    }
    let mut places = layout.at.clone();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), graph.units.len(), "no two are in one place");
    assert!(places.iter().all(|(x, y)| x + BOX.0 <= layout.width && y + BOX.1 <= layout.height));
    assert_eq!(layout.edges.iter().map(Vec::len).sum::<usize>(), 8, "a unit that is not there is not drawn to");
}

#[test]
fn a_circle_does_not_hang_it() {
    let graph = graph(&[("machine/a", &["machine/b"]), ("machine/b", &["machine/a", "machine/b"]), ("health", &[])]);
    assert!(svg(&graph).ends_with("</svg>\n"));
    assert!(svg(&self::graph(&[])).ends_with("</svg>\n"));
}

#[test]
fn names_are_text_and_nothing_else() {
    let name = "</title><script>alert('&\"')</script>\u{1b}[2J\u{0}\u{ffff}";
    let mut graph = graph(&[("machine/a", &[])]);
    graph.title = name.to_owned();
    graph.units[0].plugin = name.to_owned();
    graph.units.push(Vertex { unit: UnitId::Addon(name.to_owned()), ..graph.units[0].clone() });
    for text in [svg(&graph), html(&graph)] {
        assert!(!text.contains("<script>alert"));
        assert!(text.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;\\u{1b}[2J\\u{0}\u{fffd}"));
        assert!(text.chars().all(|character| character == '\n' || !character.is_control()));
    }
    let picture = svg(&graph);
    let opened = picture.matches('<').count();
    assert_eq!(opened, picture.matches('>').count(), "every tag ends");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&small());
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
    assert!(page.contains("default-src 'none'"));
    for status in Status::ALL {
        assert!(STYLE.contains(&format!(".{}", status.class())), "{status:?} has a colour");
    }
}
