"""The named models of a process: when they are loaded, how much may wait, who shares a batch."""
