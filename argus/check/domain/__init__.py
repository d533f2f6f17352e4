"""The abstract domain: what is known about register elements, threads and LDS."""
