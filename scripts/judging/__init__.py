"""The parts of `judge`: recordings become figures, real and simulated, and are compared."""
