// Nothing but empty sections.
