"""The process that parser processes are forked from: libraries loaded, no file ever seen.

Its standard input is a Unix socket. Each message is one byte, the kind's number, and two sockets:
the job's, on which the child does its work, and the status', on which this process tells how the
child ended and by whose closing it learns that nobody waits any longer. At the end of the input it
ends all children and itself. One thread, so that forking is safe.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
from typing import Final, NoReturn

from ragbase.ingest.parse.child import load, serve
from ragbase.ingest.parse.kinds import KINDS

__all__ = ["STATUS", "main"]

STATUS: Final = struct.Struct("!iQ")
"""Exit code (negative: the signal) and most resident bytes of a child."""
_FDS_A_JOB: Final = 2


def main() -> None:
    """Serve until the input ends."""
    control = socket.socket(fileno=0)
    wake, waker = socket.socketpair()
    for end in (wake, waker):
        end.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _Server(control, wake).run()


class _Server:
    def __init__(self, control: socket.socket, wake: socket.socket) -> None:
        self._control = control
        self._wake = wake
        self._children: dict[int, socket.socket] = {}  # status sockets by process id
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(wake, select.POLLIN)

    def run(self) -> None:
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._wake.fileno():
                    self._reap()
                elif descriptor == self._control.fileno():
                    if not self._take():
                        self._end()
                        return
                else:
                    self._abandoned(descriptor)

    def _take(self) -> bool:
        """Start the next job; False at the end of the input."""
        message, descriptors, *_ = socket.recv_fds(self._control, 1, _FDS_A_JOB)
        if not message or len(descriptors) < _FDS_A_JOB:
            return False
        load(KINDS[message[0]])
        gc.freeze()  # so that collections in the children do not copy what they share with us
        job, status = (socket.socket(fileno=descriptor) for descriptor in descriptors)
        process = os.fork()
        if process == 0:
            _child(job)
        job.close()
        self._children[process] = status
        self._poll.register(status, 0)  # hang-ups only
        return True

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass
        for process in list(self._children):
            ended, status, usage = os.wait4(process, os.WNOHANG)
            if ended:
                socket_ = self._children.pop(process)
                self._poll.unregister(socket_)
                with contextlib.suppress(OSError):  # nobody waits any longer
                    code = os.waitstatus_to_exitcode(status)
                    socket_.send(STATUS.pack(code, usage.ru_maxrss * _RSS_UNIT))
                socket_.close()

    def _abandoned(self, descriptor: int) -> None:
        for process, status in self._children.items():
            if status.fileno() == descriptor:
                os.kill(process, signal.SIGKILL)
                self._poll.modify(status, 0)
                return

    def _end(self) -> None:
        for process in self._children:
            os.kill(process, signal.SIGKILL)
        for process in self._children:
            os.waitpid(process, 0)


_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def _child(job: socket.socket) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.dup2(job.fileno(), 3)
        os.closerange(4, 4096)  # the other jobs' sockets
        with socket.socket(fileno=3) as own, own.makefile("rb") as i, own.makefile("wb") as o:
            serve(i, o)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
