"""`pagefault bench bill`."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from pagefault.cli.app import App, Command, json_option, number_option
from pagefault.cli.term import plural
from pagefault.model.errors import BadInput

if TYPE_CHECKING:
    from pagefault.lab.agents import Agent, Json
    from pagefault.lab.billing import Provider, Route, Way
    from pagefault.pack.bill import BillRow

RECORDINGS: Final = Path("tests/proxy/recordings")


@click.command("bill", cls=Command)
@click.option(
    "--recordings",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=RECORDINGS,
    show_default=True,
    help="Folder of recorded client requests, the source of system prompts and message shapes.",
)
@number_option("--tokens", 300_000, "Tokens of work in a session.", least=10_000)
@number_option(
    "--window", 40_000, "Token limit of the proxy's requests.", least=4_000, metavar="TOKENS"
)
@number_option("--head-tokens", 12_000, "Tokens of system prompt and tools.")
@click.option(
    "--seed",
    "seeds",
    type=int,
    multiple=True,
    default=[1],
    show_default=True,
    help="Seed of a script. May be repeated.",
)
@click.option(
    "--client",
    "clients",
    type=click.Choice(["claude", "codex", "opencode"]),
    multiple=True,
    help="Only this client. May be repeated.",
)
@click.option(
    "--chart",
    "picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Also draw a chart of the results.",
)
@json_option
def bill_bench(
    app: App,
    folder: Path,
    tokens: int,
    window: int,
    head_tokens: int,
    seeds: tuple[int, ...],
    clients: tuple[str, ...],
    picture: Path | None,
) -> None:
    """Compare agents' sessions alone, compacting, and through the proxy: what they cost and keep.

    Scripted sessions with --tokens of work in the form of three recorded clients, at the window of
    each one's model and, for the proxy, at --window; under five price lists. Costs against the
    client alone cover the requests that it could send; against one that compacts, all. Each --seed
    is another script, and takes about four minutes of processor time; the output has their lowest
    and highest. What is known of a client is told as soon as it has played.

    JSON: [{seed, client, arm, requests, tokens, whole_tokens, tokens_max, compared_steps, steps,
    failed, facts, kept, compactions, epochs, asked, lists: {MODEL: {cost, cached_share, over_alone,
    over_compacts, over_compacts_small, whole_cost}}, bill: {cost, compared_cost, without_cost,
    alone_cost, impossible, failed_alone}}].
    """
    from pagefault.lab.bill_chart import chart, over_seeds
    from pagefault.lab.billing import ARMS, MODELS, PROXIED, bench_bill

    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}", hint="--recordings tests/proxy/recordings")
    if picture is not None and not picture.absolute().parent.is_dir():  # before all that work
        raise BadInput(f"there is no folder for {picture}", hint="create it first")

    def played_all(rows: Sequence[dict[str, Any]]) -> None:
        """Tell what is known by now: a run takes minutes, and may be cut short."""
        of = dict(zip(ARMS, rows, strict=True))
        compacts, ours = of["compacts"], of["pagefault"]
        app.term.note(
            f"{ours['client']}, seed {ours['seed']}: pagefault keeps {ours['kept']} of "
            f"{ours['facts']} facts, where the client that compacts keeps {compacts['kept']}, at "
            f"{_range(ours, 'over_alone')} of what the client alone costs"
        )

    async def measure(home: Path) -> list[dict[str, Any]]:
        with app.term.progress() as progress:
            return await bench_bill(
                recordings=folder,
                through=_proxied,
                home=home,
                tokens=tokens,
                window=window,
                head_tokens=head_tokens,
                seeds=seeds,
                clients=clients or ("claude", "codex", "opencode"),
                progress=progress,
                played_all=played_all,
            )

    with tempfile.TemporaryDirectory(prefix="pagefault-bench-") as home:
        rows = app.run(measure(Path(home)))
    arms = over_seeds(rows)
    if picture is not None:
        about = (
            f"{tokens:,} tokens of work, {plural(len(seeds), 'seed')}; pagefault's window "
            f"{window:,} tokens"
        )
        picture.write_text(chart(arms, about=about), encoding="utf-8")
    if app.as_json:
        app.term.data(rows)
        return
    app.term.table(
        ["client", "arm", "rewrites", "failed", "facts", "asked", *MODELS],
        [
            [
                one.client,
                one.name,
                str(one.rewrites),
                f"{one.failed} of {one.steps}",
                f"{one.kept} of {one.facts}",
                str(one.asked),
                *map(str, one.over_alone.values()),
            ]
            for one in arms
        ],
        right="rewrites asked",
    )
    for title, over in (
        ("over the client that compacts", "over_compacts"),
        ("over one that compacts at the same window", "over_compacts_small"),
    ):
        app.term.line("")
        app.term.table(
            [title, "arm", *MODELS],
            [
                [one.client, one.name, *map(str, getattr(one, over).values())]
                for one in arms
                if one.name in PROXIED
            ],
        )
    for row in rows:
        if row["bill"] is not None:
            told = row["bill"]
            app.term.note(
                f"{row['client']}, {row['arm']}, seed {row['seed']}: `bill` says "
                f"{told['without_cost']:,} without us, where the client alone did cost "
                f"{told['alone_cost']:,}"
            )


def _range(row: dict[str, Any], figure: str) -> str:
    """The lowest and highest of a figure under the price lists."""
    told = sorted(one[figure] for one in row["lists"].values())
    return f"{told[0]:.2f} to {told[-1]:.2f}"


@asynccontextmanager
async def _proxied(provider: Provider, home: Path, window: int, way: Way) -> AsyncIterator[Route]:
    """A proxy in this process, over a memory of its own."""
    from pagefault.lab.billing import Route
    from pagefault.pack.count import O200k
    from pagefault.proxy.http.relay import Patience, Relay
    from pagefault.proxy.server import Proxy
    from pagefault.service.bootstrap import open_memory
    from pagefault.service.limits import Limits

    asking: list[Agent] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # then the proxy is gone
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                size = next(int(one[15:]) for one in head if one.startswith(b"content-length:"))
                told = provider.answer(asking[-1], json.loads(await reader.readexactly(size)))
                status = b"200 OK" if told is not None else b"400 Bad Request"
                body = json.dumps(told or {"error": {"message": "too long"}}).encode()
                writer.write(b"HTTP/1.1 %s\r\ncontent-type: application/json\r\n" % status)
                writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
    limits = Limits() if way.quotes else Limits(recall_tokens_max=0)
    async with server, open_memory(home, window=window, sync="os", limits=limits) as memory:
        relay = Relay(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", Patience())
        proxy = Proxy(
            memory=memory,
            relay=relay,
            counter=O200k(),
            clock=_ScriptClock(provider),
            window_tokens=window,
            user="bench",
            faults=None if way.asks else False,
        )

        async def send(client: Agent, body: Json) -> None:
            asking[:] = [client]
            await _post(proxy, client, body)
            await proxy.settled()

        async def bill() -> tuple[BillRow, int]:
            await proxy.settled()
            told = (await memory.bill()).total
            return told, told.rewritten.requests

        try:
            yield Route(send, bill)
        finally:
            await proxy.settled()
            await relay.aclose()


class _ScriptClock:
    """The script's time, which passes between requests."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def now_ms(self) -> int:
        return 1_772_700_300_000 + int(self._provider.now_s * 1_000)

    def monotonic_s(self) -> float:
        return self._provider.now_s


async def _post(proxy: Any, client: Agent, body: Json) -> None:
    raw = json.dumps(body).encode()
    requests = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not requests:
            await asyncio.sleep(3_600)
        return requests.pop()

    async def send(message: Any) -> None:
        pass  # the script knows the answer

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    headers += [(k.encode(), v.encode()) for k, v in client.headers.items()]
    scope = {
        "type": "http", "method": "POST", "path": client.path, "raw_path": client.path.encode(),
        "query_string": b"", "headers": headers, "http_version": "1.1",
    }  # fmt: skip
    await asyncio.create_task(proxy(cast(Any, scope), receive, send))
