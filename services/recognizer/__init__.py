"""The recognizer: speech to text over gRPC."""
