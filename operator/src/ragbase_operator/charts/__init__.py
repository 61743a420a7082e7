"""What the Helm charts hold that follows from the operator's models, settings and rights."""
