"""One file a method: which steps run on which blocks after which others."""
