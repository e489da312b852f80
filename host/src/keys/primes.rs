//! The primes of RSA keys, looked for on several cores: one alone takes seconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use num_bigint_dig::prime::probably_prime;
use num_traits::ToPrimitive as _;
use ring::rand::{SecureRandom as _, SystemRandom};
use rsa::BigUint;
use zeroize::Zeroizing;

use super::KeyError;

/// How often a candidate is tested beside base 2 and Lucas; far fewer would do for one that nobody chose.
const ROUNDS: usize = 8;
/// The threads that look for primes at most.
const SEARCHERS: usize = 8;

/// The public exponent that everybody has.
pub const EXPONENT: u32 = 65_537;

/// Two primes of so many bits each.
pub fn two(bits: usize) -> Result<Vec<BigUint>, KeyError> {
    let small = products_of_small_primes();
    let (found, enough) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let search = || {
        while !enough.load(Ordering::Relaxed) {
            let candidate = candidate(bits)?;
            if small.iter().any(|product| !is_coprime(&candidate, *product)) || !probably_prime(&candidate, ROUNDS) {
                continue;
            }
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            // The exponent has to have an inverse.
            if found.len() < 2 && !found.contains(&candidate) && (&candidate % EXPONENT) != BigUint::from(1_u32) {
                found.push(candidate);
            }
            enough.store(found.len() == 2, Ordering::Relaxed);
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(SEARCHERS);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (1..threads).map(|_| scope.spawn(search)).collect();
        let own = search();
        searches.into_iter().map(|other| other.join().unwrap_or(Err(KeyError::Generation))).fold(own, Result::and)
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// An odd number whose highest two bits are set, so that the product of two has all its bits.
fn candidate(bits: usize) -> Result<BigUint, KeyError> {
    let mut bytes = Zeroizing::new(vec![0; bits / 8]);
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::Generation)?;
    if let [first, .., last] = bytes.as_mut_slice() {
        *first |= 0b1100_0000;
        *last |= 1;
    }
    Ok(BigUint::from_bytes_be(&bytes))
}

/// The odd primes below 2,000, in products that fit a word: most candidates fall by one of them.
fn products_of_small_primes() -> Vec<u64> {
    let mut products = vec![1_u64];
    for number in (3_u64..2000).step_by(2).filter(|number| (3..45).take_while(|by| by * by <= *number).all(|by| number % by != 0)) {
        let last = products.last_mut().and_then(|last| last.checked_mul(number).map(|product| (last, product)));
        match last {
            Some((last, product)) => *last = product,
            None => products.push(number),
        }
    }
    products
}

fn is_coprime(candidate: &BigUint, product: u64) -> bool {
    let (mut one, mut other) = (product, (candidate % product).to_u64().unwrap_or_default());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one == 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn primes_are_two_and_have_all_their_bits() {
        let primes = two(512).unwrap();
        let [one, other] = &primes[..] else { panic!("{primes:?}") };
        assert_ne!(one, other);
        assert_eq!((one * other).bits(), 1024);
        assert!(primes.iter().all(|prime| probably_prime(prime, 20)));
    }

    #[test]
    fn what_has_a_small_factor_falls_by_it() {
        let products = products_of_small_primes();
        let falls = |number: u64| products.iter().any(|product| !is_coprime(&BigUint::from(number), *product));
        assert!(falls(3 * 1_000_003) && falls(1999 * 2003) && !falls(2003 * 2011) && !falls(1_000_003));
    }
}
