"""Runs one rank of the gang: starts its process, joins it to a generation, ends it with the generation."""

import os
import time
from collections.abc import Callable, Sequence

import redis
import structlog

from services.launcher.board import RedisBoard
from services.launcher.gloo import GlooRendezvous, gloo_environment, interface_of, rendezvous_environment
from services.launcher.rank_process import RankProcess
from services.process.restarts import FINAL_CODES, RestartPolicy
from services.process.secrets import masked
from services.process.signals import Shutdown
from sonorant.fleet.gang import Action, Board, Generation, Member

__all__ = ["Launcher"]

log = structlog.get_logger()

_LOOK_EVERY_S = 0.2


class Launcher:
    """Runs `command` as `member` of gangs of `ranks`, until `shutdown`, or until it fails for good.

    A process that exits with 0 has completed training: no other is started. host: this pod's own IP address.
    on_ready: called when the board shows this rank, or need not, or while the rank waits for shards.
    """

    def __init__(
        self,
        member: Member,
        ranks: int,
        board: RedisBoard,
        host: str,
        command: Sequence[str],
        shutdown: Shutdown,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._member = member
        self._ranks = ranks
        self._board = board
        self._host = host
        self._command = command
        self._environment = (
            gloo_environment(member.rank, ranks, interface_of(host)) | os.environ
        )  # time-outs may be set
        self._shutdown = shutdown
        self._on_ready = on_ready
        self._policy = RestartPolicy()
        self._rendezvous: GlooRendezvous | None = None
        self._redis_away = False

    def run(self) -> int:
        """Return the exit code: the process's if it is final; 75 if another launcher has taken this rank."""
        self._process = RankProcess(self._command, self._environment)
        try:
            while not self._shutdown.wait(_LOOK_EVERY_S):
                code = self._process.code
                if code == 0:
                    log.info("training_complete", rank=self._member.rank)
                    self._on_ready()
                    self._shutdown.wait()
                elif code is not None:
                    if not self._may_go_on(code):
                        return code if code > 0 else 128 - code
                    self._start_again()
                elif not self._look_at_board():
                    log.warning("rank_taken", rank=self._member.rank)
                    return os.EX_TEMPFAIL
            return self._process.stop()
        finally:
            self._process.kill()
            self._close_rendezvous()

    def _may_go_on(self, code: int) -> bool:
        """Return whether to restart the process, after a pause."""
        pause_s = None if code in FINAL_CODES else self._policy.ended(time.monotonic())
        log.warning("rank_died", rank=self._member.rank, code=code, again_in_s=pause_s)
        if pause_s is not None:
            self._shutdown.wait(pause_s)
        return pause_s is not None

    def _start_again(self) -> None:
        self._process.kill()
        self._member.renew()
        self._process = RankProcess(self._command, self._environment)

    def _look_at_board(self) -> bool:
        """Carry out the board's actions; False if another launcher has taken this rank."""
        if self._process.ready:
            self._member.ready()
        elif self._process.waits:
            self._on_ready()
        try:
            board = self._board.read()
            action = self._member.decide(board)
            if action is Action.ANNOUNCE:
                self._board.announce(self._member.rank, self._member.announcement)
                self._on_ready()
            elif action is Action.BEGIN:
                self._begin(board)
        except redis.RedisError as error:
            if not self._redis_away:
                log.warning("redis_away", error=masked(str(error)))
            self._redis_away = True
            return True
        self._redis_away = False
        if action is Action.RUN and not self._process.joined:
            assert board.generation is not None
            self._join(board.generation)
        elif action is Action.END:
            self._start_again()
        return action is not Action.LEAVE

    def _begin(self, board: Board) -> None:
        self._close_rendezvous()
        self._rendezvous = GlooRendezvous(self._ranks)
        generation = self._member.next_generation(board, f"{self._host}:{self._rendezvous.port}")
        if self._board.begin(generation):
            log.info("gang_begun", number=generation.number, ranks=self._ranks)

    def _join(self, generation: Generation) -> None:
        self._process.join(rendezvous_environment(generation.rendezvous))
        log.info("gang_joined", rank=self._member.rank, number=generation.number, pid=self._process.pid)

    def _close_rendezvous(self) -> None:
        if self._rendezvous is not None:
            self._rendezvous.close()
            self._rendezvous = None
