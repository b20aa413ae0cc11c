"""`python -m hyperlabel`: the command-line tool."""

from hyperlabel.cli import main

if __name__ == "__main__":
    main()
