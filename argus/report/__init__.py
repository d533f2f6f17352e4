"""Pages for a browser: of a run (`run_page.py`) and of a timed kernel (`kernel_page.py`)."""
