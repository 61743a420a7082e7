"""From what is wished and what is there to what is done: one level-triggered pass a kind."""
