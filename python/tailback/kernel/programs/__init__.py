"""Programs in the guest: what they need of this machine."""
