"""What a kernel's `computes` line says, as coordinates and terms."""
