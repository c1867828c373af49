"""`python -m slicekeeper_agent --url https://slicekeeper.example --cluster NAME --token-file FILE`."""

from __future__ import annotations

import sys

from slicekeeper_agent.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
