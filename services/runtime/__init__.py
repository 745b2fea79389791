"""What all services share; it knows no word of speech recognition."""
