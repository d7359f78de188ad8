"""``python -m seada``."""

from seada.cli.main import main

if __name__ == "__main__":
    main()
