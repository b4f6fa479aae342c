"""The plugin kernel and the small framework packages around it."""
