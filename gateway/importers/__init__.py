"""Other programs' homes and exports."""
