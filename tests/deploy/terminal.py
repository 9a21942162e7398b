"""Runs a command in a terminal, and types an answer at each question: terminal.py 'QUESTION=ANSWER' … -- COMMAND …"""

import os
import pty
import sys

split = sys.argv.index("--")
answers = [line.split("=", 1) for line in sys.argv[1:split]]
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])

seen = b""
while True:
    try:
        read = os.read(terminal, 4096)
    except OSError:  # Linux: the last process left the terminal
        break
    if not read:
        break
    seen += read
    sys.stdout.buffer.write(read)
    if answers and answers[0][0].encode() in seen:
        os.write(terminal, answers.pop(0)[1].encode() + b"\r")
        seen = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
