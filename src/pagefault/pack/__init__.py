"""What the model sees: rules, tools, rendering, and the layout of a request."""
