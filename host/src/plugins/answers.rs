//! What a plugin answers, checked before anyone believes it.
//!
//! Text for people loses secrets and terminal control here. What another phase consumes
//! (documents, media, attributes) passes unchanged, since changing it would break it; whoever
//! prints it redacts it.

use crate::bindings::emhost::plugin::types::{
    Action, Again, Attribute, Boot, Contribution, Diagnostic, Document, FieldChange, Medium, Proposal, State, Step,
};
use crate::bindings::exports::emhost::plugin::addon::Stage;
use crate::bindings::exports::emhost::plugin::distro::{Member, NodeStatus};
use crate::bindings::exports::emhost::plugin::gpu::{Assignment, Device};
use crate::bindings::exports::emhost::plugin::provisioner::Machine;
use crate::redact::{Redactor, one_line};

/// What an answer is checked with.
pub(crate) struct Vetting<'a> {
    pub redactor: &'a Redactor,
    pub state: usize,
}

/// How many actions, machines and the like one answer may list.
const MOST: usize = 10_000;

impl Vetting<'_> {
    fn line(&self, text: &mut String) {
        *text = one_line(&self.redactor.text(text), 1000);
    }

    fn optional_line(&self, text: Option<&mut String>) {
        if let Some(text) = text {
            self.line(text);
        }
    }

    fn attributes(&self, attributes: &mut [Attribute]) {
        for attribute in attributes {
            self.line(&mut attribute.key);
            self.line(&mut attribute.value);
        }
    }
}

/// An answer that can be checked.
pub(crate) trait Answer: Send + Sized {
    /// Cleans it, or says why it cannot be used.
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String>;
}

impl Answer for () {
    fn vet(&mut self, _: &Vetting<'_>) -> Result<(), String> {
        Ok(())
    }
}

impl<T: Answer> Answer for Option<T> {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        self.as_mut().map_or(Ok(()), |answer| answer.vet(vetting))
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        if self.len() > MOST {
            return Err(format!("it lists {} things, and {MOST} are the most", self.len()));
        }
        self.iter_mut().try_for_each(|answer| answer.vet(vetting))
    }
}

impl Answer for String {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        vetting.line(self);
        Ok(())
    }
}

impl Answer for State {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        if self.data.len() > vetting.state {
            return Err(format!("its state has {} bytes, and {} are the most", self.data.len(), vetting.state));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&self.data) {
            return Err(format!("its state is not JSON: {error}"));
        }
        match vetting.redactor.finds(self.data.as_bytes()) {
            Some(name) => Err(format!("its state contains the secret `{name}`, and state is stored in clear")),
            None => Ok(()),
        }
    }
}

impl Answer for Diagnostic {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        vetting.line(&mut self.code);
        vetting.line(&mut self.summary);
        vetting.optional_line(self.pointer.as_mut());
        for text in [&mut self.detail, &mut self.help].into_iter().flatten() {
            *text = crate::diagnostic::story(text, vetting.redactor);
        }
        Ok(())
    }
}

impl Answer for FieldChange {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        vetting.line(&mut self.pointer);
        for value in [&mut self.before, &mut self.after].into_iter().flatten() {
            if self.sensitive {
                "\"(sensitive)\"".clone_into(value);
            } else if serde_json::from_str::<serde::de::IgnoredAny>(value).is_err() {
                return Err(format!("the change of `{}` has a value that is not JSON", self.pointer));
            } else {
                *value = crate::diagnostic::story(value, vetting.redactor);
            }
        }
        Ok(())
    }
}

impl Answer for Action {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        vetting.line(&mut self.subject);
        vetting.line(&mut self.reason);
        vetting.attributes(&mut self.attributes);
        if self.subject.trim().is_empty() {
            return Err("an action has no subject".to_owned());
        }
        self.fields.vet(vetting)
    }
}

fn vet_holds(holds: &mut [String], vetting: &Vetting<'_>) {
    for hold in holds {
        vetting.line(hold);
    }
}

impl Answer for Proposal {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        vet_holds(&mut self.holds, vetting);
        self.actions.vet(vetting)
    }
}

impl Answer for Step {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        match self {
            Self::Done(state) => state.vet(vetting),
            Self::Again(Again { reason, state, holds, .. }) => {
                vetting.line(reason);
                vet_holds(holds, vetting);
                state.vet(vetting)
            }
        }
    }
}

impl Answer for Machine {
    fn vet(&mut self, vetting: &Vetting<'_>) -> Result<(), String> {
        if self.id.is_empty() || self.identity.is_empty() {
            return Err("a machine has no id or no identity".to_owned());
        }
        if let Some(name) = vetting.redactor.finds(format!("{self:?}").as_bytes()) {
            return Err(format!("a machine it describes contains the secret `{name}`"));
        }
        vetting.line(&mut self.id);
        vetting.line(&mut self.host);
        Ok(())
    }
}

/// Passed on to another phase as it is.
macro_rules! consumed {
    ($($type:ty),* $(,)?) => {
        $(impl Answer for $type {
            fn vet(&mut self, _: &Vetting<'_>) -> Result<(), String> {
                Ok(())
            }
        })*
    };
}

consumed!(Boot, Medium, Document, Contribution, NodeStatus, Member, Device, Assignment, Stage, crate::capabilities::secrets::Value);
