//! What machines start from: read once, pinned in the lock file, handed on with its real address.

use emhost::plugins::lock::Lock;
use emhost_tests::site::Site;

/// A cluster whose boot source knows no digests.
fn unpinned(control_planes: usize, workers: usize) -> Site {
    let site = Site::new(control_planes, workers);
    site.add("site.yaml", "settings: {fixture-boot: {no_digest: true}}\n");
    site
}

fn pinned(site: &Site) -> Vec<(String, String, u64)> {
    let lock = Lock::load(&site.path()).expect("a lock file");
    lock.images.into_iter().map(|(name, image)| (name, image.digest, image.size)).collect()
}

#[track_caller]
fn exemplary(site: &Site) {
    assert_eq!(site.world.twice(), Vec::<String>::new());
    assert_eq!(site.world.violations(), Vec::<String>::new());
}

fn add_worker(site: &Site, number: u32) {
    site.add("nodes.yaml", &format!("  - {{name: dev-wk-{number}, ip: 10.0.10.2{number}, cpu: 2, ram: 4096, disk: 40G}}\n"));
}

#[test]
fn an_image_is_read_once_and_pinned() {
    let site = unpinned(1, 1);
    site.emhost(&["plan"]).ended(0).says("will be pinned in emhost.lock");
    assert!(pinned(&site).is_empty(), "a plan pins nothing");
    site.emhost(&["apply", "--yes", "--locked"]).ended(4).says("is not in emhost.lock").says("apply without --locked once");
    assert!(site.world.changes().is_empty());

    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    // Workers have another one than control planes.
    let [_, (name, digest, bytes)] = &pinned(&site)[..] else { panic!("{:?}", pinned(&site)) };
    assert!(name.starts_with("images/images/os-v1.11.5-") && digest.starts_with("sha256:") && *bytes == 512, "{name} {digest} {bytes}");
    assert_eq!(site.world.image_reads(), 2);
    let real = |(name, ..): &(String, String, u64)| name.replacen("images", &site.world.url(), 1);
    let mut fetched = site.world.fetched();
    fetched.sort();
    assert_eq!(fetched, pinned(&site).iter().map(real).collect::<Vec<_>>(), "machines are made from the real address");

    // The next machine is made from the same, which nobody reads again but its boot source.
    add_worker(&site, 2);
    site.emhost(&["plan"]).ended(0).says(&format!("its image is pinned as {digest}"));
    site.emhost(&["apply", "--yes", "--locked"]).ended(0);
    exemplary(&site);
    assert_eq!(site.world.image_reads(), 3);
    assert_eq!(site.world.machines().len(), 3);
}

#[test]
fn other_bytes_than_the_pinned_ones_make_no_machine() {
    let site = unpinned(1, 1);
    site.emhost(&["apply", "--yes"]).ended(0);
    let pinned = pinned(&site)[1].1.clone();
    site.world.edit_images(|images| images.values_mut().for_each(|bytes| bytes[300] = 1));
    add_worker(&site, 2);
    // The hypervisor checks what it fetches against the digest that it was given.
    site.emhost(&["apply", "--yes"]).ended(1).says("checksum mismatch").says(&pinned);
    assert_eq!(site.world.machines().len(), 2);
    exemplary(&site);

    // Whoever means it removes the lines.
    let mut lock = Lock::load(&site.path()).expect("a lock file");
    lock.images.clear();
    lock.save(&site.path()).expect("a lock file");
    site.emhost(&["apply", "--yes"]).ended(0);
    assert_ne!(self::pinned(&site)[0].1, pinned, "only the worker's was read again");
    exemplary(&site);
}

#[test]
fn a_digest_that_the_boot_source_vouches_for_must_be_the_pinned_one() {
    let site = Site::new(1, 1);
    site.emhost(&["apply", "--yes"]).ended(0);
    assert!(pinned(&site).is_empty(), "its boot source vouches for it");
    let name = format!("images/images/{}", site.world.machines()[0].image);
    let mut lock = Lock::load(&site.path()).expect("a lock file");
    lock.images.insert(name, emhost::plugins::lock::Image { digest: format!("sha256:{}", "0".repeat(64)), size: 512 });
    lock.save(&site.path()).expect("a lock file");
    let ran =
        site.emhost(&["plan"]).ended(4).says("is not what emhost.lock says").says(&"0".repeat(64)).says("remove the lines of this image");
    assert!(ran.all().matches("sha256:").count() == 2, "{}", ran.all());
}

#[test]
fn what_is_no_image_starts_no_machine() {
    for (bytes, said) in [(b"not found".to_vec(), "it begins with `not found`"), (b"<html><body>log in".to_vec(), "it is a web page")] {
        let site = unpinned(1, 0);
        let served = site.world.clone();
        site.world.after_change(move |_, change| {
            if change.what == "image" {
                served.edit_images(|images| images.values_mut().for_each(|image| image.clone_from(&bytes)));
            }
            emhost_world::Fate::Answer
        });
        site.emhost(&["apply", "--yes"]).ended(1).says("are no raw disk image").says(said).says("check the slot's `url:`");
        assert!(site.world.machines().is_empty());
        assert!(pinned(&site).is_empty());
    }
}

#[test]
fn images_stay_unless_a_destroy_is_told_to_take_them() {
    let site = unpinned(1, 1);
    let images = |site: &Site| site.world.everything()["images"].as_array().map_or(0, Vec::len);
    site.emhost(&["apply", "--yes"]).ended(0);
    site.world.teardown(true);
    site.emhost(&["destroy", "--yes"]).ended(0);
    assert_eq!(images(&site), 2);
    site.world.teardown(false);
    site.emhost(&["apply", "--yes"]).ended(0);
    site.world.teardown(true);
    site.emhost(&["destroy", "--yes", "--delete-images"]).ended(0).says("image os-v1.11.5-");
    assert_eq!((images(&site), site.world.machines().len()), (0, 0));
    exemplary(&site);
    site.emhost(&["destroy", "--yes", "--delete-images"]).ended(0);
    exemplary(&site);
}
