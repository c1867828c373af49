"""Reading: what pages and API show, taken from the live state, the log and its projections. Nothing here changes anything.

Each part returns plain values whose fields are the words of the API; pages choose from them.
"""
