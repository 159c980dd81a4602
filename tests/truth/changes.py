"""Ways to change one's mind about what stands, and ways to only speak of it.

In all of them `v` is what stands for the subject `s`, and `w` what takes its place. The rules were
made with the first tables of each kind. The `HELD_OUT` ones were written before the rules; what
was missed of them at first sight was mended afterwards. `UNSEEN` was written last, and no rule was
changed since.
"""

from __future__ import annotations

from typing import Final

CHANGES: Final = (
    "I changed my mind, let's use {w} instead.",
    "I've changed my mind: let's go with {w}.",
    "We changed our minds, we'll use {w}.",
    "On second thought, {w}.",
    "On second thoughts, let's use {w}.",
    "Hmm, on second thought let's go with {w} after all.",
    "No, {w} after all.",
    "{w} after all, please.",
    "Scrap that, we go with {w}.",
    "Scratch that. We're going with {w}.",
    "Forget that, let's use {w}.",
    "Change of plans: {w}.",
    "Change of plan, we're using {w}.",
    "Let's use {w} instead.",
    "Let's do {w} instead.",
    "Make that {w} instead.",
    "Actually, make it {w}.",
    "We'll go with {w} instead, sorry.",
    "Use {w} instead.",
    "I'd rather go with {w} after all.",
    "After thinking about it some more, let's go with {w} instead.",
    "Ignore what I said before, we use {w}.",
    "We had a change of heart: {w} it is.",
    "Let's switch to {w}.",
    "Never mind that, let's go with {w}.",
)

CHANGES_HELD_OUT: Final = (
    "Sorry, I've had second thoughts. Let's go with {w} instead.",
    "I have changed my mind and want to use {w}.",
    "Having slept on it, I think we'll use {w} instead.",
    "We've reconsidered: let's use {w}.",
    "Wait, no. {w} instead.",
    "Correction: we use {w}.",
    "Forget what I said, we're going with {w}.",
    "Let's take {w} instead, that's simpler.",
    "Plans changed, it's {w} now.",
    "I take that back, let's use {w}.",
    "Strike that; {w} it is.",
    "Instead, let's use {w}.",
    "On reflection, we'll go with {w}.",
    "My mind has changed: we pick {w}.",
    "Oh, and we settled on {w} after all.",
    "We're switching to {w}.",
    "Please use {w} instead from now on.",
    "We ended up going with {w} instead.",
    "Drop that, let's go with {w}.",
    "New plan: we use {w}.",
    "Let's change it to {w}.",
    "I'd prefer we go with {w} instead.",
    "Okay, second thoughts: {w}.",
    "After all, let's go with {w}.",
)

CHANGES_UNSEEN: Final = (
    "Hang on, let's take {w} instead.",
    "I've been thinking, and we should go with {w} instead.",
    "Sorry to flip-flop, but we'll use {w} after all.",
    "Let's swap it out for {w}.",
    "You know what, use {w} instead.",
    "We changed our mind about that and are going with {w}.",
    "Scrap what we decided, it's {w}.",
    "Okay, new plan: let's go with {w}.",
    "Never mind, {w} it is.",
    "Undo that. We'll use {w}.",
    "I was wrong, we're going with {w} instead.",
    "We've gone with {w} instead.",
    "Oh, change of plan! Let's use {w}.",
    "Please switch it to {w}.",
    "Replace it with {w}.",
    "On second thought we'd better use {w}.",
    "Let's move over to {w}.",
    "Turns out we need {w}, so let's use {w} instead.",
    "No wait, {w}.",
    "I take it back, {w} is what we use.",
)

UNDOES: Final = (
    "No {v} after all.",
    "Let's drop {v}.",
    "I changed my mind about {v}.",
    "We won't use {v} after all.",
    "Forget {v}.",
    "Let's not do {v} after all.",
    "Scrap {v}, please.",
)

UNDOES_HELD_OUT: Final = (
    "We're not going with {v} after all.",
    "{v} is off the table.",
    "We decided against {v}.",
    "I no longer want to use {v}.",
    "Cancel {v}.",
    "So no {v} after all.",
    "We are dropping {v}.",
)

UNDOES_UNSEEN: Final = (
    "Let's forget about {v}.",
    "We're abandoning {v}.",
    "I don't want to use {v} anymore.",
    "{v} is out of the question now.",
    "Let's not use {v}, actually.",
    "We've decided not to go with {v}.",
    "Take back the decision for {v}.",
)

DECOYS: Final = (
    "If we changed our mind, we would use {w} instead.",
    "What if we went with {w} instead?",
    "Should we use {w} instead?",
    "Would you use {w} instead?",
    "Tom changed his mind, he'll use {w} instead.",
    "Tom said: let's use {w} instead.",
    'The article says "on second thought, {w}".',
    "Their team scrapped {v} and went with {w}.",
    "She told me: scrap that, we go with {w}.",
    "Maybe we should use {w} instead.",
    "I wonder if {w} would be better after all.",
    "I almost changed my mind about {v}.",
    "I have not changed my mind about {v}.",
    "What would happen if I changed my mind?",
    "We haven't changed our minds.",
    "```\nlet's use {w} instead\n```",
    "> scrap that, we go with {w}",
    "Suppose we scrap that and use {w}.",
    "Did you change your mind, or is it {v} after all?",
    "Can you explain how {w} works instead?",
    'How would you write "I changed my mind, let\'s use {w} instead" in French?',
    "You could use {w} instead, couldn't you?",
    "My colleague went with {w} after all.",
    "Let's keep {v} after all.",
    "Thanks, {v} it is, then.",
)

DECOYS_HELD_OUT: Final = (
    "Had we changed our minds, {w} would have been next.",
    "Is it too late to go with {w} instead?",
    "Why didn't we use {w} instead?",
    "Our competitor switched to {w} instead.",
    "Anna wrote: on second thought, {w}.",
    "My boss thinks we should use {w} instead.",
    'He said "scrap that, let\'s go with {w}".',
    "Perhaps {w} instead?",
    "Imagine we said: scrap that, use {w}.",
    "I never changed my mind about {v}.",
    "Unless I change my mind, we stay with {v}.",
    "Would it be hard to change our minds later?",
    "In the old project we used {w} instead.",
    "They went with {w} after all.",
    "Tell me what would change if we used {w} instead.",
    "Write a story in which someone says: forget that, we use {w}.",
    "I'm thinking of {w} instead, not sure.",
    "The log says: falling back to {w} instead.",
    "Some people prefer {w} instead.",
    "~~Let's use {w} instead.~~",
)

DECOYS_UNSEEN: Final = (
    "It was Ben who changed his mind and took {w} instead.",
    "Could we have used {w} instead?",
    "A friend asked whether we'd use {w} instead.",
    "The docs recommend {w} instead.",
    "When would one use {w} instead?",
    "We might go with {w} after all, I'll think about it.",
    "It would be silly to scrap that and go with {w}.",
    "They said on second thought, {w}.",
    "I dreamt we used {w} instead.",
    "What are the odds that we change our mind?",
    "Explain the phrase: scrap that, we go with {w}.",
    "If it fails, let's use {w} instead.",
    "Nobody changed their mind about {v}.",
    "The old team ended up with {w} instead.",
    "Is {w} what people use instead?",
)
