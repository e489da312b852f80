//! The words in which faults are asked for.

use std::fmt;

/// What is lost when the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All bytes and names that were not made durable.
    Everything,
    /// The bytes only: new names stay, and what they name may be empty.
    Bytes,
    /// Half of the bytes that were added since.
    Half,
    /// The bytes that were added since, while their length stays: zeros.
    Zeros,
    /// Like everything, but what was cut off a file since comes back whole.
    Cuts,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The process is killed before the operation.
    Kill,
    /// The process is killed after the operation.
    KillAfter,
    /// The power goes before the operation.
    Power(Loss),
    /// The disk is full from this write on, and half of it still lands.
    Full,
    /// The disk is full for this write only.
    FullOnce,
    /// The operation or point fails, once.
    Fail,
}

/// Where it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At the disk operation (for a full disk: the write) of this number.
    Operation(u64),
    /// At a named point, when it is passed for the n-th time.
    Point(String, u64),
}

/// Everything that was asked for.
#[derive(Debug, Default)]
pub struct Spec {
    pub rules: Vec<(Action, Place)>,
    pub broken: Vec<String>,
    pub trace: Option<String>,
}

/// What is wrong with a word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SpecError(String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no fault: write kill@N, kill-after@N, power@N, power-bytes@N, power-half@N, power-zeros@N, power-cuts@N, full@N, full-once@N, fail@N \
             (or POINT or POINT:N for N), broken@RULE or trace@FILE",
            self.0
        )
    }
}

impl Spec {
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let wrong = || SpecError(word.to_owned());
            let (action, place) = word.split_once('@').filter(|(_, place)| !place.is_empty()).ok_or_else(wrong)?;
            let action = match action {
                "broken" => {
                    spec.broken.push(place.to_owned());
                    continue;
                }
                "trace" => {
                    spec.trace = Some(place.to_owned());
                    continue;
                }
                "kill" => Action::Kill,
                "kill-after" => Action::KillAfter,
                "power" => Action::Power(Loss::Everything),
                "power-bytes" => Action::Power(Loss::Bytes),
                "power-half" => Action::Power(Loss::Half),
                "power-zeros" => Action::Power(Loss::Zeros),
                "power-cuts" => Action::Power(Loss::Cuts),
                "full" => Action::Full,
                "full-once" => Action::FullOnce,
                "fail" => Action::Fail,
                _ => return Err(wrong()),
            };
            let place = match (place.parse(), place.rsplit_once(':')) {
                (Ok(0), _) => return Err(wrong()),
                (Ok(number), _) => Place::Operation(number),
                (Err(_), Some((name, times))) => match times.parse() {
                    Ok(0) | Err(_) => return Err(wrong()),
                    Ok(times) => Place::Point(name.to_owned(), times),
                },
                (Err(_), None) => Place::Point(place.to_owned(), 1),
            };
            spec.rules.push((action, place));
        }
        Ok(spec)
    }
}
