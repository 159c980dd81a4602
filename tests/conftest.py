"""What every test shares: how long Hypothesis may think, and what it prints of a failure."""

from hypothesis import HealthCheck, settings

# No deadline: loading a vocabulary, or a busy machine, is not a slow example.
settings.register_profile(
    "pagefault", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pagefault")
