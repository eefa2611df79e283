//! Names of threads, each kept once: events wait for their turn with numbers for them.

use std::collections::HashMap;

/// The longest name that is kept. The kernel's are shorter, and one that is as long is refused.
const NAME_BYTES: usize = 300;
/// Names of a trace; its threads may have 65 536.
const NAMES_MAX: usize = 1 << 20;

/// A name's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(u32);

/// All names so far.
#[derive(Default)]
pub(super) struct Words {
    by_text: HashMap<Box<[u8]>, Word>,
    texts: Vec<Box<[u8]>>,
}

impl Words {
    /// The number of a name.
    pub(super) fn of(&mut self, text: &[u8]) -> Result<Word, &'static str> {
        let text = &text[..text.len().min(NAME_BYTES)];
        if let Some(word) = self.by_text.get(text) {
            return Ok(*word);
        }
        if self.texts.len() == NAMES_MAX {
            return Err("it has more than a million names of threads");
        }
        let word = Word(self.texts.len() as u32);
        self.texts.push(text.into());
        self.by_text.insert(text.into(), word);
        Ok(word)
    }

    /// The name of this number.
    pub(super) fn text(&self, word: Word) -> &[u8] {
        &self.texts[word.0 as usize]
    }
}
