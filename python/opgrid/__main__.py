"""The command line: ``python -m opgrid COMMAND`` is what ``opgrid COMMAND`` is elsewhere."""

import signal
import sys

from . import _opgrid


def main() -> int:
    """Runs the command of the process's arguments and returns the exit status."""
    # Commands run without the interpreter, which would not see Ctrl-C before they end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _opgrid._command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
