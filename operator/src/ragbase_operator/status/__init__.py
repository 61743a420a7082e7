"""What the operator tells of a resource: conditions, events, and the one writer of status."""
