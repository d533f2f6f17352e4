"""Pages for a browser, made from what is stored. See `run_page.py`."""
