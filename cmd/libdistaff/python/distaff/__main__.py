"""The command line of distaff: python -m distaff run ..."""

import sys

from ._lib import command


def main():
    sys.stdout.flush()
    sys.exit(command(*sys.argv[1:], inherit=True)[0])


if __name__ == "__main__":
    main()
