"""Files to text: any of the kinds taken becomes a title, Markdown, metadata and warnings.

A file's bytes are hostile until proven otherwise, so they are read in a process of their own with
bounds on time, memory and answer (`parser` starts it, `child` is what runs there). ``from_*`` modules
read one kind each and are imported there only. ``docs/adr/0015-files.md`` gives the figures behind the design.
"""
