"""How bench_gpu.py takes times: runs in turns with the caches overwritten, runs in a replayed graph, and within a limit.

A way is one of the calls that are compared. cuDNN's plans are found at a way's first run, and PyTorch keeps them for each
thread by itself (ATen's Conv_v8.cpp: benchmark_cache is thread_local). So a way runs in a lane, a thread of its own: the
same call in another lane finds its plans anew.
"""
import concurrent.futures
import statistics
import time

TURNS, WARM_TURNS = 11, 2
FLUSH_BYTES = 256 << 20  # more than any cache of theirs
WAIT_CYCLES = 400_000  # the device waits so long before a run: it is enqueued by then
GRAPH_MS = 1.0  # a graph has as many runs as take about so long
GRAPH_RUNS = (10, 200)


class OutOfTime(Exception):
    """The time limit is over."""


class OutOfShare(OutOfTime):
    """The time of one set is over."""


class Deadline:
    """seconds: until the limit; 0 for none. over: what check() raises."""

    def __init__(self, seconds, clock=time.monotonic, over=OutOfTime):
        self.clock, self.end, self.over = clock, clock() + seconds if seconds else None, over

    def left(self):
        """Seconds; None without a limit."""
        return None if self.end is None else self.end - self.clock()

    def check(self, needed=0):
        """Raises OutOfTime, or what the deadline is made with, where no more than needed seconds are left."""
        if self.end is not None and self.left() <= needed:
            raise self.over


class Lane:
    """A thread of its own. A call that outlasts the deadline is left alone there and raises OutOfTime."""

    def __init__(self, deadline):
        self.deadline, self.pool = deadline, concurrent.futures.ThreadPoolExecutor(1)

    def do(self, function, *args):
        self.deadline.check()
        future = self.pool.submit(function, *args)
        done, _ = concurrent.futures.wait([future], timeout=self.deadline.left())
        if not done:
            raise OutOfTime
        return future.result()


class Way:
    """A call to compare. lane: where it runs, the calling thread if None. tf32: whether cuDNN may compute in TF32."""

    def __init__(self, name, run, lane=None, tf32=False):
        self.name, self.run, self.lane, self.tf32 = name, run, lane, tf32

    def do(self, torch, function, *args):
        """function(*args), in the lane, TF32 as the way has it."""

        def within():
            torch.backends.cudnn.allow_tf32 = self.tf32
            try:
                return function(*args)
            finally:
                torch.backends.cudnn.allow_tf32 = False

        return self.lane.do(within) if self.lane else within()

    def time(self, torch, flush):
        return self.do(torch, timed, torch, self.run, flush)


def timed(torch, run, flush):
    """A run's time in ms by the device's events, with cold caches."""
    flush.zero_()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAIT_CYCLES)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def times_of(torch, ways, flush):
    """The median of each way's times; the ways take turns."""
    times = [[] for _ in ways]
    for turn in range(TURNS + WARM_TURNS):
        for side, way in enumerate(ways):
            ms = way.time(torch, flush)
            if turn >= WARM_TURNS:
                times[side].append(ms)
    return [statistics.median(side) for side in times]


def record(torch, run, runs):
    """A graph of runs, one after the other."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()  # what it allocates for later runs is there before the capture
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(runs):
            run()
    return graph


def replayed(torch, graph):
    """The time of a graph in ms."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAIT_CYCLES)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def graph_times(torch, ways, ms):
    """The median time of a run of each way, in graphs that take turns. ms: what a run takes, about."""
    least, most = GRAPH_RUNS
    runs = max(least, min(most, round(GRAPH_MS / ms)))
    graphs = [way.do(torch, record, torch, way.run, runs) for way in ways]
    times = [[] for _ in ways]
    for turn in range(TURNS + WARM_TURNS):
        for side, way in enumerate(ways):
            taken = way.do(torch, replayed, torch, graphs[side])
            if turn >= WARM_TURNS:
                times[side].append(taken / runs)
    return [statistics.median(side) for side in times]
