use super::*;

struct Disk;

impl Facts for Disk {
    fn name(&self, name: &str) -> Option<Value> {
        (name == "system_disk").then_some(Value::Bool(false))
    }

    fn field(&self, object: &str, field: &str) -> Option<Value> {
        assert_eq!(object, "disk");
        Some(match field {
            "size" => Value::Uint(100 << 30),
            "transport" => Value::Text("virtio".to_owned()),
            "serial" => Value::Text("data-1".to_owned()),
            "rotational" => Value::Bool(false),
            "symlinks" => Value::List(vec![Value::Text("/dev/disk/by-id/x".to_owned())]),
            _ => return None,
        })
    }
}

fn holds(source: &str) -> Result<bool, String> {
    Expression::read(source, Environment::Disk, &Type::Bool).map(|expression| expression.holds(&Disk))
}

#[test]
fn expressions_find_disks() {
    for (source, found) in [
        ("disk.transport == \"virtio\" && !system_disk", true),
        ("disk.size > 10u * GiB", true),
        ("disk.size >= 1u * TB || disk.serial.startsWith('data')", true),
        ("disk.transport in [\"nvme\", 'sata']", false),
        ("glob(\"data-*\", disk.serial)", true),
        ("disk.serial.matches('^data-[0-9]$') ? !disk.rotational : false", true),
        ("'/dev/disk/by-id/x' in disk.symlinks", true),
        ("disk.symlinks.exists(link, link.contains('by-id'))", true),
        ("disk.symlinks[5] == 'x' || true", true),
        ("disk.symlinks[5] == 'x'", false),
        ("int(disk.size / GiB) == 100", true),
        ("size(disk.serial) + 1 == 7", true),
    ] {
        assert_eq!(holds(source), Ok(found), "{source}");
    }
}

#[test]
fn faults_are_shown_at_their_place() {
    assert_eq!(
        holds("dsk.size > 1u").unwrap_err(),
        "ERROR: <input>:1:1: undeclared reference to 'dsk' (in container '')\n | dsk.size > 1u\n | ^"
    );
    assert_eq!(holds("disk.siz > 1u").unwrap_err(), "ERROR: <input>:1:5: undefined field 'siz'\n | disk.siz > 1u\n | ....^");
    assert_eq!(
        holds("disk.size > 1").unwrap_err(),
        "ERROR: <input>:1:11: found no matching overload for '_>_' applied to '(uint, int)'\n | disk.size > 1\n | ..........^"
    );
    assert_eq!(holds("disk.size").unwrap_err(), "expression output type is uint, expected bool");
    for wrong in ["", "disk.", "(", "'open", "a b", "disk.size > ", "!", "[1,", "1..2"] {
        assert!(holds(wrong).is_err(), "{wrong}");
    }
    assert!(holds(&format!("true{}", " || true".repeat(100_000))).is_err() && holds(&format!("disk{}", ".a".repeat(100_000))).is_err());
    assert!(holds(&"!".repeat(10_000)).is_err() && holds(&"(".repeat(10_000)).is_err());
}

#[test]
fn expressions_about_memory_have_names_of_their_own() {
    let trigger =
        "multiply_qos_vectors(d_qos_memory_full_total, {System: 8.0, Podruntime: 4.0}) > 3000.0 && time_since_trigger > duration('500ms')";
    assert!(Expression::read(trigger, Environment::OomTrigger, &Type::Bool).is_ok());
    let ranking =
        "memory_max.hasValue() ? 0.0 : {Besteffort: 1.0, Burstable: 0.5, Guaranteed: 0.0}[class] * double(memory_current.orValue(0u))";
    assert!(Expression::read(ranking, Environment::OomRanking, &Type::Double).is_ok());
    assert!(Expression::read(ranking, Environment::OomTrigger, &Type::Double).is_err());
    assert!(Expression::read("mac(link.permanent_addr) == '00:1a:2b:3c:4d:5e'", Environment::Link, &Type::Bool).is_ok());
}
